// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The command line: what it can hold, and what it said.
#ifndef PROBEKIT_TOOLS_OPTIONS_HPP
#define PROBEKIT_TOOLS_OPTIONS_HPP

#include <probekit/uapi.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace probekit::tools {

enum class Command : unsigned {
  check = 1,
  list = 2,
  count = 4,
  latency = 8,
  status = 16,
  inject = 32
};

/// What a command is called and good for.
struct CommandSpec {
  Command command;
  std::string_view name;
  std::string_view arguments;  ///< after the options, as in a usage line
  std::string_view summary;
  std::string_view example;
};

/// An option, and the commands that it means something to.
struct OptionSpec {
  std::string_view name;
  char letter;             ///< zero: none
  std::string_view value;  ///< what its value is called, empty: a flag
  unsigned commands;       ///< Command values, or-ed
  bool repeatable;
  std::string_view help;
};

std::span<const CommandSpec> commands();
std::span<const OptionSpec> option_specs();

/// Which calls count.
struct FilterOptions {
  std::uint32_t pid = 0;  ///< zero: any
  std::uint32_t tid = 0;  ///< zero: any
  std::string comm;       ///< empty: any
  std::string cgroup;     ///< a directory, empty: any
  bool all_processes = false;

  bool operator==(const FilterOptions&) const = default;
};

/// What calls return, and which of them; the rest run as ever.
struct Injection {
  std::optional<std::uint64_t> value;
  std::uint64_t every = 0;  ///< each so many-th call, zero: no such limit
  std::uint64_t times = 0;  ///< the first so many, zero: no such limit
  double probability = 0;   ///< at most 1, zero: no such limit

  bool operator==(const Injection&) const = default;
};

/// Of which functions a histogram is printed.
enum class HistogramChoice { top, all, none };

/// What the command line said; sound as far as that can be told without
/// looking at the machine.
struct Options {
  Command command{};
  bool help = false;

  std::vector<std::string> patterns;
  std::vector<std::string> excludes;
  std::string with_arg;  ///< empty: any arguments
  std::uint32_t kind = PROBEKIT_KIND_FPROBE;
  bool force = false;
  bool why = false;

  FilterOptions filter;
  std::chrono::nanoseconds min{};
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<std::chrono::nanoseconds> interval;
  std::uint32_t maxactive = 0;  ///< zero: the engine's default

  Injection injection;
  std::uint32_t enable = 0;   ///< a probe's id, zero: none
  std::uint32_t disable = 0;  ///< the same

  HistogramChoice histogram = HistogramChoice::top;
  bool json = false;
  std::string output;  ///< a file, empty: standard output
  bool verbose = false;

  std::vector<std::string> program;  ///< empty: none
};

/// Reads the arguments that follow the command's name. Throws UsageError.
Options parse_options(const CommandSpec& command,
                      std::span<const std::string> arguments);

/// The command of that name. Throws UsageError.
const CommandSpec& find_command(std::string_view name);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_OPTIONS_HPP
