// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "kallsyms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace probekit::detail {
namespace {

constexpr std::uint8_t no_digit = 0xff;

constexpr std::array<std::uint8_t, 256> hex_digits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(no_digit);
  for (std::uint8_t i = 0; i < 10; ++i) digits['0' + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    digits['a' + i] = digits['A' + i] = static_cast<std::uint8_t>(10 + i);
  }
  return digits;
}();

// Takes the number that `text` begins with. At least one digit, at most what
// fits.
bool take_hex(std::string_view& text, std::uint64_t& number) {
  constexpr std::size_t most_digits = 16;
  std::size_t i = 0;
  number = 0;
  while (i < text.size()) {
    const std::uint8_t digit = hex_digits[static_cast<unsigned char>(text[i])];
    if (digit == no_digit) break;
    number = number << 4 | digit;
    ++i;
  }
  text.remove_prefix(i);
  return i > 0 && i <= most_digits;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

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

// Symbols of code that nobody calls by that name.
bool is_function(std::string_view name, std::string_view module) {
  if (name.starts_with("__")) {
    if (name.starts_with("__pfx_") || name.starts_with("__cfi_")) return false;
  }
  // foo.cold, and foo.cold.3 of older compilers
  const std::size_t dot = name.rfind(".cold");
  if (dot != std::string_view::npos && dot > 0) {
    const std::string_view rest = name.substr(dot + 5);
    if (rest.empty() || rest.front() == '.') return false;
  }
  // What kallsyms appends to the modules: BPF programs, and the trampolines
  // of ftrace and kprobes.
  return module != "bpf" && !module.starts_with("__builtin__");
}

// Names are ASCII without blanks; bytes of anything else are not a symbol.
bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < '\x7f';
  });
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
  // Where the type stands if the address has the digits of a 64-bit kernel.
  constexpr std::size_t type_at = 17;
  Symbols symbols;
  bool any = false;
  symbols.functions.reserve(text.size() / 128);
  while (!text.empty()) {
    std::string_view line = take_line(text);
    // Most lines are data: skip them unread.
    if (line.size() > type_at && line[type_at - 1] == ' ' &&
        !is_text(line[type_at])) {
      continue;
    }
    Function function;
    if (!take_hex(line, function.address) || !take(line, ' ')) continue;
    if (line.size() < 3 || !is_text(line[0]) || line[1] != ' ') continue;
    line.remove_prefix(2);
    function.module = take_module(line, '\t');
    function.name = line;
    if (!is_name(line)) continue;
    any = true;
    if (function.address == 0) continue;
    if (line == "_sinittext") symbols.init_begin = function.address;
    if (line == "_einittext") symbols.init_end = function.address;
    auto& list =
        is_function(line, function.module) ? symbols.functions : symbols.others;
    list.push_back(function);
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
