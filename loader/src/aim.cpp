// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <probekit/aim.hpp>
#include <utility>
#include <vector>

#include "detail/pattern_index.hpp"
#include "detail/verdicts.hpp"

namespace probekit {
namespace {

// Up to here it is cheaper to ask the engine about each function than to have
// ftrace print its list.
constexpr std::size_t small = 1000;

bool needs_list(const SymbolTable& table, std::span<const Pattern> patterns,
                const SelectOptions& options) {
  // Other probes do not go by the list.
  if (options.kind != PROBEKIT_KIND_FPROBE) return false;
  // An address that is no function's may be an ftrace location.
  for (const Pattern& pattern : patterns) {
    if (pattern.kind() == Pattern::Kind::address &&
        table.aliases(pattern.number()).empty()) {
      return true;
    }
  }
  const detail::PatternIndex index(patterns);
  std::size_t selected = 0;
  for (const Function& function : table.functions()) {
    if (index.first(function) != detail::PatternIndex::none) ++selected;
    if (selected > small) return true;
  }
  return false;
}

TargetSet make_targets(const Engine& engine,
                       std::span<const Function> functions,
                       std::uint32_t kind) {
  std::vector<probekit_target> targets;
  targets.reserve(functions.size());
  for (const Function& function : functions) {
    targets.push_back({.address = function.address, .cookie = 0});
  }
  return engine.make_targets(targets, kind);
}

// Of functions that handlers run on, most cannot be probed anyway: then that
// is the reason, and no force helps.
void check_excluded(const Engine& engine, Selection& selection,
                    std::uint32_t kind) {
  std::vector<Function> excluded;
  for (const Refused& refused : selection.refused) {
    if (refused.refusal == Refusal::excluded) {
      excluded.push_back(refused.function);
    }
  }
  if (excluded.empty()) return;
  const TargetSet set = make_targets(engine, excluded, kind);
  auto verdict = set.verdicts().begin();
  for (Refused& refused : selection.refused) {
    if (refused.refusal != Refusal::excluded) continue;
    if (*verdict++ == PROBEKIT_TARGET_OK) continue;
    refused.refusal = Refusal::not_traceable;
    refused.reason = to_string(refused.refusal);
  }
}

}  // namespace

Aim aim(const Engine& engine, std::span<const Pattern> patterns,
        std::span<const Pattern> excludes, const SelectOptions& options) {
  Aim aim{SymbolTable::of_running_kernel(Locations::assumed), {}, {}};
  const bool listed = needs_list(aim.table, patterns, options);
  if (listed) aim.table = aim.table.with_listed_locations();
  aim.selection = select(aim.table, patterns, excludes, options);
  if (!listed) check_excluded(engine, aim.selection, options.kind);
  while (!aim.selection.targets.empty()) {
    const std::size_t asked = aim.selection.targets.size();
    aim.targets = make_targets(engine, aim.selection.targets, options.kind);
    // Again without what was refused, so that indices stay the same.
    detail::refuse(aim.selection, patterns, aim.targets->verdicts());
    if (aim.selection.targets.size() == asked) return aim;
  }
  aim.targets.reset();
  return aim;
}

}  // namespace probekit
