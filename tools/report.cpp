// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report.hpp"

#include <algorithm>

namespace probekit::tools {

Reading Reading::since(const Reading& earlier) const {
  Reading result;
  result.calls = calls > earlier.calls ? calls - earlier.calls : 0;
  if (times)
    result.times = times->since(earlier.times.value_or(Distribution{}));
  return result;
}

void sort_rows(std::vector<Row>& rows) {
  const auto weight = [](const Row& row) {
    return row.reading.times ? row.reading.times->total : row.reading.calls;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    if (a.name != b.name) return a.name < b.name;
    return a.address < b.address;
  });
}

}  // namespace probekit::tools
