// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "filter.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "process.hpp"

namespace probekit::tools {
namespace {

constexpr std::size_t kCommLength = 16;

}  // namespace

Filter::Filter(const FilterOptions& options) : options_(options) {
  if (options.pid != 0) {
    ends_.push_back(watch_process(static_cast<pid_t>(options.pid)));
  }
  if (options.tid != 0) {
    auto end = watch_thread(static_cast<pid_t>(options.tid));
    if (end) ends_.push_back(std::move(end));
  }
  if (!options.cgroup.empty()) cgroup_ = identify_cgroup(options.cgroup);
}

void Filter::restrict_to(const Workload& workload) {
  if (const auto cgroup = workload.cgroup()) cgroup_ = *cgroup;
}

bool Filter::active() const noexcept {
  return options_.pid != 0 || options_.tid != 0 || !options_.comm.empty() ||
         cgroup_.id != 0;
}

void Filter::apply(Object& object) const {
  object.set_constant("filter_tgid", options_.pid);
  object.set_constant("filter_tid", options_.tid);
  object.set_constant("filter_cgroup", cgroup_.id);
  object.set_constant("filter_cgroup_level", cgroup_.level);
  std::array<char, kCommLength> comm{};
  const std::size_t length = std::min(options_.comm.size(), comm.size() - 1);
  std::copy_n(options_.comm.begin(), length, comm.begin());
  object.set_constant("filter_comm", comm);
}

}  // namespace probekit::tools
