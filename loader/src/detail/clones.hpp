// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_CLONES_HPP
#define PROBEKIT_DETAIL_CLONES_HPP

#include <string_view>

namespace probekit::detail {

// The function that a clone such as foo.isra.0, foo.constprop.0.isra.0 or
// foo.llvm.123 was made of, empty when `name` is no clone. Parts (foo.part.0,
// foo.cold) are not clones: they are entered elsewhere than foo.
std::string_view cloned_from(std::string_view name) noexcept;

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_CLONES_HPP
