// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "probekit/engine.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/module.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "probekit/error.hpp"

namespace probekit {
namespace {

constexpr std::string_view kModule = "the probekit module";
constexpr const char* kModuleBtf = "/sys/kernel/btf/probekit";

std::string kernel_release() {
  utsname name{};
  uname(&name);
  return name.release;
}

/// What finit_module() means by an errno, in words that lead on.
[[noreturn]] void throw_load_error(const std::string& path, int error) {
  switch (error) {
    case EPERM:
      throw UnsupportedError(
          "load", path, error, {},
          "run as root; under kernel lockdown (Secure Boot) the module must "
          "be signed with a key that the kernel trusts");
    case EKEYREJECTED:
    case ENOKEY:
      throw UnsupportedError("load", path, error,
                             "the kernel does not trust its signature",
                             "sign the module with an enrolled key");
    case ENOEXEC:
      throw UnsupportedError(
          "load", path, error, "it is not a module for this kernel",
          "build it for " + kernel_release() + " (PROBEKIT_KERNEL_DIR)");
    case ENOENT:
      throw UnsupportedError(
          "load", path, error, "this kernel lacks a function that it needs",
          "use a kernel with CONFIG_FPROBE, CONFIG_BPF_JIT and BTF");
    default:
      throw UnsupportedError("load", path, error, {},
                             "the kernel log (dmesg) says more");
  }
}

/// Loads a module file. False where there is no such file.
bool load_file(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw Error("open", path, errno);
  }
  const bool compressed = !path.ends_with(".ko");
  if (syscall(SYS_finit_module, file.get(), "",
              compressed ? MODULE_INIT_COMPRESSED_FILE : 0) &&
      errno != EEXIST)
    throw_load_error(path, errno);
  return true;
}

/// Lets modprobe look, which knows more places than we do.
bool run_modprobe() {
  std::array<char*, 4> argv{const_cast<char*>("modprobe"),
                            const_cast<char*>("-q"),
                            const_cast<char*>("probekit"), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, "modprobe", nullptr, nullptr, argv.data(), environ))
    return false;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void load_module() {
  if (const char* path = std::getenv("PROBEKIT_MODULE"); path && *path) {
    if (!load_file(path))
      throw UnsupportedError("load", path, ENOENT, {},
                             "set PROBEKIT_MODULE to the file probekit.ko");
    return;
  }
  const std::string release = kernel_release();
  for (std::string_view place : {"extra", "updates", "updates/dkms"})
    for (std::string_view suffix : {"", ".xz", ".zst", ".gz"})
      if (load_file(fmt::format("/lib/modules/{}/{}/probekit.ko{}", release,
                                place, suffix)))
        return;
  if (!run_modprobe())
    throw UnsupportedError(
        "load", std::string(kModule), ENOENT,
        "there is none for kernel " + release,
        "install it (cmake --install), or set PROBEKIT_MODULE to probekit.ko");
}

FileDescriptor open_device() {
  FileDescriptor device(open(PROBEKIT_DEVICE, O_RDWR | O_CLOEXEC));
  if (device || errno == ENOENT) return device;
  if (errno == EACCES || errno == EPERM)
    throw UnsupportedError("open", PROBEKIT_DEVICE, errno, {},
                           "run as root (CAP_BPF and CAP_PERFMON are needed)");
  throw Error("open", PROBEKIT_DEVICE, errno);
}

/// Opens the device and loads the module for it if need be.
FileDescriptor open_device_once() {
  FileDescriptor device = open_device();
  if (device) return device;
  if (geteuid() != 0)
    throw UnsupportedError("load", std::string(kModule), EPERM, {},
                           "run as root");
  load_module();
  device = open_device();
  if (!device && access("/sys/module/probekit", F_OK) != 0)
    throw UnsupportedError("load", std::string(kModule), ENOENT,
                           "what was loaded is another module",
                           "set PROBEKIT_MODULE to the file probekit.ko");
  if (!device)
    throw UnsupportedError("open", PROBEKIT_DEVICE, ENOENT,
                           "the module is loaded but its device is missing",
                           "mount devtmpfs on /dev, or start udev");
  return device;
}

/// Somebody else may be unloading the module: that is over soon.
FileDescriptor open_device_loading() {
  for (int tries = 20;; --tries) {
    try {
      return open_device_once();
    } catch (const Error& error) {
      const int reason = error.code().value();
      if (!tries || (reason != EBUSY && reason != ENODEV && reason != ENXIO))
        throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

probekit_info ask_info(const FileDescriptor& device) {
  probekit_info info{};
  info.size = sizeof(info);
  if (ioctl(device.get(), PROBEKIT_IOC_INFO, &info))
    throw UnsupportedError(
        "use", std::string(kModule), errno,
        "the loaded one does not speak this program's language",
        "unload it (rmmod probekit) and install module and program together");
  return info;
}

void check_version(const probekit_info& info) {
  const std::pair<unsigned, unsigned> theirs{info.abi_major, info.abi_minor};
  const std::pair<unsigned, unsigned> ours{PROBEKIT_ABI_MAJOR,
                                           PROBEKIT_ABI_MINOR};
  if (theirs.first == ours.first && theirs >= ours) return;
  throw UnsupportedError(
      "use", std::string(kModule), 0,
      fmt::format("the loaded one is {} (interface {}.{}, this program needs "
                  "{}.{})",
                  theirs < ours ? "older" : "newer", theirs.first,
                  theirs.second, ours.first, ours.second),
      "unload it (rmmod probekit) and install module and program together");
}

}  // namespace

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

TargetSet::TargetSet(FileDescriptor fd, std::vector<std::uint32_t> verdicts,
                     std::uint32_t accepted)
    : fd_(std::move(fd)), verdicts_(std::move(verdicts)), accepted_(accepted) {}

probekit_stats TargetSet::stats() const {
  probekit_stats stats{};
  stats.size = sizeof(stats);
  if (ioctl(fd_.get(), PROBEKIT_IOC_STATS, &stats))
    throw Error("read the counters of", "a target set", errno);
  return stats;
}

namespace {

void switch_probe(int fd, probekit_enable arg, const std::string& object) {
  arg.size = sizeof(arg);
  if (ioctl(fd, PROBEKIT_IOC_ENABLE, &arg) == 0) return;
  const char* action = arg.enable != 0 ? "enable" : "disable";
  switch (errno) {
    case ENOENT:
      throw Error(action, object, ENOENT,
                  arg.count ? "no probe is over them, or not over one of these"
                            : "there is no such probe",
                  "probekit status shows which there are");
    case EBUSY:
      throw Error(action, object, EBUSY, "it is still being attached",
                  "wait until attaching has returned");
    default:
      throw Error(action, object, errno);
  }
}

}  // namespace

void TargetSet::enable(bool on) const {
  probekit_enable arg{};
  arg.enable = on ? 1 : 0;
  switch_probe(fd_.get(), arg, "the probe over a target set");
}

void TargetSet::enable(std::span<const std::uint32_t> targets, bool on) const {
  if (targets.empty()) return;
  probekit_enable arg{};
  arg.enable = on ? 1 : 0;
  arg.count = static_cast<std::uint32_t>(targets.size());
  arg.targets = reinterpret_cast<std::uintptr_t>(targets.data());
  switch_probe(fd_.get(), arg, "targets of a set");
}

Engine::Engine(FileDescriptor device, const probekit_info& info)
    : device_(std::move(device)), info_(info) {}

bool Engine::loaded() { return access("/sys/module/probekit", F_OK) == 0; }

std::vector<probekit_probe_info> Engine::probes() const {
  for (std::size_t room = 64;; room *= 2) {
    std::vector<probekit_probe_info> infos(room);
    probekit_probes arg{};
    arg.size = sizeof(arg);
    arg.count = static_cast<std::uint32_t>(room);
    arg.entry_size = sizeof(probekit_probe_info);
    arg.probes = reinterpret_cast<std::uintptr_t>(infos.data());
    if (ioctl(device_.get(), PROBEKIT_IOC_PROBES, &arg))
      throw Error("list", "the live probes", errno);
    if (arg.count > room) continue;
    infos.resize(arg.count);
    return infos;
  }
}

void Engine::enable(std::uint32_t probe, bool on) const {
  probekit_enable arg{};
  arg.enable = on ? 1 : 0;
  arg.probe = probe;
  switch_probe(device_.get(), arg, fmt::format("probe {}", probe));
}

Engine Engine::open() {
  FileDescriptor device = open_device_loading();
  const probekit_info info = ask_info(device);
  check_version(info);
  if (access(kModuleBtf, F_OK) != 0)
    throw UnsupportedError(
        "use", std::string(kModule), 0, "it has no BTF",
        "build it where pahole (package dwarves) and the kernel's vmlinux are");
  return {std::move(device), info};
}

TargetSet Engine::make_targets(std::span<const probekit_target> targets,
                               std::uint32_t kind) const {
  if (targets.size() > info_.max_targets)
    throw Error("probe", fmt::format("{} functions", targets.size()), E2BIG,
                fmt::format("one probe takes at most {}", info_.max_targets),
                "use a narrower pattern");
  std::vector<std::uint32_t> verdicts(targets.size());
  probekit_targets arg{};
  arg.size = sizeof(arg);
  arg.kind = kind;
  arg.count = static_cast<std::uint32_t>(targets.size());
  arg.targets = reinterpret_cast<std::uintptr_t>(targets.data());
  arg.verdicts = reinterpret_cast<std::uintptr_t>(verdicts.data());
  FileDescriptor fd(ioctl(device_.get(), PROBEKIT_IOC_TARGETS, &arg));
  if (!fd && errno == EPERM)
    throw UnsupportedError(
        "probe", "the kernel", EPERM, {},
        "run as root; lockdown=confidentiality forbids every kind of probe");
  if (!fd && errno == ENODEV)
    throw UnsupportedError("probe", "the kernel", ENODEV,
                           "ftrace has shut itself down after a fault",
                           "see the kernel log (dmesg) and reboot");
  if (!fd)
    throw Error("hand over", fmt::format("{} targets", targets.size()), errno);
  return {std::move(fd), std::move(verdicts), arg.accepted};
}

}  // namespace probekit
