// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_KALLSYMS_HPP
#define PROBEKIT_DETAIL_KALLSYMS_HPP

#include <cstdint>
#include <probekit/symbols.hpp>
#include <string_view>
#include <vector>

// The texts of the kernel, taken apart. Nothing here throws on what it reads:
// a line in another format is skipped. Names are views into the text.
namespace probekit::detail {

struct Symbols {
  std::vector<Function> functions;  // sorted by address, stable
  std::vector<Function> others;     // text symbols that are no functions
  std::uint64_t init_begin = 0;     // code that is discarded after boot
  std::uint64_t init_end = 0;
  bool hidden = false;  // there are symbols, and all addresses are zero
};

// /proc/kallsyms: ADDRESS TYPE NAME[\t[MODULE]]
Symbols parse_kallsyms(std::string_view text);

struct Location {
  std::uint64_t address = 0;
  std::string_view name;
};

// available_filter_functions_addrs: ADDRESS NAME[ [MODULE]]; sorted.
std::vector<Location> parse_filter_functions(std::string_view text);

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// kprobes/blacklist: 0xBEGIN-0xEND\tNAME; sorted by begin.
std::vector<Range> parse_blacklist(std::string_view text);

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_KALLSYMS_HPP
