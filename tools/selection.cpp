// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "selection.hpp"

#include <fmt/format.h>

#include "values.hpp"

namespace probekit::tools {

Wanted read_patterns(const Options& options) {
  Wanted wanted;
  wanted.patterns = parse_patterns(options.patterns);
  // Only the type of the argument was given: any name will do.
  if (options.patterns.empty()) wanted.patterns.emplace_back("*");
  wanted.excludes = parse_patterns(options.excludes);
  return wanted;
}

Selection choose(const SymbolTable& table, const Wanted& wanted,
                 const Options& options) {
  SelectOptions how;
  how.include_excluded = options.force;
  if (!options.with_arg.empty()) how.only = functions_taking(options.with_arg);
  return select(table, wanted.patterns, wanted.excludes, how);
}

std::string label(const Function& function) {
  std::string text = printable(function.name);
  if (!function.module.empty()) {
    text += fmt::format(" [{}]", printable(function.module));
  }
  return text;
}

std::vector<std::string> unmatched_lines(const Selection& selection) {
  std::vector<std::string> lines;
  for (const Unmatched& unmatched : selection.unmatched) {
    std::string line =
        fmt::format("'{}': {}", printable(unmatched.pattern), unmatched.reason);
    if (!unmatched.suggestion.empty()) {
      line +=
          fmt::format("; did you mean {}?", printable(unmatched.suggestion));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> refused_lines(const Selection& selection, bool all) {
  std::vector<std::string> lines;
  std::size_t others = 0;
  std::size_t excluded = 0;
  for (const Refused& refused : selection.refused) {
    const bool by_us = refused.refusal == Refusal::excluded;
    if (!refused.named && !all) {
      ++(by_us ? excluded : others);
      continue;
    }
    lines.push_back(fmt::format("{} {}: {}{}",
                                by_us ? "not probing" : "cannot probe",
                                label(refused.function), refused.reason,
                                by_us ? "; --force probes it" : ""));
  }
  if (others != 0) {
    lines.push_back(
        fmt::format("cannot probe {} of those that match; "
                    "probekit list --why tells which and why",
                    counted(others, "function")));
  }
  if (excluded != 0) {
    lines.push_back(
        fmt::format("not probing {} that handlers run on; "
                    "probekit list --why tells which, --force "
                    "probes them",
                    counted(excluded, "function")));
  }
  return lines;
}

}  // namespace probekit::tools
