// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a machine must have for probekit to work on it.
#ifndef PROBEKIT_TOOLS_CHECKS_HPP
#define PROBEKIT_TOOLS_CHECKS_HPP

#include <filesystem>
#include <string>
#include <vector>

namespace probekit::tools {

struct CheckResult {
  std::string what;  ///< a word
  bool ok = false;
  std::string detail;  ///< what was found
  std::string remedy;  ///< what to do, empty if ok
};

/// Looks at the files of the kernel below `root`: "/", or a copy in tests.
/// Does not load the module, nor change anything.
std::vector<CheckResult> check_machine(const std::filesystem::path& root);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_CHECKS_HPP
