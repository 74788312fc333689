// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "table.hpp"

#include <algorithm>
#include <utility>

#include "values.hpp"

namespace probekit::tools {

Table::Table(std::vector<std::string> titles) : widths_(titles.size()) {
  add(std::move(titles));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(widths_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    widths_[i] = std::max(widths_[i], width(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths_[i] - width(row[i]), ' ');
      if (i > 0) text += "  " + padding;
      text += row[i];
      if (i == 0 && row.size() > 1) text += padding;
    }
    text += '\n';
  }
  return text;
}

std::string bar(std::uint64_t count, std::uint64_t most, std::size_t length) {
  if (count == 0 || most == 0) return {};
  const double share = static_cast<double>(count) / static_cast<double>(most);
  const auto marks =
      static_cast<std::size_t>(share * static_cast<double>(length) + 0.5);
  return std::string(std::clamp<std::size_t>(marks, 1, length), '*');
}

}  // namespace probekit::tools
