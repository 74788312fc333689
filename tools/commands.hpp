// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_COMMANDS_HPP
#define PROBEKIT_TOOLS_COMMANDS_HPP

#include <span>
#include <string>

#include "options.hpp"

namespace probekit::tools {

/// What main() returns. Diagnostics have been given.
enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kUnsupported = 3,
};

/// The whole command, from the arguments that follow its name.
int run(std::span<const std::string> arguments) noexcept;

int run_check(const Options& options);
int run_inject(const Options& options);
int run_list(const Options& options);
int run_count(const Options& options);
int run_latency(const Options& options);
int run_status(const Options& options);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_COMMANDS_HPP
