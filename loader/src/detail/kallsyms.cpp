// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "kallsyms.hpp"

#include <algorithm>
#include <cstddef>

#include "scan.hpp"

namespace probekit::detail {
namespace {

// The module of "NAME\t[MODULE]" or "NAME [MODULE]", cut off from `name`.
std::string_view take_module(std::string_view& name, char separator) {
  if (!name.ends_with(']')) return {};
  const std::size_t at = name.rfind(separator);
  if (at == std::string_view::npos || at + 3 >= name.size() ||
      name[at + 1] != '[') {
    return {};
  }
  const std::string_view module = name.substr(at + 2, name.size() - at - 3);
  name = name.substr(0, at);
  return module;
}

bool is_text(char type) {
  return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

// Padding before functions. Half of all text symbols are that.
bool is_padding(std::string_view name) {
  return name.starts_with("__pfx_") || name.starts_with("__cfi_");
}

// foo.cold, and foo.cold.3 of older compilers.
bool is_cold_part(std::string_view name) {
  if (name.ends_with(".cold")) return true;
  const bool numbered = name.back() >= '0' && name.back() <= '9';
  return numbered && name.find(".cold.") != std::string_view::npos;
}

// What kallsyms lists after the modules: BPF programs, and the trampolines of
// ftrace and kprobes.
bool is_generated(std::string_view module) {
  return module == "bpf" || module.starts_with("__builtin__");
}

// The kernel's own symbols come sorted, those of its modules do not: sorting
// the tail alone is many times cheaper.
template <typename T>
void sort_by_address(std::vector<T>& symbols) {
  const auto less = [](const T& a, const T& b) {
    return a.address < b.address;
  };
  const auto tail = std::is_sorted_until(symbols.begin(), symbols.end(), less);
  std::stable_sort(tail, symbols.end(), less);
  std::inplace_merge(symbols.begin(), tail, symbols.end(), less);
}

}  // namespace

Symbols parse_kallsyms(std::string_view text) {
  // Where the type and the name stand if the address has the digits of a
  // 64-bit kernel.
  constexpr std::size_t type_at = 17;
  constexpr std::size_t name_at = 19;
  Symbols symbols;
  bool any = false;
  symbols.functions.reserve(text.size() / 128);
  while (!text.empty()) {
    std::string_view line = take_line(text);
    // Most lines are data and padding: skip them unread.
    if (line.size() > name_at && line[type_at - 1] == ' ' &&
        (!is_text(line[type_at]) || is_padding(line.substr(name_at)))) {
      continue;
    }
    Function function;
    if (!take_hex(line, function.address) || !take(line, ' ')) continue;
    if (line.size() < 3 || !is_text(line[0]) || line[1] != ' ') continue;
    line.remove_prefix(2);
    function.module = take_module(line, '\t');
    function.name = line;
    if (!is_name(line) || is_padding(line)) continue;
    any = true;
    if (function.address == 0) continue;
    if (line == "_sinittext") symbols.init_begin = function.address;
    if (line == "_einittext") symbols.init_end = function.address;
    const bool other = is_cold_part(line) || is_generated(function.module);
    (other ? symbols.others : symbols.functions).push_back(function);
  }
  symbols.hidden = any && symbols.functions.empty() && symbols.others.empty();
  sort_by_address(symbols.functions);
  sort_by_address(symbols.others);
  return symbols;
}

std::vector<Location> parse_filter_functions(std::string_view text) {
  std::vector<Location> locations;
  locations.reserve(text.size() / 40);
  while (!text.empty()) {
    std::string_view line = take_line(text);
    Location location;
    if (!take_hex(line, location.address) || !take(line, ' ')) continue;
    take_module(line, ' ');
    // A weak function that another one replaced: its code is dead.
    if (line.starts_with("__ftrace_invalid_address__")) continue;
    if (location.address == 0 || !is_name(line)) continue;
    location.name = line;
    locations.push_back(location);
  }
  sort_by_address(locations);
  return locations;
}

std::vector<Range> parse_blacklist(std::string_view text) {
  std::vector<Range> ranges;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    Range range;
    if (!take(line, '0') || !take(line, 'x') || !take_hex(line, range.begin) ||
        !take(line, '-') || !take(line, '0') || !take(line, 'x') ||
        !take_hex(line, range.end)) {
      continue;
    }
    if (range.begin < range.end) ranges.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  return ranges;
}

}  // namespace probekit::detail
