// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "measurement.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <numeric>
#include <optional>
#include <probekit/aim.hpp>
#include <probekit/engine.hpp>
#include <probekit/error.hpp>
#include <utility>
#include <vector>

#include "filter.hpp"
#include "output.hpp"
#include "printer.hpp"
#include "progress.hpp"
#include "selection.hpp"
#include "stop_signals.hpp"
#include "values.hpp"
#include "wait.hpp"
#include "workload.hpp"

namespace probekit::tools {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(Clock::now() - start).count());
}

// Probes attach all the same, and are never hit.
void require_ftrace() {
  std::ifstream file("/proc/sys/kernel/ftrace_enabled");
  if (file.peek() != '0') return;
  throw UnsupportedError("probe", "functions", 0, "ftrace is switched off",
                         "switch it on: sysctl kernel.ftrace_enabled=1");
}

// A run. What it needs from the outside comes into being first, and what is
// wrong with it is said before anything is loaded.
class Measurement {
 public:
  Measurement(const Options& options, const Instrument& instrument)
      : options_(options),
        instrument_(instrument),
        wanted_(read_patterns(options)),
        output_(options.output),
        filter_(options.filter) {
    if (options.program.empty()) return;
    workload_.emplace(options.program, !options.filter.all_processes, signals_);
    filter_.restrict_to(*workload_);
  }

  int run() {
    require_ftrace();
    const Engine engine = Engine::open();
    require_features(engine);
    const Aim aimed = aim(engine, wanted_.patterns, wanted_.excludes,
                          select_options(options_));
    report(aimed.selection);
    if (!aimed.targets) return nothing_to_probe(aimed.selection);

    const TargetSet& set = *aimed.targets;
    Object object = prepare(set);
    Printer printer(options_, output_, aimed.selection);
    std::optional<Link> link = attach(object, set);
    if (!link) return interrupted(printer);

    if (workload_) workload_->start();
    wait(object, set.accepted(), printer);
    detach(link);
    printer.finish(read(object, set.accepted()), summary(set));
    return finish();
  }

 private:
  void require_features(const Engine& engine) const {
    if ((instrument_.flags & PROBEKIT_FLAG_OUTCOME) == 0 ||
        (engine.info().features & PROBEKIT_FEATURE_OUTCOME) != 0) {
      return;
    }
    throw UnsupportedError(
        "change", "what functions return", 0, "the module does not allow it",
        "load it anew with change_outcome=1: rmmod probekit; modprobe probekit "
        "change_outcome=1");
  }

  void report(const Selection& selection) const {
    for (const auto& line : unmatched_lines(selection, options_.verbose))
      diagnose(line);
    for (const auto& line : refused_lines(selection, options_.verbose)) {
      diagnose(line);
    }
  }

  int nothing_to_probe(const Selection& selection) {
    // What matches nothing has been said, and says it all.
    if (selection.unmatched.empty() || !selection.refused.empty()) {
      say("no function is left to probe; give another PATTERN");
    }
    if (options_.json) {
      Printer printer(options_, output_, selection);
      printer.finish({}, {});
    }
    return 1;
  }

  Object prepare(const TargetSet& set) const {
    Object object(std::string(instrument_.name), instrument_.object);
    object.keep_only(instrument_.probe);
    filter_.apply(object);
    instrument_.set_up(object);
    object.set_max_entries(instrument_.map, set.accepted());
    object.set_targets(instrument_.probe, set);
    if (instrument_.flags != 0) {
      object.set_flags(instrument_.probe, instrument_.flags);
    }
    if (options_.maxactive != 0) {
      object.set_maxactive(instrument_.probe, options_.maxactive);
    }
    object.load();
    return object;
  }

  // Nothing when the user has given up.
  std::optional<Link> attach(Object& object, const TargetSet& set) const {
    const auto start = Clock::now();
    std::optional<Link> link = attach_with_progress(object, set);
    if (link && options_.verbose) {
      say("attached {} in {}", counted(set.accepted(), "function"),
          format_duration(since(start)));
    }
    return link;
  }

  std::optional<Link> attach_with_progress(Object& object,
                                           const TargetSet& set) const {
    const Progress progress(
        [&set, this] {
          if (signals_.received() != 0) return std::string("giving up");
          const probekit_stats stats = set.stats();
          return fmt::format("attaching: {} of {} functions", stats.attached,
                             stats.accepted);
        },
        &signals_);
    if (signals_.received() != 0) return std::nullopt;
    try {
      return object.attach(instrument_.probe);
    } catch (const Error& error) {
      if (error.code().value() == EOPNOTSUPP &&
          (instrument_.flags & PROBEKIT_FLAG_OUTCOME) != 0) {
        throw Error("change", "what these functions return", EOPNOTSUPP,
                    "ftrace cannot attach to the entry of one of them",
                    "choose from what probekit list shows");
      }
      if (error.code().value() != EINTR) throw;
      return std::nullopt;
    }
  }

  // The summary is the last record whatever happened.
  static int interrupted(Printer& printer) {
    say("interrupted while attaching; nothing was measured");
    printer.finish({}, {});
    return 1;
  }

  void wait(const Object& object, std::uint32_t targets, Printer& printer) {
    Wait wait;
    wait.duration = options_.duration;
    wait.interval = options_.interval;
    if (workload_) {
      wait.ends.push_back(workload_->fd());
    } else {
      for (const auto& end : filter_.ends()) wait.ends.push_back(end.get());
    }
    wait.on_interval = [&] { printer.interval(read(object, targets)); };
    const End end = wait_for_end(wait, signals_);
    // Measured to the very end: a program may work a lot when it is told to.
    if (workload_) workload_->end(end == End::signal);
  }

  void detach(std::optional<Link>& link) const {
    const auto start = Clock::now();
    {
      const Progress progress([] { return std::string("detaching"); });
      link.reset();
    }
    if (options_.verbose) say("detached in {}", format_duration(since(start)));
  }

  std::vector<Reading> read(const Object& object, std::uint32_t targets) const {
    std::vector<Reading> readings;
    readings.reserve(targets);
    for (std::uint32_t i = 0; i < targets; ++i) {
      readings.push_back(instrument_.read(object, i));
    }
    return readings;
  }

  Summary summary(const TargetSet& set) const {
    Summary summary;
    summary.targets = set.accepted();
    summary.stats = set.stats();
    summary.filtered = filter_.active();
    if (options_.verbose && summary.stats.maxactive != 0) {
      say("at most {} in flight at once, of {} that there is room for",
          counted(summary.stats.peak_active, "call"), summary.stats.maxactive);
    }
    return summary;
  }

  int finish() {
    if (workload_) {
      if (const auto complaint = workload_->complaint()) {
        say("{} {}", printable(options_.program.front()), *complaint);
      }
    }
    output_.close();
    return output_.failed() ? 1 : 0;
  }

  const Options& options_;
  const Instrument& instrument_;
  Wanted wanted_;
  Output output_;
  StopSignals signals_;
  Filter filter_;
  std::optional<Workload> workload_;
};

}  // namespace

Reading read_calls(const Object& object, std::uint32_t target) {
  const auto cpus = object.read_percpu<std::uint64_t>("calls", target);
  return {std::accumulate(cpus.begin(), cpus.end(), std::uint64_t{0}), {}};
}

int measure(const Options& options, const Instrument& instrument) {
  return Measurement(options, instrument).run();
}

}  // namespace probekit::tools
