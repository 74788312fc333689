// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <linux/types.h>
// After the types that it is made of.
#include <latency.h>

#include <cstdint>
#include <span>

#include "commands.hpp"
#include "handlers.hpp"
#include "measurement.hpp"

namespace probekit::tools {
namespace {

static_assert(Log2Histogram::kSlots == LATENCY_SLOTS,
              "the handlers and the library have different histograms");

Distribution distribution_of(const latency_stats& stats) {
  std::array<std::uint64_t, LATENCY_SLOTS> slots{};
  std::copy(std::begin(stats.slots), std::end(stats.slots), slots.begin());
  Distribution distribution;
  distribution.histogram = Log2Histogram(slots);
  distribution.total = stats.total_ns;
  distribution.min = ~stats.min_inverted;
  distribution.max = stats.max_ns;
  distribution.settle();
  return distribution;
}

Reading read_times(const Object& object, std::uint32_t target) {
  Distribution times;
  for (const auto& cpu :
       object.read_percpu<latency_stats>("latencies", target)) {
    times += distribution_of(cpu);
  }
  return {times.count(), times};
}

}  // namespace

int run_latency(const Options& options) {
  const auto min = static_cast<std::uint64_t>(options.min.count());
  return measure(
      options,
      {.name = "latency",
       .probe = options.kind == PROBEKIT_KIND_KRETPROBE ? "latency_kretprobe"
                                                        : "latency",
       .object = handlers::latency(),
       .map = "latencies",
       .set_up = [min](Object& object) { object.set_constant("min_ns", min); },
       .read = read_times});
}

}  // namespace probekit::tools
