// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_SYMBOLS_HPP
#define PROBEKIT_SYMBOLS_HPP

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace probekit {

/// A kernel function under one of its names.
struct Function {
  std::string_view name;     ///< as the kernel's symbol table spells it
  std::string_view module;   ///< empty for the kernel itself
  std::uint64_t address = 0; ///< of the function, not of its ftrace location
};

/// Why a function cannot be probed.
enum class Refusal {
  none,           ///< it can
  not_traceable,  ///< compiled without an ftrace location: notrace, assembly
  blacklisted,    ///< on the kernel's kprobes blacklist
  excluded,       ///< handlers run on it, see exclusions()
  ambiguous_init, ///< in a section that the kernel discards after boot
};

/// A sentence for people: why, and what that means.
std::string_view to_string(Refusal refusal) noexcept;

/// The functions of a kernel: its symbol table matched with what ftrace can
/// attach to. Immutable, and safe to read from several threads.
class SymbolTable {
 public:
  /// Reads the running kernel: /proc/kallsyms, and
  /// available_filter_functions_addrs and the kprobes blacklist in tracefs and
  /// debugfs. Throws UnsupportedError where the addresses are hidden or
  /// tracefs cannot be read.
  static SymbolTable of_running_kernel();

  /// From the texts of those three files (recorded ones, in tests).
  SymbolTable(std::string kallsyms, std::string_view filter_functions,
              std::string_view blacklist);

  /// Every function symbol, sorted by address, aliases side by side.
  std::span<const Function> functions() const noexcept;

  /// Every symbol called `name`: static functions may repeat, and modules may
  /// have the same names.
  std::vector<Function> find(std::string_view name) const;

  /// Why `function` cannot be probed, or Refusal::none.
  Refusal refusal(const Function& function) const;

  /// The known name that is closest to `name`, or empty when none is close.
  std::string_view closest(std::string_view name) const;
};

}  // namespace probekit

#endif  // PROBEKIT_SYMBOLS_HPP
