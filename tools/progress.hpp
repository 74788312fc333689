// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_PROGRESS_HPP
#define PROBEKIT_TOOLS_PROGRESS_HPP

#include <functional>
#include <string>
#include <thread>

#include "stop_signals.hpp"

namespace probekit::tools {

/// While it lives: a line on the terminal about something that takes long. Says
/// nothing in the first second, nor when standard error is no terminal.
class Progress {
 public:
  /// `text` is called from another thread. With `signals`, the thread that
  /// made this is in a system call that a stop signal must interrupt.
  explicit Progress(std::function<std::string()> text,
                    const StopSignals* signals = nullptr);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

 private:
  std::jthread thread_;
};

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_PROGRESS_HPP
