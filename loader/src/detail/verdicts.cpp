// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "verdicts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "clones.hpp"
#include "pattern_index.hpp"

namespace probekit::detail {
namespace {

Refused refused_by_engine(const Function& function,
                          std::span<const Pattern> patterns) {
  Refused refused{function, Refusal::not_traceable,
                  to_string(Refusal::not_traceable), patterns.size(), false};
  Function original = function;
  original.name = cloned_from(function.name);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const bool matches =
        patterns[i].matches(function) ||
        (!original.name.empty() && patterns[i].kind() == Pattern::Kind::name &&
         patterns[i].matches(original));
    if (!matches) continue;
    refused.pattern = std::min(refused.pattern, i);
    refused.named = refused.named || is_named(patterns[i]);
  }
  return refused;
}

}  // namespace

void refuse(Selection& selection, std::span<const Pattern> patterns,
            std::span<const std::uint32_t> verdicts) {
  std::vector<Function> accepted;
  for (std::size_t i = 0; i < selection.targets.size(); ++i) {
    const Function& function = selection.targets[i];
    if (verdicts[i] == PROBEKIT_TARGET_OK) {
      accepted.push_back(function);
    } else {
      selection.refused.push_back(refused_by_engine(function, patterns));
    }
  }
  selection.targets = std::move(accepted);
  std::stable_sort(selection.refused.begin(), selection.refused.end(),
                   [](const Refused& a, const Refused& b) {
                     return a.function.address < b.function.address;
                   });
}

}  // namespace probekit::detail
