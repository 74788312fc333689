// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "values.hpp"

namespace probekit::tools {

Names::Names(const Selection& selection) {
  std::vector<Name> all;
  all.reserve(selection.targets.size() + selection.refused.size());
  for (const Function& function : selection.targets) {
    all.emplace_back(function.name, function.module);
  }
  for (const Refused& refused : selection.refused) {
    all.emplace_back(refused.function.name, refused.function.module);
  }
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[i - 1]) repeated_.push_back(all[i]);
  }
}

std::string Names::of(const Function& function) const {
  std::string text = printable(function.name);
  if (!function.module.empty()) {
    text += fmt::format(" [{}]", printable(function.module));
  }
  const Name name(function.name, function.module);
  if (std::binary_search(repeated_.begin(), repeated_.end(), name)) {
    text += fmt::format(" {:#x}", function.address);
  }
  return text;
}

}  // namespace probekit::tools
