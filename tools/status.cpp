// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <fmt/format.h>

#include <probekit/engine.hpp>
#include <string_view>

#include "commands.hpp"
#include "json.hpp"
#include "output.hpp"
#include "table.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

using Probes = std::vector<probekit_probe_info>;

// The engine ends the name with a zero byte.
std::string owner_name(const probekit_probe_info& probe) {
  return printable(static_cast<const char*>(probe.owner_name));
}

bool disabled(const probekit_stats& stats) {
  return (stats.flags & PROBEKIT_FLAG_DISABLED) != 0;
}

std::uint64_t missed(const probekit_stats& stats) {
  return stats.missed_recursion + stats.missed_storage + stats.missed_swapped +
         stats.missed_exit;
}

// What is worth a word: most probes have nothing of it.
std::string state_of(const probekit_stats& stats) {
  std::string words;
  const auto add = [&words](std::uint64_t number, std::string_view what) {
    if (number == 0) return;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", number, what);
  };
  if (disabled(stats)) words = "disabled";
  add(stats.disabled, "disabled");
  add(stats.gone, "gone");
  add(stats.optimised, "optimised");
  add(stats.ftrace_based, "by ftrace");
  add(stats.missed_recursion, "missed: recursion");
  add(stats.missed_storage, "missed: storage");
  add(stats.missed_swapped, "missed: swapped");
  add(stats.missed_exit, "missed: exit");
  return words;
}

std::string text_of(const Probes& probes) {
  if (probes.empty()) return "no live probes\n";
  Table table({"ID", "KIND", "OWNER", "AGE", "TARGETS", "HITS", "IN FLIGHT",
               "PEAK", "MISSED"});
  std::string states;
  for (const probekit_probe_info& probe : probes) {
    const probekit_stats& stats = probe.stats;
    table.add({std::to_string(stats.probe), std::string(kind_name(probe.kind)),
               fmt::format("{} [{}]", owner_name(probe), probe.owner),
               format_duration(probe.age_ns), std::to_string(stats.attached),
               std::to_string(stats.entries), std::to_string(stats.in_flight),
               std::to_string(stats.peak_active),
               std::to_string(missed(stats))});
    if (const auto state = state_of(stats); !state.empty()) {
      states += fmt::format("{}: {}\n", stats.probe, state);
    }
  }
  return table.text() + states;
}

std::string json_of(const probekit_probe_info& probe) {
  const probekit_stats& stats = probe.stats;
  return json_line({{"type", "probe"},
                    {"probe", stats.probe},
                    {"kind", kind_name(probe.kind)},
                    {"owner", probe.owner},
                    {"owner_name", owner_name(probe)},
                    {"age_ns", probe.age_ns},
                    {"disabled", disabled(stats)},
                    {"targets", stats.attached},
                    {"targets_disabled", stats.disabled},
                    {"targets_gone", stats.gone},
                    {"targets_optimised", stats.optimised},
                    {"targets_ftrace", stats.ftrace_based},
                    {"entry_data_size", probe.entry_data_size},
                    {"entries", stats.entries},
                    {"handled", stats.handled},
                    {"exits", stats.exits},
                    {"cancelled", stats.cancelled},
                    {"in_flight", stats.in_flight},
                    {"maxactive", stats.maxactive},
                    {"peak_active", stats.peak_active},
                    {"missed", json_missed(stats)}});
}

std::string json_of(const Probes& probes) {
  std::string text;
  probekit_stats sum{};
  for (const probekit_probe_info& probe : probes) {
    text += json_of(probe);
    sum.attached += probe.stats.attached;
    sum.entries += probe.stats.entries;
    sum.missed_recursion += probe.stats.missed_recursion;
    sum.missed_storage += probe.stats.missed_storage;
    sum.missed_swapped += probe.stats.missed_swapped;
    sum.missed_exit += probe.stats.missed_exit;
  }
  return text + json_line({{"type", "summary"},
                           {"probes", probes.size()},
                           {"targets", sum.attached},
                           {"calls", sum.entries},
                           {"missed", json_missed(sum)},
                           {"lost", 0}});
}

}  // namespace

int run_status(const Options& options) {
  Output output(options.output);
  Probes probes;
  // Asking what is there must not load anything.
  const bool change = options.enable != 0 || options.disable != 0;
  if (Engine::loaded() || change) {
    const Engine engine = Engine::open();
    if (options.disable != 0) engine.enable(options.disable, false);
    if (options.enable != 0) engine.enable(options.enable, true);
    probes = engine.probes();
  }
  output.write(options.json ? json_of(probes) : text_of(probes));
  output.close();
  return output.failed() ? kFailed : kDone;
}

}  // namespace probekit::tools
