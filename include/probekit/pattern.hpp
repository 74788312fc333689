// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_PATTERN_HPP
#define PROBEKIT_PATTERN_HPP

#include <probekit/uapi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <probekit/symbols.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace probekit {

/// What a user writes to name functions:
///
///     vfs_read           that function, every one of that name
///     vfs_*              a glob as of fnmatch(3): * ? [...] and \ to escape
///     MODULE:GLOB        of that module only, itself a glob; `vmlinux` is the
///                        kernel without its modules
///     re:REGEX           an extended regular expression, matched anywhere in
///     MODULE:re:REGEX    the name as grep -E does; anchor with ^ and $
///     0xADDRESS          of a function, or of its ftrace location
///     FUNCTION+OFFSET    an instruction of that function
///     MODULE:FUNCTION+OFFSET
///
/// A plain name that no function has also stands for the clones that the
/// compiler made of it: `foo` selects `foo.isra.0` and `foo.constprop.0` (not
/// `foo.part.0`, which is only a part of foo).
///
/// Immutable; copies share the compiled expression; safe to use from several
/// threads.
class Pattern {
 public:
  enum class Kind { name, glob, regex, address, offset };

  /// Throws UsageError, which names `text`, when it is empty or malformed.
  explicit Pattern(std::string_view text);

  /// As it was given.
  const std::string& text() const noexcept { return text_; }
  Kind kind() const noexcept { return kind_; }
  /// The module part, empty when there was none.
  const std::string& module() const noexcept { return module_; }
  /// What is left without the module part, `re:` and offset: a name, a glob or
  /// an expression.
  const std::string& name() const noexcept { return name_; }
  /// The address of Kind::address, the bytes of Kind::offset, else zero.
  std::uint64_t number() const noexcept { return number_; }

  /// Does it select this function? Clones are select()'s matter.
  bool matches(const Function& function) const;

 private:
  struct Regex;

  void parse(std::string_view rest);
  void parse_address();
  bool parse_offset(std::string_view rest);
  void compile_regex();
  void check_glob() const;
  bool matches_module(std::string_view module) const;
  bool matches_name(std::string_view name) const;

  std::string text_;
  std::string module_;
  std::string name_;
  std::string head_;  ///< what every name that a glob matches begins with
  std::string tail_;  ///< and ends with
  std::shared_ptr<const Regex> regex_;
  std::uint64_t number_ = 0;
  Kind kind_ = Kind::name;
};

/// Patterns from a command line: `@FILE` stands for the patterns in FILE, one
/// a line, where empty lines and lines that begin with # mean nothing; FILE
/// `-` is standard input. Throws UsageError for a malformed pattern (with the
/// line, if in a file), Error for a file that cannot be read.
std::vector<Pattern> parse_patterns(std::span<const std::string> texts);

/// Functions that handlers run on, or that run where handlers cannot: probing
/// them gives missed hits, or worse, and no knowledge.
struct Exclusion {
  std::string_view pattern;  ///< a glob on names, or `MODULE:GLOB`
  std::string_view reason;   ///< why, a clause for people
};

/// The list that select() leaves out by default. Static.
std::span<const Exclusion> exclusions() noexcept;

/// Why exclusions() has `function` under any of its names, empty when it has
/// not. The text is static.
std::string_view exclusion_reason(const SymbolTable& table,
                                  const Function& function);

/// A function named without its address. Clone suffixes are not part of it.
struct FunctionName {
  std::string name;
  std::string module;  ///< empty for the kernel itself
  auto operator<=>(const FunctionName&) const = default;
};

/// Functions with a parameter of type `TYPE *`, by the BTF of the running
/// kernel and of its modules, sorted. `type` is the name of a struct, union or
/// typedef, with or without the word struct or union. Throws UsageError when
/// no BTF has such a type, UnsupportedError when the kernel has no BTF.
std::vector<FunctionName> functions_taking(std::string_view type);

/// How to select.
struct SelectOptions {
  /// PROBEKIT_KIND_* of the probe: decides what can be probed. For fprobe
  /// that is what ftrace can attach to, for all others what is not on the
  /// kernel's kprobes blacklist.
  std::uint32_t kind = PROBEKIT_KIND_FPROBE;
  /// Select what is on exclusions(), too.
  bool include_excluded = false;
  /// Select only these functions, and clones of them. Sorted, as
  /// functions_taking() returns them.
  std::optional<std::vector<FunctionName>> only = std::nullopt;
};

/// A function that a pattern named and that is not among the targets.
struct Refused {
  Function function;
  Refusal refusal = Refusal::none;
  std::string_view reason;  ///< a clause for people; static
  std::size_t pattern = 0;  ///< index of the first pattern that named it
  /// It was asked for by its name or address, and not just caught by a glob
  /// or an expression.
  bool named = false;
};

/// A pattern that named no function.
struct Unmatched {
  std::string pattern;     ///< its text
  std::string reason;      ///< a clause for people
  std::string suggestion;  ///< a name that was perhaps meant, or empty
};

/// What patterns select.
struct Selection {
  /// Functions to probe: unique, in address order.
  std::vector<Function> targets;
  /// Functions to report, in address order.
  std::vector<Refused> refused;
  /// In the order of the patterns; those of the excludes last.
  std::vector<Unmatched> unmatched;
};

/// Selects the functions that any of `patterns` names and none of `excludes`
/// does. A function with several names appears once: under the name that was
/// asked for in full, else under the name that ftrace knows if a pattern
/// matches it, else under the first that matches; an exclude that names any of
/// its names takes it out. Throws UsageError for a pattern with an offset
/// unless the kind is a kprobe's, which this version does not have.
///
/// The names in the result belong to `table`.
Selection select(const SymbolTable& table, std::span<const Pattern> patterns,
                 std::span<const Pattern> excludes = {},
                 const SelectOptions& options = {});

}  // namespace probekit

#endif  // PROBEKIT_PATTERN_HPP
