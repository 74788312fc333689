// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_NAMES_HPP
#define PROBEKIT_TOOLS_NAMES_HPP

#include <probekit/pattern.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace probekit::tools {

/// What functions are called in text for people: "vfs_read", "xfs_read [xfs]",
/// and with the address where a selection has several of that name, which is
/// common among static functions.
class Names {
 public:
  /// The texts that the selection refers to must outlive this.
  explicit Names(const Selection& selection);

  std::string of(const Function& function) const;

 private:
  using Name = std::pair<std::string_view, std::string_view>;

  std::vector<Name> repeated_;  // sorted
};

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_NAMES_HPP
