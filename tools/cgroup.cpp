// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cgroup.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <probekit/error.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "output.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

namespace fs = std::filesystem;

// Of the root of every hierarchy, seen from outside of cgroup namespaces.
constexpr ino_t kRootInode = 1;

// Of the cgroups that we make; a process id follows.
constexpr std::string_view kPrefix = "probekit-";

std::string slurp(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_cgroup2(const fs::path& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 &&
         info.f_type == CGROUP2_SUPER_MAGIC;
}

ino_t inode(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

std::string in_quotes(const fs::path& path) {
  return fmt::format("'{}'", printable(path.native()));
}

// Characters that would end a field are written as \ooo.
std::string unescape(std::string_view field) {
  std::string result;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size()) {
      result +=
          static_cast<char>((field[i + 1] - '0') * 64 +
                            (field[i + 2] - '0') * 8 + field[i + 3] - '0');
      i += 3;
    } else {
      result += field[i];
    }
  }
  return result;
}

[[noreturn]] void no_hierarchy(int error, std::string reason) {
  throw UnsupportedError(
      "use", "cgroups", error, std::move(reason),
      "mount cgroup2 (mount -t cgroup2 none /sys/fs/cgroup), or measure "
      "without a filter by cgroup (--all-processes)");
}

// A mount that is attached nowhere: no other process sees it, and it goes when
// its descriptor does.
FileDescriptor private_mount() {
  const FileDescriptor context(::fsopen("cgroup2", FSOPEN_CLOEXEC));
  if (!context || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr,
                             nullptr, 0) != 0) {
    no_hierarchy(errno, {});
  }
  FileDescriptor mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  if (!mount) no_hierarchy(errno, {});
  return mount;
}

CgroupId id_of(fs::path path) {
  CgroupId result;
  result.id = inode(path);
  while (inode(path) != kRootInode) {
    path /= "..";
    ++result.level;
    if (!is_cgroup2(path)) {
      no_hierarchy(0,
                   "this is a cgroup namespace, whose place in the "
                   "hierarchy cannot be told from within");
    }
  }
  return result;
}

bool write_file(const fs::path& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) ==
                     static_cast<ssize_t>(text.size());
}

std::vector<std::string> members(const fs::path& cgroup) {
  std::istringstream text(slurp(cgroup / "cgroup.procs"));
  return {std::istream_iterator<std::string>(text), {}};
}

// A program may have made cgroups of its own below.
void evict(const fs::path& cgroup, const fs::path& to) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(cgroup, ignored)) {
    if (!entry.is_directory(ignored)) continue;
    evict(entry.path(), to);
    ::rmdir(entry.path().c_str());
  }
  for (const auto& process : members(cgroup)) {
    write_file(to / "cgroup.procs", process);
  }
}

// What runs that were killed have left. Whose process still lives may be about
// to use it.
void remove_leftovers(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    const pid_t owner = std::atoi(name.c_str() + kPrefix.size());
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) {
      ::rmdir(entry.path().c_str());
    }
  }
}

}  // namespace

fs::path cgroup_mount(std::string_view mountinfo) {
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    const auto separator = line.find(" - ");
    if (separator == line.npos ||
        line.compare(separator + 3, 8, "cgroup2 ") != 0) {
      continue;
    }
    std::istringstream fields(line);
    std::string id, parent, device, root, mount_point;
    fields >> id >> parent >> device >> root >> mount_point;
    if (root == "/") return unescape(mount_point);
  }
  return {};
}

std::string cgroup_path(std::string_view proc_cgroup) {
  std::istringstream lines{std::string(proc_cgroup)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return {};
}

CgroupRoot CgroupRoot::open() {
  CgroupRoot root;
  root.path_ = cgroup_mount(slurp("/proc/self/mountinfo"));
  // Another mount may cover it.
  if (!root.path_.empty() && is_cgroup2(root.path_)) return root;
  root.mount_ = private_mount();
  root.path_ = fmt::format("/proc/self/fd/{}", root.mount_.get());
  return root;
}

fs::path CgroupRoot::own() const {
  const std::string path = cgroup_path(slurp("/proc/self/cgroup"));
  if (path.empty()) no_hierarchy(0, "the unified hierarchy is switched off");
  return path_ / path.substr(1);
}

CgroupId identify_cgroup(const std::string& path) {
  std::error_code ignored;
  if (is_cgroup2(path) && fs::is_directory(path, ignored)) return id_of(path);
  if (fs::exists(path, ignored)) {
    throw Error("use", "cgroup " + in_quotes(path), 0,
                "it is no directory of the unified hierarchy (cgroup2)",
                "give --cgroup a directory below the mount of cgroup2");
  }
  const CgroupRoot root = CgroupRoot::open();
  const fs::path below = root.path() / fs::path(path).relative_path();
  if (fs::is_directory(below, ignored)) return id_of(below);
  throw Error("use", "cgroup " + in_quotes(path), ENOENT, {},
              "give --cgroup a directory below the mount of cgroup2");
}

TemporaryCgroup::TemporaryCgroup()
    : root_(CgroupRoot::open()), parent_(root_.own()) {
  remove_leftovers(parent_);
  // Another process id namespace may have a probekit of the same number.
  for (int attempt = 0; attempt < 100; ++attempt) {
    path_ = parent_ / fmt::format("{}{}{}", kPrefix, ::getpid(),
                                  attempt ? fmt::format("-{}", attempt) : "");
    if (::mkdir(path_.c_str(), 0755) == 0) {
      id_ = id_of(path_);
      return;
    }
    if (errno != EEXIST) break;
  }
  throw Error("create", "cgroup " + in_quotes(path_), errno, {},
              "a cgroup tells PROGRAM from others; measure all processes "
              "instead (--all-processes)");
}

TemporaryCgroup::~TemporaryCgroup() {
  // Whoever forks meanwhile leaves a child behind: again, then.
  for (int attempt = 0; attempt < 100; ++attempt) {
    evict(path_, parent_);
    if (::rmdir(path_.c_str()) == 0 || errno == ENOENT) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  say("cannot remove cgroup {}: {}", in_quotes(path_),
      std::generic_category().message(errno));
}

void TemporaryCgroup::add(pid_t process) const {
  if (write_file(path_ / "cgroup.procs", fmt::format("{}", process))) return;
  throw Error("move PROGRAM", "to cgroup " + in_quotes(path_), errno);
}

}  // namespace probekit::tools
