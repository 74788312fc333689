// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// A probe of each kind, for tests that hold for all of them.
#ifndef TESTS_GUEST_EVERY_KIND_HPP
#define TESTS_GUEST_EVERY_KIND_HPP

#include <ostream>

#include "support.hpp"

namespace probekit::test {

struct Kind {
  const char* name;
  std::uint32_t kind;
  std::span<const std::byte> (*elf)();
  const char* probe;
  bool exits;
};

inline const std::vector<Kind> kKinds{
    {"fprobe", PROBEKIT_KIND_FPROBE, elf::counters, "both", true},
    {"kprobe", PROBEKIT_KIND_KPROBE, elf::kinds, "pre", false},
    {"kretprobe", PROBEKIT_KIND_KRETPROBE, elf::kinds, "kret", true},
};

inline void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

}  // namespace probekit::test

#endif  // TESTS_GUEST_EVERY_KIND_HPP
