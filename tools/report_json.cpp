// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "json.hpp"
#include "report.hpp"

namespace probekit::tools {
namespace {

// The last slot has no end of its own: the longest call gives it one.
std::uint64_t end_of(std::size_t slot, std::uint64_t max) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  const auto last =
      slot + 1 < Log2Histogram::kSlots ? Log2Histogram::last(slot) : max;
  return last < kMax ? last + 1 : kMax;
}

Json json_histogram(const Distribution& times) {
  Json slots = Json::array();
  for (std::size_t i = 0; i < Log2Histogram::kSlots; ++i) {
    if (times.histogram[i] == 0) continue;
    slots.push_back({{"low_ns", Log2Histogram::low(i)},
                     {"high_ns", end_of(i, times.max)},
                     {"count", times.histogram[i]}});
  }
  return slots;
}

void add_times(Json& record, const Distribution& times) {
  record["total_ns"] = times.total;
  record["min_ns"] = times.min;
  record["mean_ns"] = times.mean();
  record["max_ns"] = times.max;
  record["p50_ns"] = times.percentile(50);
  record["p90_ns"] = times.percentile(90);
  record["p99_ns"] = times.percentile(99);
  record["histogram"] = json_histogram(times);
}

}  // namespace

std::string json_line(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json json_function(std::string_view name, std::string_view module,
                   std::uint64_t address) {
  Json record{{"type", "function"}, {"function", name}};
  record["module"] = module.empty() ? Json(nullptr) : Json(module);
  record["address"] = fmt::format("{:#x}", address);
  return record;
}

Json json_missed(const probekit_stats& stats) {
  return {{"recursion", stats.missed_recursion},
          {"storage", stats.missed_storage},
          {"swapped", stats.missed_swapped},
          {"exit", stats.missed_exit}};
}

std::string json_rows(std::span<const Row> rows,
                      std::optional<std::uint64_t> interval) {
  std::string text;
  for (const Row& row : rows) {
    Json record = json_function(row.name, row.module, row.address);
    if (interval) record["interval"] = *interval;
    record["calls"] = row.reading.calls;
    if (row.reading.times) add_times(record, *row.reading.times);
    text += json_line(record);
  }
  return text;
}

std::string json_summary(const Summary& summary) {
  const probekit_stats& stats = summary.stats;
  return json_line({{"type", "summary"},
                    {"targets", summary.targets},
                    {"calls", summary.calls},
                    {"missed", json_missed(stats)},
                    {"lost", 0},
                    {"entries", stats.entries},
                    {"handled", stats.handled},
                    {"exits", stats.exits},
                    {"in_flight", stats.in_flight},
                    {"cancelled", stats.cancelled}});
}

}  // namespace probekit::tools
