// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_SYMBOLS_HPP
#define PROBEKIT_SYMBOLS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace probekit {

/// A kernel function under one of its names. The names belong to the
/// SymbolTable that the function came from: they are valid as long as that
/// table, or a copy of it, lives.
struct Function {
  std::string_view name;       ///< as the kernel's symbol table spells it
  std::string_view module;     ///< empty for the kernel itself
  std::uint64_t address = 0;   ///< of the function; what the engine is given
  std::uint64_t location = 0;  ///< where ftrace attaches, zero: nowhere
};

/// Where an address lies.
struct Place {
  std::string_view name;     ///< symbol at or before the address
  std::string_view module;   ///< empty for the kernel itself
  std::uint64_t offset = 0;  ///< bytes from the symbol to the address
};

/// Why a function cannot be probed, or is not unless forced.
enum class Refusal {
  none,           ///< it can
  not_traceable,  ///< no ftrace location: notrace code, assembly
  init,           ///< in a section that the kernel discarded after boot
  blacklisted,    ///< on the kernel's kprobes blacklist: no kprobe there
  excluded,       ///< handlers run on it, see exclusions()
};

/// A sentence for people, without a full stop: why, and what that means. The
/// text is static.
std::string_view to_string(Refusal refusal) noexcept;

/// Where the ftrace locations of a SymbolTable come from.
enum class Locations {
  /// Read from ftrace's list. The kernel needs longer to print it than for
  /// everything else.
  listed,
  /// Every function is assumed to have one, but for those that are discarded
  /// after boot. Function::location is its address, and the engine will say
  /// which cannot be attached to.
  assumed,
};

/// The functions of a kernel: its symbol table matched with what ftrace can
/// attach to. Immutable; copies are cheap and share their storage; safe to use
/// from several threads.
///
/// Functions are text symbols of the kernel and of its modules. Left out, as
/// nobody calls them: the padding before functions (`__pfx_`, `__cfi_`), the
/// cold parts that the compiler splits off (`.cold`), BPF programs, and the
/// trampolines of ftrace and kprobes.
class SymbolTable {
 public:
  /// Reads the running kernel: /proc/kallsyms, the kprobes blacklist in
  /// debugfs, which may be missing, and, for Locations::listed,
  /// available_filter_functions_addrs in tracefs. Throws UnsupportedError where
  /// the addresses are hidden or tracefs cannot be read.
  static SymbolTable of_running_kernel(Locations locations = Locations::listed);

  /// From the texts of those three files (recorded ones, in tests). Lines that
  /// are not in the kernel's format are skipped. Throws UnsupportedError when
  /// every address in `kallsyms` is zero, which is how the kernel hides them.
  SymbolTable(std::string kallsyms, std::string_view filter_functions,
              std::string_view blacklist);

  /// This table of the running kernel with Locations::listed. Its names are
  /// also valid as long as the other one's, and the other way round. Throws
  /// UnsupportedError as of_running_kernel().
  SymbolTable with_listed_locations() const;

  /// Every function, sorted by address, aliases side by side in the order in
  /// which the kernel lists them.
  std::span<const Function> functions() const noexcept;

  /// Every function called `name`: static functions may repeat, and modules
  /// may have the same names. One pass over the table per call.
  std::vector<Function> find(std::string_view name) const;

  /// The names of the function at `address` (of the function or of its ftrace
  /// location): empty when there is none.
  std::span<const Function> aliases(std::uint64_t address) const noexcept;

  /// The alias under which ftrace lists the function, else the first one.
  /// `aliases` is what aliases() returned, and not empty.
  const Function& preferred(std::span<const Function> aliases) const noexcept;

  /// The text symbol, of any kind, that `address` lies in: also cold parts,
  /// BPF programs and trampolines. Nothing for addresses below the first.
  std::optional<Place> place_of(std::uint64_t address) const noexcept;

  /// Why ftrace cannot attach to `function`, or Refusal::none: not_traceable
  /// or init.
  Refusal refusal(const Function& function) const noexcept;

  /// On the kernel's kprobes blacklist? That binds kprobes and kretprobes;
  /// ftrace, and so fprobe, attaches to such functions all the same.
  bool blacklisted(std::uint64_t address) const noexcept;

  /// The known name that is closest to `name`, or empty when none is close.
  /// Names that can be probed win over names that cannot.
  std::string_view closest(std::string_view name) const;

 private:
  struct State;
  explicit SymbolTable(std::shared_ptr<const State> state) noexcept;
  static std::shared_ptr<State> parse(std::string kallsyms,
                                      std::string_view blacklist);

  std::shared_ptr<const State> state_;
};

}  // namespace probekit

#endif  // PROBEKIT_SYMBOLS_HPP
