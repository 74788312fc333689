// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_WORKLOAD_HPP
#define PROBEKIT_TOOLS_WORKLOAD_HPP

#include <sys/types.h>

#include <optional>
#include <probekit/engine.hpp>
#include <span>
#include <string>

#include "cgroup.hpp"
#include "stop_signals.hpp"

namespace probekit::tools {

/// PROGRAM: a child that exists, stopped, before probes are attached, and that
/// runs what it is told to only after start().
class Workload {
 public:
  /// `apart`: in a cgroup of its own. Throws Error when there is no such
  /// program, before anything else is done.
  Workload(std::span<const std::string> program, bool apart,
           const StopSignals& signals);
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  /// Ends the program if it still runs.
  ~Workload();

  /// Where it and its descendants are and nobody else is.
  std::optional<CgroupId> cgroup() const;

  /// Lets it run. Throws Error when it cannot be executed.
  void start();

  /// Readable when it has ended.
  int fd() const noexcept { return pidfd_.get(); }

  /// Ends it: waits a moment for it to do so by itself when `signalled` says
  /// that it may have got the signal that we got; then SIGTERM, then SIGKILL.
  /// One more stop signal skips the wait for SIGTERM to work.
  void end(bool signalled);

  /// What it ended with, for people, when that was not success: "exited with
  /// status 3". Call it after the end.
  std::optional<std::string> complaint();

 private:
  void spawn();
  [[noreturn]] void become_program();
  bool wait_for_end(int milliseconds);
  void reap();

  std::vector<std::string> program_;
  std::string path_;
  const StopSignals& signals_;
  std::optional<TemporaryCgroup> cgroup_;
  FileDescriptor pidfd_;
  FileDescriptor exec_error_;        ///< read end
  FileDescriptor exec_error_write_;  ///< of the child
  pid_t pid_ = -1;
  int status_ = 0;
  bool started_ = false;
  bool reaped_ = false;
};

/// The file that a shell would run for `name`. Throws Error when there is
/// none, or none that may be executed.
std::string find_program(const std::string& name, const char* search_path);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_WORKLOAD_HPP
