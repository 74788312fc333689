// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What count and latency have in common: choose functions, attach, wait,
// detach, print.
#ifndef PROBEKIT_TOOLS_MEASUREMENT_HPP
#define PROBEKIT_TOOLS_MEASUREMENT_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <probekit/object.hpp>
#include <span>
#include <string_view>

#include "options.hpp"
#include "report.hpp"

namespace probekit::tools {

/// Handlers that measure.
struct Instrument {
  std::string_view name;   ///< of the object
  std::string_view probe;  ///< in it, of the kind that the options name
  std::span<const std::byte> object;
  std::string_view map;     ///< a per-CPU array with an entry per target
  std::uint32_t flags = 0;  ///< PROBEKIT_FLAG_*
  /// What is particular about its constants; before load().
  std::function<void(Object&)> set_up;
  /// One target's figures so far.
  std::function<Reading(const Object&, std::uint32_t target)> read;
};

/// The figures of calls.bpf.h, for Instrument::read.
Reading read_calls(const Object& object, std::uint32_t target);

/// Runs a command that measures. Returns the exit status.
int measure(const Options& options, const Instrument& instrument);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_MEASUREMENT_HPP
