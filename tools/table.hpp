// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_TABLE_HPP
#define PROBEKIT_TOOLS_TABLE_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace probekit::tools {

/// Columns of text for people: the first one flush left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> titles);

  /// As many cells as there are titles.
  void add(std::vector<std::string> cells);

  /// A line per row, the titles first.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

/// As many marks as `count` is of `most`; at least one for anything at all.
std::string bar(std::uint64_t count, std::uint64_t most, std::size_t length);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_TABLE_HPP
