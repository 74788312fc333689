// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <cstdint>

#include "commands.hpp"
#include "handlers.hpp"
#include "measurement.hpp"

namespace probekit::tools {
namespace {

std::string_view probe_of(std::uint32_t kind) {
  switch (kind) {
    case PROBEKIT_KIND_KPROBE:
      return "count_kprobe";
    case PROBEKIT_KIND_KRETPROBE:
      return "count_kretprobe";
    default:
      return "count";
  }
}

}  // namespace

int run_count(const Options& options) {
  return measure(options, {.name = "count",
                           .probe = probe_of(options.kind),
                           .object = handlers::count(),
                           .map = "calls",
                           .set_up = [](Object&) {},
                           .read = read_calls});
}

}  // namespace probekit::tools
