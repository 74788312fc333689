// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_SUGGEST_HPP
#define PROBEKIT_DETAIL_SUGGEST_HPP

#include <cstddef>
#include <string_view>

namespace probekit::detail {

// How many typing mistakes (a letter too many, too few, wrong, or two swapped)
// lie between two names, or `limit` + 1 when there are more than `limit`.
std::size_t typing_distance(std::string_view a, std::string_view b,
                            std::size_t limit);

// How many mistakes are still believable in a name of this length.
std::size_t believable_mistakes(std::size_t length) noexcept;

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_SUGGEST_HPP
