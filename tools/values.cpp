// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "values.hpp"

#include <fmt/format.h>
#include <probekit/uapi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

namespace probekit::tools {
namespace {

constexpr std::array<std::pair<std::uint32_t, std::string_view>, 3> kKinds{
    {{PROBEKIT_KIND_FPROBE, "fprobe"},
     {PROBEKIT_KIND_KPROBE, "kprobe"},
     {PROBEKIT_KIND_KRETPROBE, "kretprobe"}}};

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr auto kLongest =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::uint64_t parse_digits(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) throw BadValue("too large");
  if (error != std::errc() || end != text.data() + text.size()) {
    throw BadValue("not a number");
  }
  return value;
}

// "12.5" in units of `unit` ns. Exact: what is beyond a nanosecond is dropped.
std::uint64_t parse_decimal(std::string_view text, std::uint64_t unit) {
  const auto point = text.find('.');
  const auto whole = text.substr(0, point);
  auto fraction = point == text.npos ? "" : text.substr(point + 1);
  if (whole.empty() || (point != text.npos && fraction.empty()) ||
      !std::all_of(fraction.begin(), fraction.end(), is_digit)) {
    throw BadValue("not a number");
  }

  const std::uint64_t units = parse_digits(whole);
  if (units > kLongest / unit) throw BadValue("too large");
  std::uint64_t ns = units * unit;
  for (std::uint64_t part = unit / 10; part > 0 && !fraction.empty();
       part /= 10) {
    ns += static_cast<std::uint64_t>(fraction.front() - '0') * part;
    fraction.remove_prefix(1);
  }
  if (ns > kLongest) throw BadValue("too large");
  return ns;
}

std::chrono::nanoseconds nanoseconds(std::uint64_t ns) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
}

// Length of the UTF-8 sequence of a printable character at the front of
// `text`, zero when there is none.
std::size_t printable_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0   ? 4
                             : first >= 0xe0 ? 3
                             : first >= 0xc2 ? 2
                                             : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool overlong = code < kSmallest[length];
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  const bool control = code < 0xa0;
  // Characters that change the direction of what follows.
  const bool bidi =
      (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return overlong || surrogate || control || bidi || code > 0x10ffff ? 0
                                                                     : length;
}

}  // namespace

std::uint64_t parse_number(std::string_view text, std::uint64_t low,
                           std::uint64_t high) {
  const std::uint64_t value = parse_digits(text);
  if (value < low || value > high) {
    throw BadValue(fmt::format("not between {} and {}", low, high));
  }
  return value;
}

std::uint32_t parse_kind(std::string_view text) {
  for (const auto& [kind, name] : kKinds) {
    if (text == name) return kind;
  }
  throw BadValue("not one of fprobe, kprobe, kretprobe");
}

std::string_view kind_name(std::uint32_t kind) {
  for (const auto& [known, name] : kKinds) {
    if (kind == known) return name;
  }
  return "unknown";
}

std::uint64_t parse_return(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view rest = text.substr(negative ? 1 : 0);
  std::uint64_t value = 0;
  if (rest.starts_with('E')) {
    constexpr int kMaxErrno = 4095;
    for (int number = 1; number <= kMaxErrno && value == 0; ++number) {
      const char* name = strerrorname_np(number);
      if (name && rest == name) value = static_cast<std::uint64_t>(number);
    }
    if (value == 0) throw BadValue("there is no such error");
  } else {
    const bool hex = rest.starts_with("0x");
    const std::string_view digits = rest.substr(hex ? 2 : 0);
    const auto [end, error] = std::from_chars(
        digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      throw BadValue("neither an error such as -ENOMEM nor a 64-bit number");
    }
  }
  return negative ? -value : value;
}

double parse_probability(std::string_view text) {
  const bool percent = text.ends_with('%');
  const std::string_view digits =
      text.substr(0, text.size() - (percent ? 1 : 0));
  double value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw BadValue("not a number such as 0.01 or 1%");
  }
  if (percent) value /= 100;
  if (!(value > 0 && value <= 1)) {
    throw BadValue("not more than 0 and at most 1 (100%)");
  }
  return value;
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
  const auto unit_at = text.find_first_not_of("0123456789.");
  if (text.empty() || unit_at == 0) throw BadValue("not a number");
  if (unit_at == text.npos)
    throw BadValue("the unit is missing: ns, us, ms or s");
  const auto unit = text.substr(unit_at);
  const auto number = text.substr(0, unit_at);
  if (unit == "ns") return nanoseconds(parse_decimal(number, 1));
  if (unit == "us")
    return nanoseconds(parse_decimal(number, kSecond / 1000000));
  if (unit == "ms") return nanoseconds(parse_decimal(number, kSecond / 1000));
  if (unit == "s") return nanoseconds(parse_decimal(number, kSecond));
  throw BadValue(fmt::format("'{}' is none of the units ns, us, ms and s",
                             printable(unit)));
}

std::chrono::nanoseconds parse_seconds(std::string_view text) {
  const std::uint64_t ns = parse_decimal(text, kSecond);
  if (ns == 0) throw BadValue("not more than zero");
  return nanoseconds(ns);
}

std::string format_duration(std::uint64_t ns) {
  if (ns < 1000) return fmt::format("{} ns", ns);
  constexpr std::array kUnits{"us", "ms", "s"};
  double value = static_cast<double>(ns) / 1000;
  std::size_t unit = 0;
  // 999.6 would be printed as 1000: that belongs to the next unit.
  while (unit + 1 < kUnits.size() && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (const auto length = printable_sequence(text)) {
      result += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      result +=
          fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
  }
  return result;
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, change});
    }
  }
  return row.back();
}

}  // namespace probekit::tools
