// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "options.hpp"

#include <fmt/format.h>
#include <probekit/uapi.h>

#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/option.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <limits>
#include <probekit/error.hpp>

#include "values.hpp"

namespace probekit::tools {
namespace {

namespace po = boost::program_options;

// Kernel thread ids are positive ints; names of threads end with a zero byte.
constexpr std::uint64_t kMaxPid = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxComm = 15;
constexpr std::uint64_t kMaxId = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void wrong(const CommandSpec& command, std::string object,
                        std::string reason, std::string remedy = {}) {
  if (remedy.empty()) {
    remedy = fmt::format("see probekit {} --help", command.name);
  }
  throw UsageError("use", std::move(object), 0, std::move(reason),
                   std::move(remedy));
}

template <typename Specs>
auto nearest(std::string_view word, const Specs& specs) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& spec : specs) {
    const bool prefix = word.size() >= 2 && spec.name.starts_with(word);
    const std::size_t edits = prefix ? 1 : distance(word, spec.name);
    if (edits < best_distance) {
      best_distance = edits;
      best = spec.name;
    }
  }
  return best;
}

const OptionSpec& spec_of(std::string_view name) {
  const auto specs = option_specs();
  return *std::find_if(specs.begin(), specs.end(), [&](const OptionSpec& spec) {
    return spec.name == name;
  });
}

po::options_description description() {
  po::options_description result;
  for (const OptionSpec& spec : option_specs()) {
    std::string names(spec.name);
    if (spec.letter != 0) names += fmt::format(",{}", spec.letter);
    if (spec.value.empty()) {
      result.add_options()(names.c_str(), "");
    } else {
      result.add_options()(names.c_str(), po::value<std::string>(), "");
    }
  }
  return result;
}

[[noreturn]] void unknown_option(const CommandSpec& command,
                                 const std::string& option) {
  const auto name = option.substr(option.find_first_not_of('-'));
  const auto guess =
      option.starts_with("--") ? nearest(name, option_specs()) : "";
  wrong(command, printable(option), "there is no such option",
        guess.empty() ? "" : fmt::format("did you mean --{}?", guess));
}

// Every option means the same to all commands, so that the table is one; that
// an option does not suit this command is said by check_suits().
std::vector<po::option> split(const CommandSpec& command,
                              const std::vector<std::string>& arguments) {
  namespace style = po::command_line_style;
  const auto known = description();
  try {
    return po::command_line_parser(arguments)
        .options(known)
        .style(style::unix_style & ~style::allow_guessing)
        .run()
        .options;
  } catch (const po::unknown_option& error) {
    unknown_option(command, error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string name = error.get_option_name();
    const bool has_value = error.kind() == po::invalid_syntax::extra_parameter;
    wrong(command, printable(name),
          has_value ? "it takes no value" : "its value is missing");
  } catch (const po::error& error) {
    wrong(command, "these options", error.what());
  }
}

void check_suits(const CommandSpec& command, const OptionSpec& spec) {
  const auto bit = static_cast<unsigned>(command.command);
  if ((spec.commands & bit) != 0) return;
  std::string others;
  for (const CommandSpec& other : commands()) {
    if ((spec.commands & static_cast<unsigned>(other.command)) == 0) continue;
    others += fmt::format("{}{}", others.empty() ? "" : ", ", other.name);
  }
  wrong(command, fmt::format("--{} with {}", spec.name, command.name),
        fmt::format("it means something to {} only", others));
}

HistogramChoice parse_histogram(std::string_view value) {
  if (value == "top") return HistogramChoice::top;
  if (value == "all") return HistogramChoice::all;
  if (value == "none") return HistogramChoice::none;
  throw BadValue("not one of top, all, none");
}

std::string parse_text(const std::string& value) {
  if (value.empty()) throw BadValue("empty");
  return value;
}

std::string parse_comm(const std::string& value) {
  if (value.size() > kMaxComm) {
    throw BadValue(fmt::format(
        "names of threads have at most {} bytes: this one never matches",
        kMaxComm));
  }
  return parse_text(value);
}

std::uint32_t parse_u32(const std::string& value, std::uint64_t high) {
  return static_cast<std::uint32_t>(parse_number(value, 1, high));
}

void apply(Options& options, std::string_view name, const std::string& value) {
  if (name == "exclude") options.excludes.push_back(parse_text(value));
  if (name == "with-arg") options.with_arg = parse_text(value);
  if (name == "kind") options.kind = parse_kind(value);
  if (name == "force") options.force = true;
  if (name == "why") options.why = true;
  if (name == "pid") options.filter.pid = parse_u32(value, kMaxPid);
  if (name == "tid") options.filter.tid = parse_u32(value, kMaxPid);
  if (name == "comm") options.filter.comm = parse_comm(value);
  if (name == "cgroup") options.filter.cgroup = parse_text(value);
  if (name == "all-processes") options.filter.all_processes = true;
  if (name == "min") options.min = parse_duration(value);
  if (name == "maxactive") {
    options.maxactive = parse_u32(value, PROBEKIT_MAX_ACTIVE);
  }
  if (name == "duration") options.duration = parse_seconds(value);
  if (name == "interval") options.interval = parse_seconds(value);
  Injection& injection = options.injection;
  if (name == "return") injection.value = parse_return(value);
  if (name == "every") injection.every = parse_number(value, 1, kMaxId);
  if (name == "times") injection.times = parse_number(value, 1, kMaxId);
  if (name == "probability") injection.probability = parse_probability(value);
  if (name == "enable") options.enable = parse_u32(value, kMaxId);
  if (name == "disable") options.disable = parse_u32(value, kMaxId);
  if (name == "histogram") options.histogram = parse_histogram(value);
  if (name == "json") options.json = true;
  if (name == "output") options.output = parse_text(value);
  if (name == "verbose") options.verbose = true;
  if (name == "help") options.help = true;
}

void apply_all(Options& options, const CommandSpec& command,
               const std::vector<po::option>& parsed) {
  std::vector<std::string_view> seen;
  for (const po::option& option : parsed) {
    const std::string value = option.value.empty() ? "" : option.value.front();
    if (option.string_key.empty()) {
      options.patterns.push_back(value);
      continue;
    }
    const OptionSpec& spec = spec_of(option.string_key);
    check_suits(command, spec);
    const bool again =
        std::find(seen.begin(), seen.end(), spec.name) != seen.end();
    if (again && !spec.repeatable && !spec.value.empty()) {
      wrong(command, fmt::format("--{}", spec.name), "it is given twice");
    }
    seen.push_back(spec.name);
    try {
      apply(options, spec.name, value);
    } catch (const BadValue& bad) {
      wrong(command, fmt::format("--{} '{}'", spec.name, printable(value)),
            bad.what());
    }
  }
}

void check_program(const Options& options, const CommandSpec& command,
                   bool has_program) {
  const FilterOptions& filter = options.filter;
  const bool one = filter.pid != 0 || filter.tid != 0 || !filter.cgroup.empty();
  if (!has_program) {
    if (filter.all_processes && one) {
      wrong(command, "--all-processes", "another option names the processes");
    }
    return;
  }
  if (command.command != Command::count &&
      command.command != Command::latency &&
      command.command != Command::inject) {
    wrong(command, "-- PROGRAM", fmt::format("{} runs none", command.name));
  }
  if (options.program.empty() || options.program.front().empty()) {
    wrong(command, "--", "no PROGRAM follows");
  }
  if (one && !filter.all_processes) {
    wrong(command, "--pid, --tid or --cgroup with a PROGRAM",
          "only PROGRAM and its descendants are measured",
          "add --all-processes to measure others while it runs");
  }
}

void check_injection(const Injection& injection, const CommandSpec& command) {
  if (!injection.value) {
    throw UsageError("tell", "what the functions shall return", 0,
                     "--return is missing",
                     fmt::format("for example: {}", command.example));
  }
  const int limits = (injection.every != 0) + (injection.times != 0) +
                     (injection.probability != 0);
  if (limits > 1) {
    wrong(command, "--every, --times and --probability",
          "they exclude one another");
  }
}

void check_patterns(const Options& options, const CommandSpec& command) {
  if (command.arguments.empty()) {
    if (!options.patterns.empty()) {
      wrong(command, fmt::format("'{}'", printable(options.patterns.front())),
            fmt::format("{} takes no PATTERN", command.name));
    }
  } else if (options.patterns.empty() && options.with_arg.empty()) {
    throw UsageError("tell", "which functions are meant", 0,
                     "no PATTERN is given",
                     fmt::format("for example: {}", command.example));
  }
}

}  // namespace

const CommandSpec& find_command(std::string_view name) {
  const auto all = commands();
  const auto found =
      std::find_if(all.begin(), all.end(),
                   [&](const CommandSpec& spec) { return spec.name == name; });
  if (found != all.end()) return *found;
  const auto guess = nearest(name, all);
  throw UsageError("run", fmt::format("'{}'", printable(name)), 0,
                   name.starts_with('-') ? "the command comes first"
                                         : "there is no such command",
                   guess.empty() ? "see probekit --help"
                                 : fmt::format("did you mean {}?", guess));
}

Options parse_options(const CommandSpec& command,
                      std::span<const std::string> arguments) {
  Options options;
  options.command = command.command;
  // Only a kprobe can skip a function.
  if (command.command == Command::inject) options.kind = PROBEKIT_KIND_KPROBE;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const bool has_program = dashes != arguments.end();
  if (has_program) options.program.assign(dashes + 1, arguments.end());

  apply_all(options, command, split(command, {arguments.begin(), dashes}));
  if (options.help) return options;
  check_patterns(options, command);
  check_program(options, command, has_program);
  if (command.command == Command::latency &&
      options.kind == PROBEKIT_KIND_KPROBE) {
    wrong(command, "--kind kprobe with latency", "a kprobe sees no return",
          "choose fprobe or kretprobe");
  }
  if (command.command == Command::inject) {
    check_injection(options.injection, command);
  }
  return options;
}

}  // namespace probekit::tools
