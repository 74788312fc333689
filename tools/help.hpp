// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_HELP_HPP
#define PROBEKIT_TOOLS_HELP_HPP

#include <string>

#include "options.hpp"

namespace probekit::tools {

/// One screen each: 80 columns, 24 lines.
std::string general_help();
std::string command_help(const CommandSpec& command);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_HELP_HPP
