// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_SELECTION_HPP
#define PROBEKIT_TOOLS_SELECTION_HPP

#include <cstddef>
#include <probekit/pattern.hpp>
#include <string>
#include <vector>

#include "options.hpp"

namespace probekit::tools {

/// The patterns of a command line, read before anything else is done: they may
/// be malformed.
struct Wanted {
  std::vector<Pattern> patterns;
  std::vector<Pattern> excludes;
};
Wanted read_patterns(const Options& options);

/// What else decides which functions are selected.
SelectOptions select_options(const Options& options);

/// A line for each pattern that names nothing.
std::vector<std::string> unmatched_lines(const Selection& selection,
                                         bool verbose);
/// A line for each function that was asked for by name and cannot be probed;
/// what other patterns caught is counted, with `verbose` reason by reason.
std::vector<std::string> refused_lines(const Selection& selection,
                                       bool verbose);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_SELECTION_HPP
