// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_EXCLUSIONS_HPP
#define PROBEKIT_DETAIL_EXCLUSIONS_HPP

#include <probekit/symbols.hpp>
#include <span>
#include <string_view>

namespace probekit::detail {

// Why exclusions() has any of these names of one function, or empty.
std::string_view exclusion_reason(std::span<const Function> aliases);

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_EXCLUSIONS_HPP
