// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <probekit/pattern.hpp>

#include "commands.hpp"
#include "json.hpp"
#include "names.hpp"
#include "output.hpp"
#include "selection.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

// A function that is listed, and why it cannot be probed.
struct Entry {
  Function function;
  std::string_view refusal;  // empty: it can
};

std::vector<Entry> entries_of(const Selection& selection, bool why) {
  std::vector<Entry> entries;
  for (const Function& function : selection.targets) {
    entries.push_back({function, {}});
  }
  if (!why) return entries;
  for (const Refused& refused : selection.refused) {
    entries.push_back({refused.function, refused.reason});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) {
                     return a.function.address < b.function.address;
                   });
  return entries;
}

std::string text_of(const Entry& entry, const Names& names) {
  std::string line = names.of(entry.function);
  if (!entry.refusal.empty()) line += fmt::format(": {}", entry.refusal);
  return line + '\n';
}

std::string json_of(const Entry& entry) {
  Json record = json_function(entry.function.name, entry.function.module,
                              entry.function.address);
  record["refusal"] =
      entry.refusal.empty() ? Json(nullptr) : Json(entry.refusal);
  return json_line(record);
}

std::string json_summary_of(const Selection& selection) {
  return json_line({{"type", "summary"},
                    {"targets", selection.targets.size()},
                    {"refused", selection.refused.size()},
                    {"calls", 0},
                    {"missed", Json::object()},
                    {"lost", 0}});
}

}  // namespace

int run_list(const Options& options) {
  const Wanted wanted = read_patterns(options);
  Output output(options.output);
  const SymbolTable table = SymbolTable::of_running_kernel();
  const Selection selection =
      select(table, wanted.patterns, wanted.excludes, select_options(options));
  for (const auto& line : unmatched_lines(selection, options.verbose))
    diagnose(line);
  if (!options.why) {
    for (const auto& line : refused_lines(selection, options.verbose)) {
      diagnose(line);
    }
  }

  const Names names(selection);
  std::string text;
  for (const Entry& entry : entries_of(selection, options.why)) {
    text += options.json ? json_of(entry) : text_of(entry, names);
  }
  if (options.json) text += json_summary_of(selection);
  output.write(text);
  output.close();
  const bool nothing =
      selection.targets.empty() && (selection.refused.empty() || !options.why);
  return output.failed() || nothing ? kFailed : kDone;
}

}  // namespace probekit::tools
