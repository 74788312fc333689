// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "progress.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <utility>

namespace probekit::tools {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr int kSilentTicks = 10;

void write_terminal(std::string_view text) {
  [[maybe_unused]] const auto ignored =
      ::write(STDERR_FILENO, text.data(), text.size());
}

class Ticker {
 public:
  Ticker(std::function<std::string()> text, const StopSignals* signals,
         pthread_t blocked)
      : text_(std::move(text)), signals_(signals), blocked_(blocked) {}

  void operator()(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    for (int tick = 1; !stop.stop_requested(); ++tick) {
      wake.wait_for(lock, stop, kTick, [] { return false; });
      if (!stop.stop_requested()) on_tick(tick);
    }
    // Back to the start of an empty line.
    if (shown_) write_terminal("\r\033[K");
  }

 private:
  void on_tick(int tick) {
    // The signal may have come just before the system call that it should
    // interrupt began: once more, then.
    const int number = signals_ != nullptr ? signals_->received() : 0;
    if (number != 0) ::pthread_kill(blocked_, number);
    if (tick < kSilentTicks || ::isatty(STDERR_FILENO) == 0) return;
    write_terminal(fmt::format("\r\033[K{}", text_()));
    shown_ = true;
  }

  std::function<std::string()> text_;
  const StopSignals* signals_;
  pthread_t blocked_;
  bool shown_ = false;
};

}  // namespace

Progress::Progress(std::function<std::string()> text,
                   const StopSignals* signals) {
  const BlockStopSignals block;
  thread_ = std::jthread(Ticker(std::move(text), signals, ::pthread_self()));
}

Progress::~Progress() = default;

}  // namespace probekit::tools
