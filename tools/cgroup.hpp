// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Cgroups of the unified hierarchy: how handlers know what belongs to a run.
#ifndef PROBEKIT_TOOLS_CGROUP_HPP
#define PROBEKIT_TOOLS_CGROUP_HPP

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <probekit/engine.hpp>
#include <string_view>

namespace probekit::tools {

/// What handlers compare: "the ancestor at this level has this id".
struct CgroupId {
  std::uint64_t id = 0;  ///< zero: none
  std::uint32_t level = 0;
};

/// A directory to reach the root of the unified hierarchy by.
class CgroupRoot {
 public:
  /// Where the system has it mounted. Where it does not, a mount that nobody
  /// else sees. Throws UnsupportedError when there is neither.
  static CgroupRoot open();

  const std::filesystem::path& path() const noexcept { return path_; }
  /// The cgroup that this process is in.
  std::filesystem::path own() const;

 private:
  std::filesystem::path path_;
  FileDescriptor mount_;
};

/// The cgroup whose directory `path` is; a path that does not exist is tried
/// below the root of the hierarchy, as in /proc/PID/cgroup.
CgroupId identify_cgroup(const std::string& path);

/// A cgroup below our own for a program and its descendants.
class TemporaryCgroup {
 public:
  TemporaryCgroup();
  TemporaryCgroup(const TemporaryCgroup&) = delete;
  TemporaryCgroup& operator=(const TemporaryCgroup&) = delete;
  /// Those who are still there move to where they would be without us.
  ~TemporaryCgroup();

  CgroupId id() const noexcept { return id_; }
  void add(pid_t process) const;

 private:
  CgroupRoot root_;
  std::filesystem::path parent_;
  std::filesystem::path path_;
  CgroupId id_;
};

/// Where a hierarchy of cgroups of version 2 is mounted, by the text of
/// /proc/self/mountinfo; empty: nowhere. Of several the one that was mounted
/// first.
std::filesystem::path cgroup_mount(std::string_view mountinfo);

/// The path in the unified hierarchy, by the text of /proc/self/cgroup; empty
/// when there is none.
std::string cgroup_path(std::string_view proc_cgroup);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_CGROUP_HPP
