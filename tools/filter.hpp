// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_FILTER_HPP
#define PROBEKIT_TOOLS_FILTER_HPP

#include <probekit/object.hpp>
#include <vector>

#include "cgroup.hpp"
#include "options.hpp"
#include "workload.hpp"

namespace probekit::tools {

/// Which calls the handlers measure, and what ends the run with it.
class Filter {
 public:
  /// Throws Error when what it names is not there.
  explicit Filter(const FilterOptions& options);

  /// Only the program's calls, if it is in a cgroup of its own.
  void restrict_to(const Workload& workload);

  void apply(Object& object) const;

  /// Does it leave anything out?
  bool active() const noexcept;
  /// Each becomes readable when a process or thread ends that is all that is
  /// measured.
  const std::vector<FileDescriptor>& ends() const noexcept { return ends_; }

 private:
  FilterOptions options_;
  CgroupId cgroup_;
  std::vector<FileDescriptor> ends_;
};

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_FILTER_HPP
