// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace probekit::tools {
namespace {

std::string option_names(const OptionSpec& spec) {
  std::string names =
      spec.letter != 0 ? fmt::format("-{}, ", spec.letter) : "    ";
  names += fmt::format("--{}", spec.name);
  if (!spec.value.empty()) names += fmt::format(" {}", spec.value);
  return names;
}

std::string capitalised(std::string_view text) {
  std::string result(text);
  result[0] =
      static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return result;
}

}  // namespace

std::string general_help() {
  std::string text =
      "usage: probekit COMMAND [OPTIONS] PATTERN... [-- PROGRAM ARGS...]\n"
      "Traces functions of the running kernel.\n\n";
  for (const CommandSpec& command : commands()) {
    text += fmt::format("  {:<9}{}\n", command.name, command.summary);
  }
  text +=
      "\nA PATTERN selects functions:\n"
      "  vfs_read, vfs_*   by name, * ? and [...] as in a shell\n"
      "  MODULE:GLOB       of a module; vmlinux is the kernel itself\n"
      "  re:REGEX          by an extended regular expression\n"
      "  0xADDRESS         by address\n"
      "  @FILE             by the patterns in FILE, one a line\n\n"
      "With a PROGRAM the run lasts as long as it does, and only it and its\n"
      "descendants are measured. Exit status: 0 done, 1 failed, 2 wrong "
      "usage,\n"
      "3 this machine cannot. 'probekit COMMAND --help' shows the options.\n\n";
  text += fmt::format("example: {}\n", find_command("count").example);
  return text;
}

std::string command_help(const CommandSpec& command) {
  std::string text =
      fmt::format("usage: probekit {} [OPTIONS]{}{}\n{}.\n\n", command.name,
                  command.arguments.empty() ? "" : " ", command.arguments,
                  capitalised(command.summary));
  const auto bit = static_cast<unsigned>(command.command);
  for (const OptionSpec& spec : option_specs()) {
    if ((spec.commands & bit) == 0) continue;
    text += fmt::format("  {:<24} {}\n", option_names(spec), spec.help);
  }
  text += fmt::format("\nexample: {}\n", command.example);
  return text;
}

}  // namespace probekit::tools
