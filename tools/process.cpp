// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <probekit/error.hpp>
#include <string>

#include "values.hpp"

namespace probekit::tools {
namespace {

// PIDFD_THREAD of linux/pidfd.h, which is younger than the headers that this
// must compile with.
constexpr unsigned kPidfdThread = O_EXCL;

FileDescriptor pidfd_open(pid_t pid, unsigned flags) {
  return FileDescriptor(
      static_cast<int>(::syscall(SYS_pidfd_open, pid, flags)));
}

// The process that a thread belongs to, zero when there is no such thread.
pid_t process_of(pid_t tid) {
  std::ifstream status(fmt::format("/proc/{}/status", tid));
  for (std::string key; status >> key;) {
    pid_t process = 0;
    if (key == "Tgid:" && status >> process) return process;
    status.ignore(1 << 16, '\n');
  }
  return 0;
}

}  // namespace

FileDescriptor watch_process(pid_t pid) {
  auto descriptor = pidfd_open(pid, 0);
  if (descriptor) return descriptor;
  const int error = errno;
  const pid_t process = process_of(pid);
  if (process == 0) {
    throw Error("measure", fmt::format("process {}", pid), ESRCH,
                "there is no such process", "check --pid");
  }
  if (process != pid) {
    throw Error("measure", fmt::format("process {}", pid), error,
                fmt::format("it is a thread of process {}", process),
                "use --tid");
  }
  throw Error("watch", fmt::format("process {}", pid), error);
}

FileDescriptor watch_thread(pid_t tid) {
  if (process_of(tid) == 0) {
    throw Error("measure", fmt::format("thread {}", tid), ESRCH,
                "there is no such thread", "check --tid");
  }
  return pidfd_open(tid, kPidfdThread);
}

}  // namespace probekit::tools
