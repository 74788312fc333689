// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_PATTERN_INDEX_HPP
#define PROBEKIT_DETAIL_PATTERN_INDEX_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <probekit/pattern.hpp>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace probekit::detail {

// Does it ask for a function in so many words?
inline bool is_named(const Pattern& pattern) {
  return pattern.kind() == Pattern::Kind::name ||
         pattern.kind() == Pattern::Kind::address;
}

// Finds the patterns that match a function without trying each: tens of
// thousands of functions meet a file of thousands of patterns. Refers to the
// patterns, which must outlive it.
class PatternIndex {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  explicit PatternIndex(std::span<const Pattern> patterns);

  // Only the patterns in `chosen`.
  PatternIndex(std::span<const Pattern> patterns,
               std::span<const std::size_t> chosen);

  bool empty() const noexcept { return empty_; }

  // Calls visit(index) for every pattern that matches, in no order.
  template <typename Visit>
  void for_each(const Function& function, Visit visit) const {
    const auto try_each = [&](const std::vector<std::size_t>& candidates) {
      for (const std::size_t i : candidates) {
        if (patterns_[i].matches(function)) visit(i);
      }
    };
    if (!names_.empty()) {
      const auto found = names_.find(function.name);
      if (found != names_.end()) try_each(found->second);
    }
    if (!function.name.empty()) {
      try_each(by_first_[static_cast<unsigned char>(function.name.front())]);
    }
    try_each(others_);
  }

  // The lowest index of a pattern that matches, or none.
  std::size_t first(const Function& function) const;

 private:
  void add(std::size_t index);

  std::span<const Pattern> patterns_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> names_;
  std::array<std::vector<std::size_t>, 256> by_first_;  // globs
  std::vector<std::size_t> others_;
  bool empty_ = true;
};

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_PATTERN_INDEX_HPP
