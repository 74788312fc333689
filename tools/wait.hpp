// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_WAIT_HPP
#define PROBEKIT_TOOLS_WAIT_HPP

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "stop_signals.hpp"

namespace probekit::tools {

/// Why a run is over.
enum class End { signal, time, process };

/// How a run ends.
struct Wait {
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<std::chrono::nanoseconds> interval;
  /// The run ends when any of these descriptors becomes readable.
  std::vector<int> ends;
  /// Called when an interval is over that is not the last. Intervals keep to
  /// the clock: when one is printed too slowly the next is longer.
  std::function<void()> on_interval;
};

/// Blocks until the end.
End wait_for_end(const Wait& wait, const StopSignals& signals);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_WAIT_HPP
