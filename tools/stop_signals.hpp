// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_STOP_SIGNALS_HPP
#define PROBEKIT_TOOLS_STOP_SIGNALS_HPP

#include <signal.h>

#include <array>
#include <probekit/engine.hpp>

namespace probekit::tools {

/// Turns SIGINT, SIGTERM and SIGHUP into the wish to end the run, as long as
/// it lives. System calls are interrupted (no SA_RESTART), so that attaching
/// can be given up. At most one at a time.
///
/// Also when they were ignored: a shell starts background jobs with SIGINT
/// ignored, and a script must still be able to end a run with it.
class StopSignals {
 public:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// The last signal that came, zero: none.
  int received() const noexcept;
  /// How many have come.
  int count() const noexcept;
  /// Readable once a signal has come, until drain().
  int fd() const noexcept { return read_end_.get(); }
  void drain() const;

  /// What a program that is started must find, as if probekit were not there.
  /// Async-signal-safe.
  void restore() const noexcept;

 private:
  FileDescriptor read_end_;
  FileDescriptor write_end_;
  std::array<struct sigaction, kSignals.size()> previous_{};
};

/// Blocks the stop signals in this thread while it lives; threads that are
/// started then never take them from the main thread.
class BlockStopSignals {
 public:
  BlockStopSignals();
  BlockStopSignals(const BlockStopSignals&) = delete;
  BlockStopSignals& operator=(const BlockStopSignals&) = delete;
  ~BlockStopSignals();

 private:
  sigset_t previous_{};
};

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_STOP_SIGNALS_HPP
