// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "suggest.hpp"

#include <algorithm>
#include <array>

namespace probekit::detail {

std::size_t typing_distance(std::string_view a, std::string_view b,
                            std::size_t limit) {
  constexpr std::size_t longest = 255;
  const std::size_t far = limit + 1;
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return far;
  if (b.size() > longest) return far;

  // Three rows of the table of distances between prefixes: swapping two
  // letters looks back two.
  std::array<std::array<std::size_t, longest + 1>, 3> rows;
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const auto& before = rows[(i - 1) % 3];
    const auto& two_before = rows[(i + 1) % 3];
    auto& row = rows[i % 3];
    row[0] = i;
    std::size_t least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min(
          {before[j] + 1, row[j - 1] + 1, before[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_before[j - 2] + 1);
      }
      least = std::min(least, row[j]);
    }
    if (least > limit) return far;
  }
  return std::min(rows[a.size() % 3][b.size()], far);
}

std::size_t believable_mistakes(std::size_t length) noexcept {
  return length < 3 ? 0 : std::clamp<std::size_t>(length / 4, 1, 3);
}

}  // namespace probekit::detail
