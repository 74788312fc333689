// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stop_signals.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <probekit/error.hpp>

namespace probekit::tools {
namespace {

// A signal handler reaches nothing but globals.
std::atomic<int> last_signal{0};
std::atomic<int> signals{0};
std::atomic<int> wake_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  const int saved = errno;
  last_signal = number;
  ++signals;
  const char byte = 0;
  // A full pipe is as readable as one with another byte in it.
  [[maybe_unused]] const auto ignored = ::write(wake_fd, &byte, 1);
  errno = saved;
}

}  // namespace

StopSignals::StopSignals() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Error("create", "a pipe", errno);
  }
  read_end_ = FileDescriptor(ends[0]);
  write_end_ = FileDescriptor(ends[1]);
  last_signal = 0;
  signals = 0;
  wake_fd = ends[1];

  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &action, &previous_[i]);
  }
}

StopSignals::~StopSignals() {
  restore();
  wake_fd = -1;
}

int StopSignals::received() const noexcept { return last_signal; }

int StopSignals::count() const noexcept { return signals; }

void StopSignals::drain() const {
  char bytes[64];
  while (::read(fd(), bytes, sizeof(bytes)) > 0) {
  }
}

void StopSignals::restore() const noexcept {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &previous_[i], nullptr);
  }
}

BlockStopSignals::BlockStopSignals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int number : StopSignals::kSignals) sigaddset(&blocked, number);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &previous_);
}

BlockStopSignals::~BlockStopSignals() {
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

}  // namespace probekit::tools
