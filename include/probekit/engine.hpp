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

  /// Disables or enables the live probe over these targets, without detaching
  /// it. While it is disabled nothing is hit, at no cost; calls in flight keep
  /// their exit. Throws Error, with nothing changed: ENOENT where no probe is
  /// over them, EBUSY while it is being attached.
  void enable(bool on = true) const;
  void disable() const { enable(false); }
  /// The same for single targets, by their index. A target is hit while both
  /// itself and its probe are enabled. ENOENT also where one is no target.
  void enable(std::span<const std::uint32_t> targets, bool on = true) const;
  void disable(std::span<const std::uint32_t> targets) const {
    enable(targets, false);
  }

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

  /// Is the module loaded? Answers without loading it.
  static bool loaded();

  const probekit_info& info() const noexcept { return info_; }

  /// The live probes of the whole machine, whoever owns them, oldest first.
  std::vector<probekit_probe_info> probes() const;

  /// Disables or enables any live probe, by its probekit_stats.probe. Throws
  /// Error: ENOENT where there is none of that id.
  void enable(std::uint32_t probe, bool on = true) const;

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
