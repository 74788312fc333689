// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_VERDICTS_HPP
#define PROBEKIT_DETAIL_VERDICTS_HPP

#include <cstdint>
#include <probekit/pattern.hpp>
#include <span>

namespace probekit::detail {

// Moves the targets that the engine refused to the refused functions, which
// stay in address order. `verdicts` are PROBEKIT_TARGET_* of the targets.
void refuse(Selection& selection, std::span<const Pattern> patterns,
            std::span<const std::uint32_t> verdicts);

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_VERDICTS_HPP
