// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <array>
#include <probekit/pattern.hpp>

#include "detail/pattern_index.hpp"

namespace probekit {
namespace {

constexpr std::string_view engine = "it is the engine's own";

constexpr std::array list = {
    Exclusion{"probekit:*", engine},
    Exclusion{"rcu_*", "RCU may not be watching there"},
};

}  // namespace

std::span<const Exclusion> exclusions() noexcept { return list; }

std::string_view exclusion_reason(const SymbolTable& table,
                                  const Function& function) {
  static const std::vector<Pattern> patterns = [] {
    std::vector<Pattern> compiled;
    for (const Exclusion& exclusion : list) {
      compiled.emplace_back(exclusion.pattern);
    }
    return compiled;
  }();
  static const detail::PatternIndex index(patterns);
  for (const Function& alias : table.aliases(function.address)) {
    const std::size_t found = index.first(alias);
    if (found != detail::PatternIndex::none) return list[found].reason;
  }
  return {};
}

}  // namespace probekit
