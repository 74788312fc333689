// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_HANDLERS_HPP
#define PROBEKIT_HANDLERS_HPP

#include <cstddef>
#include <span>

/// The compiled BPF objects of the command, ready for probekit::Object. They
/// live as long as the program.
namespace probekit::handlers {

std::span<const std::byte> count();
std::span<const std::byte> inject();
std::span<const std::byte> latency();

}  // namespace probekit::handlers

#endif  // PROBEKIT_HANDLERS_HPP
