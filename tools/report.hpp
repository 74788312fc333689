// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Results of a measurement, as text for people and as JSON Lines. Pure: no
// clock, no machine, no output.
#ifndef PROBEKIT_TOOLS_REPORT_HPP
#define PROBEKIT_TOOLS_REPORT_HPP

#include <probekit/uapi.h>

#include <cstdint>
#include <optional>
#include <probekit/histogram.hpp>
#include <span>
#include <string>
#include <vector>

#include "options.hpp"

namespace probekit::tools {

/// What was measured of a function.
struct Reading {
  std::uint64_t calls = 0;
  std::optional<Distribution> times;  ///< durations in nanoseconds

  /// What has come on top of an earlier reading.
  Reading since(const Reading& earlier) const;
};

/// A function and what was measured of it.
struct Row {
  std::string label;  ///< what it is called in text for people
  std::string name;
  std::string module;  ///< empty for the kernel itself
  std::uint64_t address = 0;
  Reading reading;
};

/// The whole run.
struct Summary {
  std::uint64_t targets = 0;  ///< functions that were probed
  std::uint64_t called = 0;   ///< those that were called
  std::uint64_t calls = 0;
  probekit_stats stats{};
  bool filtered = false;  ///< only calls of some processes are wanted
};

/// Sorts what was called most, or took most time, to the front.
void sort_rows(std::vector<Row>& rows);

/// A table, and histograms of the functions that are chosen; empty for no
/// rows. The rows are sorted.
std::string text_rows(std::span<const Row> rows, HistogramChoice histogram);
/// A line, and one more for everything that is missing in the figures.
std::string text_summary(const Summary& summary);

/// A record per row. `interval` counts from one, nothing: the whole run.
std::string json_rows(std::span<const Row> rows,
                      std::optional<std::uint64_t> interval);
std::string json_summary(const Summary& summary);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_REPORT_HPP
