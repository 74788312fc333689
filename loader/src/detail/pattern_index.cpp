// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pattern_index.hpp"

#include <algorithm>
#include <string>

namespace probekit::detail {

PatternIndex::PatternIndex(std::span<const Pattern> patterns)
    : patterns_(patterns) {
  for (std::size_t i = 0; i < patterns.size(); ++i) add(i);
}

PatternIndex::PatternIndex(std::span<const Pattern> patterns,
                           std::span<const std::size_t> chosen)
    : patterns_(patterns) {
  for (const std::size_t i : chosen) add(i);
}

void PatternIndex::add(std::size_t index) {
  const Pattern& pattern = patterns_[index];
  empty_ = false;
  if (pattern.kind() == Pattern::Kind::name) {
    names_[pattern.name()].push_back(index);
    return;
  }
  const char first = pattern.name().front();
  const bool literal =
      std::string_view("*?[\\").find(first) == std::string_view::npos;
  if (pattern.kind() == Pattern::Kind::glob && literal) {
    by_first_[static_cast<unsigned char>(first)].push_back(index);
  } else {
    others_.push_back(index);
  }
}

std::size_t PatternIndex::first(const Function& function) const {
  std::size_t least = none;
  for_each(function, [&](std::size_t i) { least = std::min(least, i); });
  return least;
}

}  // namespace probekit::detail
