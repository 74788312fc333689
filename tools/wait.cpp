// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "wait.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <probekit/error.hpp>

namespace probekit::tools {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// Nobody waits longer, and sums with the clock stay far from overflow.
constexpr nanoseconds kForever = std::chrono::hours(24 * 365 * 100);

// Returns false when the time was up first.
bool poll_until(std::vector<pollfd>& fds, Clock::time_point time) {
  const auto left = std::max(nanoseconds(0), nanoseconds(time - Clock::now()));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec timeout{static_cast<time_t>(seconds.count()),
                         static_cast<long>((left - seconds).count())};
  const int ready = ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
  if (ready < 0 && errno != EINTR) throw Error("wait", "for the end", errno);
  return ready != 0;
}

Clock::time_point next_tick(Clock::time_point tick, nanoseconds interval) {
  const auto behind = Clock::now() - tick;
  const auto skipped = std::max<nanoseconds::rep>(0, behind / interval);
  return tick + interval * (skipped + 1);
}

}  // namespace

End wait_for_end(const Wait& wait, const StopSignals& signals) {
  const auto start = Clock::now();
  const auto end = start + std::min(wait.duration.value_or(kForever), kForever);
  const auto interval = std::min(wait.interval.value_or(kForever), kForever);
  auto tick = start + interval;

  std::vector<pollfd> fds{{signals.fd(), POLLIN, 0}};
  for (const int fd : wait.ends) fds.push_back({fd, POLLIN, 0});
  while (true) {
    if (signals.received() != 0) return End::signal;
    if (poll_until(fds, std::min(end, tick))) {
      const bool ended =
          std::any_of(fds.begin() + 1, fds.end(),
                      [](const pollfd& polled) { return polled.revents != 0; });
      if (ended && signals.received() == 0) return End::process;
      continue;
    }
    if (Clock::now() >= end) return End::time;
    if (Clock::now() < tick) continue;
    wait.on_interval();
    tick = next_tick(tick, interval);
  }
}

}  // namespace probekit::tools
