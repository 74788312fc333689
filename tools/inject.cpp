// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "commands.hpp"
#include "handlers.hpp"
#include "measurement.hpp"
#include "output.hpp"

namespace probekit::tools {
namespace {

// Zero means no limit, so the least that can be asked for is one.
std::uint32_t of_all_numbers(double probability) {
  constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
  if (probability <= 0) return 0;
  return static_cast<std::uint32_t>(
      std::clamp(std::round(probability * kMost), 1.0, kMost));
}

}  // namespace

int run_inject(const Options& options) {
  const Injection& injection = options.injection;
  say("functions return without having run: their callers must be able to "
      "cope, or the machine may hang, crash or lose data");
  return measure(options,
                 {.name = "inject",
                  .probe = "inject",
                  .object = handlers::inject(),
                  .map = "calls",
                  .flags = PROBEKIT_FLAG_OUTCOME,
                  .set_up =
                      [&](Object& object) {
                        object.set_constant("inject_value", *injection.value);
                        object.set_constant("inject_every", injection.every);
                        object.set_constant("inject_times", injection.times);
                        object.set_constant(
                            "inject_probability",
                            of_all_numbers(injection.probability));
                      },
                  .read = read_calls});
}

}  // namespace probekit::tools
