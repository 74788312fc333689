// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "report.hpp"
#include "table.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

constexpr std::size_t kTopHistograms = 10;
constexpr std::size_t kBarLength = 40;

std::string count_table(std::span<const Row> rows) {
  Table table({"FUNCTION", "CALLS"});
  for (const Row& row : rows) {
    table.add({row.label, fmt::format("{}", row.reading.calls)});
  }
  return table.text();
}

std::string latency_table(std::span<const Row> rows) {
  Table table({"FUNCTION", "CALLS", "TOTAL", "MIN", "MEAN", "MAX", "P50", "P90",
               "P99"});
  for (const Row& row : rows) {
    const Distribution& times = *row.reading.times;
    table.add({row.label, fmt::format("{}", row.reading.calls),
               format_duration(times.total), format_duration(times.min),
               format_duration(times.mean()), format_duration(times.max),
               format_duration(times.percentile(50)),
               format_duration(times.percentile(90)),
               format_duration(times.percentile(99))});
  }
  return table.text();
}

std::string slot_line(const Log2Histogram& histogram, std::size_t slot,
                      std::uint64_t most) {
  const bool open = slot + 1 == Log2Histogram::kSlots;
  return fmt::format("  {:>8} .. {:<8}  {:>10}  |{:<{}}|\n",
                     format_duration(Log2Histogram::low(slot)),
                     open ? "" : format_duration(Log2Histogram::low(slot + 1)),
                     histogram[slot], bar(histogram[slot], most, kBarLength),
                     kBarLength);
}

std::string histogram_text(const Row& row) {
  const Log2Histogram& histogram = row.reading.times->histogram;
  std::size_t first = Log2Histogram::kSlots;
  std::size_t last = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < Log2Histogram::kSlots; ++i) {
    if (histogram[i] == 0) continue;
    first = std::min(first, i);
    last = i;
    most = std::max(most, histogram[i]);
  }
  std::string text = fmt::format("\n{}\n", row.label);
  for (std::size_t i = first; i <= last; ++i) {
    text += slot_line(histogram, i, most);
  }
  return text;
}

std::string histograms(std::span<const Row> rows, HistogramChoice choice) {
  if (choice == HistogramChoice::none) return {};
  const std::size_t shown = choice == HistogramChoice::all
                                ? rows.size()
                                : std::min(rows.size(), kTopHistograms);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += histogram_text(rows[i]);
  }
  if (shown < rows.size()) {
    text += fmt::format("\n{} not shown; --histogram all shows them\n",
                        counted(rows.size() - shown, "more histogram"));
  }
  return text;
}

std::string missed_line(std::uint64_t number, std::string_view noun,
                        std::string_view cause) {
  if (number == 0) return {};
  return fmt::format("{} missed: {}\n", counted(number, noun), cause);
}

}  // namespace

std::string text_rows(std::span<const Row> rows, HistogramChoice histogram) {
  if (rows.empty()) return {};
  if (!rows.front().reading.times) return count_table(rows);
  return latency_table(rows) + histograms(rows, histogram);
}

std::string text_summary(const Summary& summary) {
  std::string text = fmt::format(
      "{} probed, {} called, {}\n", counted(summary.targets, "function"),
      summary.called, counted(summary.calls, "call"));
  const probekit_stats& stats = summary.stats;
  std::string missed;
  missed += missed_line(
      stats.missed_storage, "call",
      fmt::format("more than {} in flight at once; raise --maxactive",
                  stats.maxactive));
  missed += missed_line(
      stats.missed_recursion, "call",
      "a handler was running on that CPU; leave out functions that handlers "
      "or interrupts run (-x)");
  missed += missed_line(
      stats.missed_exit, "return",
      "a handler was running on that CPU; probe fewer functions at once");
  missed += missed_line(stats.missed_swapped, "return",
                        "the handlers were exchanged during the call; do not "
                        "update the probe while it measures");
  if (!missed.empty() && summary.filtered) {
    missed += "(missed calls are of all processes, not only the chosen ones)\n";
  }
  text += missed;
  if (stats.in_flight != 0) {
    text += fmt::format("{} had not returned at the end\n",
                        counted(stats.in_flight, "call"));
  }
  if (stats.cancelled != 0 && !summary.filtered) {
    text += fmt::format("{} not wanted by the handler\n",
                        counted(stats.cancelled, "call"));
  }
  return text;
}

}  // namespace probekit::tools
