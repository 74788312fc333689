// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Numbers, durations and names, between text and program.
#ifndef PROBEKIT_TOOLS_VALUES_HPP
#define PROBEKIT_TOOLS_VALUES_HPP

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace probekit::tools {

/// A value on the command line that cannot be used: what is wrong with it.
class BadValue : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A whole number between two others, in decimal digits and nothing else.
std::uint64_t parse_number(std::string_view text, std::uint64_t low,
                           std::uint64_t high);

/// A number with a unit: 250ns, 10us, 1.5ms, 2s.
std::chrono::nanoseconds parse_duration(std::string_view text);

/// A number of seconds, more than zero: 5, 0.25.
std::chrono::nanoseconds parse_seconds(std::string_view text);

/// PROBEKIT_KIND_* by its name, and the other way round.
std::uint32_t parse_kind(std::string_view text);
std::string_view kind_name(std::uint32_t kind);

/// What a function may return: -ENOMEM, a decimal number, or a hexadecimal one.
std::uint64_t parse_return(std::string_view text);

/// More than zero and at most one: 0.01, 1%.
double parse_probability(std::string_view text);

/// Three significant digits and the unit that suits: 250 ns, 1.50 ms.
std::string format_duration(std::uint64_t ns);

/// "1 call", "2 calls".
std::string counted(std::uint64_t number, std::string_view noun);

/// The text with everything spelled out (\x1b) that could confuse a terminal
/// or a reader: control characters and what is not UTF-8.
std::string printable(std::string_view text);

/// Characters as a terminal counts them: code points of printable text.
std::size_t width(std::string_view text);

/// Edits that turn one word into another.
std::size_t distance(std::string_view a, std::string_view b);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_VALUES_HPP
