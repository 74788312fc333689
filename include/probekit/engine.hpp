// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_ENGINE_HPP
#define PROBEKIT_ENGINE_HPP

#include <probekit/uapi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace probekit {

/// An owned file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Functions that one probe covers, and the counters of that probe. The
/// counters stay readable after the probe has gone, as long as this object
/// lives. Safe to read from several threads.
class TargetSet {
 public:
  int fd() const noexcept { return fd_.get(); }
  /// PROBEKIT_TARGET_* of each target, in the order they were given.
  std::span<const std::uint32_t> verdicts() const noexcept { return verdicts_; }
  /// How many can be probed.
  std::uint32_t accepted() const noexcept { return accepted_; }
  /// The counters now.
  probekit_stats stats() const;

 private:
  friend class Engine;
  TargetSet(FileDescriptor fd, std::vector<std::uint32_t> verdicts,
            std::uint32_t accepted);

  FileDescriptor fd_;
  std::vector<std::uint32_t> verdicts_;
  std::uint32_t accepted_;
};

/// The kernel module that runs the probes.
class Engine {
 public:
  /// Loads the module if it is not loaded, and opens its device. The module is
  /// looked for where $PROBEKIT_MODULE says, then where modprobe finds it.
  /// Throws UnsupportedError where the machine cannot (rights, lockdown, no
  /// module for this kernel, no BTF in it, another ABI version).
  static Engine open();

  const probekit_info& info() const noexcept { return info_; }

  /// Hands targets to the engine. A target that cannot be probed does not fail
  /// the rest: see TargetSet::verdicts().
  TargetSet make_targets(std::span<const probekit_target> targets,
                         std::uint32_t kind = PROBEKIT_KIND_FPROBE) const;

 private:
  Engine(FileDescriptor device, const probekit_info& info);

  FileDescriptor device_;
  probekit_info info_;
};

}  // namespace probekit

#endif  // PROBEKIT_ENGINE_HPP
