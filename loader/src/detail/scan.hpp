// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_SCAN_HPP
#define PROBEKIT_DETAIL_SCAN_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

// Scanning of the kernel's large texts, eight characters at a time: they have
// hundreds of thousands of lines, and a user waits.
namespace probekit::detail {

constexpr std::uint64_t in_every_byte(std::uint64_t byte) {
  return byte * 0x0101010101010101;
}

inline std::uint64_t load8(const char* text) {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof(word));
  return word;
}

// Takes the first line, without its end, off `text`.
inline std::string_view take_line(std::string_view& text) {
  const void* end = std::memchr(text.data(), '\n', text.size());
  if (end == nullptr) return std::exchange(text, {});
  const auto length =
      static_cast<std::size_t>(static_cast<const char*>(end) - text.data());
  const std::string_view line(text.data(), length);
  text = {text.data() + length + 1, text.size() - length - 1};
  return line;
}

inline bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// Eight hexadecimal digits, as the kernel writes them: in lower case.
inline bool parse_hex8(const char* text, std::uint64_t& number) {
  const std::uint64_t word = load8(text);
  // Nine more for letters, which have bit 6.
  std::uint64_t digits =
      (word & in_every_byte(0x0f)) + 9 * (word >> 6 & in_every_byte(1));
  const std::uint64_t letters =
      (digits + in_every_byte(6)) >> 4 & in_every_byte(1);
  if ((digits & in_every_byte(0xf0)) != 0 ||
      digits + in_every_byte('0') + letters * ('a' - 10 - '0') != word) {
    return false;
  }
  digits = (digits << 4 | digits >> 8) & 0x00ff00ff00ff00ff;
  digits = (digits << 8 | digits >> 16) & 0x0000ffff0000ffff;
  number = (digits << 16 | digits >> 32) & 0xffffffff;
  return true;
}

inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Takes the number that `text` begins with: one to sixteen digits.
inline bool take_hex(std::string_view& text, std::uint64_t& number) {
  constexpr std::size_t most_digits = 16;
  std::size_t i = 0;
  number = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t low = 0;
    if (text.size() > most_digits && parse_hex8(text.data(), number) &&
        parse_hex8(text.data() + 8, low)) {
      number = number << 32 | low;
      i = most_digits;
    } else {
      number = 0;
    }
  }
  while (i < text.size() && hex_digit(text[i]) >= 0) {
    number = number << 4 | static_cast<std::uint64_t>(hex_digit(text[i]));
    ++i;
  }
  text.remove_prefix(i);
  return i > 0 && i <= most_digits;
}

// Names are ASCII without blanks; bytes of anything else are not a symbol.
inline bool is_name(std::string_view name) {
  const auto odd = [](std::uint64_t word) {
    const std::uint64_t low = (word - in_every_byte('!')) & ~word;
    const std::uint64_t high = (word + in_every_byte(0x7f - '~')) | word;
    return ((low | high) & in_every_byte(0x80)) != 0;
  };
  std::size_t i = 0;
  for (; i + 8 <= name.size(); i += 8) {
    if (odd(load8(name.data() + i))) return false;
  }
  for (; i < name.size(); ++i) {
    if (name[i] < '!' || name[i] > '~') return false;
  }
  return !name.empty();
}

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_SCAN_HPP
