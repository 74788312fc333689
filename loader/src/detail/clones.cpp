// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "clones.hpp"

#include <cstddef>

namespace probekit::detail {

std::string_view cloned_from(std::string_view name) noexcept {
  const std::size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos) return {};
  std::string_view rest = name.substr(dot);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('.'));
    const bool number = !word.empty() && word.find_first_not_of("0123456789") ==
                                             std::string_view::npos;
    if (!number && word != "isra" && word != "constprop" && word != "llvm") {
      return {};
    }
    rest.remove_prefix(word.size());
  }
  return name.substr(0, dot);
}

}  // namespace probekit::detail
