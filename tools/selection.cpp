// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "names.hpp"
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

SelectOptions select_options(const Options& options) {
  SelectOptions how;
  how.kind = options.kind;
  how.include_excluded = options.force;
  if (!options.with_arg.empty()) how.only = functions_taking(options.with_arg);
  return how;
}

std::vector<std::string> unmatched_lines(const Selection& selection,
                                         bool verbose) {
  constexpr std::size_t most = 20;
  const std::size_t shown = verbose
                                ? selection.unmatched.size()
                                : std::min(selection.unmatched.size(), most);
  std::vector<std::string> lines;
  for (const Unmatched& unmatched :
       std::span(selection.unmatched).first(shown)) {
    std::string line =
        fmt::format("'{}': {}", printable(unmatched.pattern), unmatched.reason);
    if (!unmatched.suggestion.empty()) {
      line +=
          fmt::format("; did you mean {}?", printable(unmatched.suggestion));
    }
    lines.push_back(std::move(line));
  }
  if (const auto more = selection.unmatched.size() - shown; more != 0) {
    lines.push_back(fmt::format("{} that match nothing; -v names them",
                                counted(more, "more pattern")));
  }
  return lines;
}

namespace {

constexpr std::size_t kNamedShown = 10;
constexpr std::size_t kExamples = 3;

bool by_choice(const Refused& refused) {
  return refused.refusal == Refusal::excluded;
}

std::string named_line(const Refused& refused, const Names& names) {
  const bool chosen = by_choice(refused);
  return fmt::format("{} {}: {}{}", chosen ? "not probing" : "cannot probe",
                     names.of(refused.function), refused.reason,
                     chosen ? "; --force probes it" : "");
}

// What patterns caught by the way, in two numbers.
void add_totals(std::vector<std::string>& lines,
                std::span<const Refused* const> caught) {
  const auto excluded = static_cast<std::size_t>(std::count_if(
      caught.begin(), caught.end(),
      [](const Refused* refused) { return by_choice(*refused); }));
  if (const auto others = caught.size() - excluded; others != 0) {
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
}

// The same, reason by reason.
void add_reasons(std::vector<std::string>& lines,
                 std::span<const Refused* const> caught, const Names& names) {
  std::map<std::string_view, std::vector<const Refused*>> reasons;
  for (const Refused* refused : caught) {
    reasons[refused->reason].push_back(refused);
  }
  for (const auto& [reason, functions] : reasons) {
    std::string line = fmt::format(
        "{} {}: {}; ",
        by_choice(*functions.front()) ? "not probing" : "cannot probe",
        counted(functions.size(), "function"), reason);
    const std::size_t shown = std::min(functions.size(), kExamples);
    for (std::size_t i = 0; i < shown; ++i) {
      line += fmt::format("{}{}", i == 0 ? "" : ", ",
                          names.of(functions[i]->function));
    }
    if (shown < functions.size()) line += ", ...";
    lines.push_back(std::move(line));
  }
}

}  // namespace

std::vector<std::string> refused_lines(const Selection& selection,
                                       bool verbose) {
  const Names names(selection);
  std::vector<std::string> lines;
  std::vector<const Refused*> caught;
  for (const Refused& refused : selection.refused) {
    if (refused.named && (verbose || lines.size() < kNamedShown)) {
      lines.push_back(named_line(refused, names));
    } else {
      caught.push_back(&refused);
    }
  }
  verbose ? add_reasons(lines, caught, names) : add_totals(lines, caught);
  return lines;
}

}  // namespace probekit::tools
