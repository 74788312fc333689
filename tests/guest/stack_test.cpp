// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Stacks that handlers take: of known calls, through trampolines, from entry
// and exit.
#include <algorithm>
#include <cerrno>

#include "support.hpp"

namespace probekit::test {
namespace {

/// The functions that are looked for have fewer bytes of code than that.
constexpr std::uint64_t kSmall = 64;

// The stack of this process that handlers shall see, and the numbers that keep
// the compiler from jumping to what is to be called.
[[gnu::noinline]] std::int64_t user_inner(const Target& target) {
  const std::int64_t result = target.run(TARGET_CHAIN, 1, {1});
  asm volatile("" ::: "memory");
  return result + 1;
}

[[gnu::noinline]] std::int64_t user_outer(const Target& target) {
  const std::int64_t result = user_inner(target);
  asm volatile("" ::: "memory");
  return result + 1;
}

class StackTest : public EngineTest {
 protected:
  Probe attach(const char* name, std::uint32_t kind,
               const std::vector<probekit_target>& targets) const {
    Probe probe(engine_, elf::stack(), name, targets, kind);
    EXPECT_EQ(probe.targets.accepted(), targets.size());
    probe.attach();
    return probe;
  }

  /// Of the one CPU that the call was on.
  static stacks stacks_of(const Probe& probe, std::uint32_t handler) {
    for (const auto& cpu :
         probe.object.read_percpu<stacks>("stacks", handler)) {
      if (cpu.count) return cpu;
    }
    ADD_FAILURE() << "no stack";
    return {};
  }

  /// Which function of the chain an address is in.
  static std::string function_at(std::uint64_t ip) {
    std::string best = "none of them";
    std::uint64_t distance = kSmall;
    for (const char* name : {"target_inner", "target_middle", "target_outer"}) {
      const std::uint64_t from = ip - address_of(name);
      if (from >= distance) continue;
      distance = from;
      best = name;
    }
    return best;
  }

  static void expect_chain(const stacks& stacks, std::uint64_t first) {
    EXPECT_EQ(stacks.kernel_bytes % 8, 0);
    ASSERT_GE(stacks.kernel_bytes, 6 * 8);
    EXPECT_EQ(stacks.kernel[0], first);
    EXPECT_EQ(function_at(stacks.kernel[1]), "target_middle");
    EXPECT_EQ(function_at(stacks.kernel[2]), "target_outer");
    EXPECT_EQ(stacks.small_bytes, 16);
    EXPECT_EQ(stacks.small[0], stacks.kernel[0]);
    EXPECT_EQ(stacks.small[1], stacks.kernel[1]);
    EXPECT_EQ(stacks.odd_size, -EINVAL);
    EXPECT_EQ(stacks.bad_flags, -EINVAL);
    // On to the system call and its entry.
    const auto syscall = address_of("do_syscall_64", "");
    EXPECT_TRUE(std::any_of(
        std::begin(stacks.kernel), std::end(stacks.kernel),
        [&](std::uint64_t ip) { return ip > syscall && ip < syscall + 1024; }));
  }

  static std::vector<probekit_target> inner() {
    return {at("target_inner", 1)};
  }
  /// With callers that have trampolines in their place on the stack.
  static std::vector<probekit_target> chain() {
    return {at("target_outer"), at("target_middle"), at("target_inner", 1)};
  }
};

TEST_F(StackTest, Fprobe) {
  const Probe probe = attach("by_fprobe", PROBEKIT_KIND_FPROBE, inner());
  target_.run(TARGET_CHAIN, 1, {1});
  expect_chain(stacks_of(probe, STACK_FPROBE_ENTRY),
               address_of("target_inner"));
  expect_chain(stacks_of(probe, STACK_FPROBE_EXIT), address_of("target_inner"));
}

TEST_F(StackTest, FprobeThroughTrampolines) {
  const Probe probe = attach("by_fprobe", PROBEKIT_KIND_FPROBE, chain());
  const Probe kret = attach("by_kretprobe", PROBEKIT_KIND_KRETPROBE, chain());
  target_.run(TARGET_CHAIN, 1, {1});
  for (const std::uint32_t handler : {STACK_FPROBE_ENTRY, STACK_FPROBE_EXIT})
    expect_chain(stacks_of(probe, handler), address_of("target_inner"));
  for (const std::uint32_t handler :
       {STACK_KRETPROBE_ENTRY, STACK_KRETPROBE_EXIT})
    expect_chain(stacks_of(kret, handler), address_of("target_inner"));
}

TEST_F(StackTest, Kretprobe) {
  const Probe probe = attach("by_kretprobe", PROBEKIT_KIND_KRETPROBE, inner());
  target_.run(TARGET_CHAIN, 1, {1});
  for (const std::uint32_t handler :
       {STACK_KRETPROBE_ENTRY, STACK_KRETPROBE_EXIT})
    expect_chain(stacks_of(probe, handler), address_of("target_inner"));
}

TEST_F(StackTest, Kprobe) {
  const std::uint64_t inside = address_of("target_inner") + 9;
  const Probe callers = attach("by_fprobe", PROBEKIT_KIND_FPROBE, chain());
  {
    const Probe probe = attach("by_kprobe", PROBEKIT_KIND_KPROBE, inner());
    target_.run(TARGET_CHAIN, 1, {1});
    expect_chain(stacks_of(probe, STACK_KPROBE), address_of("target_inner"));
  }
  const Probe probe = attach("by_kprobe", PROBEKIT_KIND_KPROBE,
                             {{.address = inside, .cookie = 1}});
  target_.run(TARGET_CHAIN, 1, {1});
  expect_chain(stacks_of(probe, STACK_KPROBE), inside);
}

TEST_F(StackTest, UserSpace) {
  const Probe probe = attach("by_fprobe", PROBEKIT_KIND_FPROBE, inner());
  EXPECT_EQ(user_outer(target_), 114);
  const stacks seen = stacks_of(probe, STACK_FPROBE_EXIT);
  ASSERT_GT(seen.user_bytes, 3 * 8);
  const auto is_in = [&](std::uint64_t ip, auto* function) {
    const auto begin = reinterpret_cast<std::uintptr_t>(function);
    return ip > begin && ip < begin + 2 * kSmall;
  };
  const auto end = std::begin(seen.user) + seen.user_bytes / 8;
  const auto found =
      std::find_if(std::begin(seen.user), end,
                   [&](std::uint64_t ip) { return is_in(ip, user_inner); });
  ASSERT_LT(found + 1, end);
  EXPECT_TRUE(is_in(found[1], user_outer));
}

TEST_F(StackTest, InAnInterrupt) {
  const Probe probe =
      attach("by_fprobe", PROBEKIT_KIND_FPROBE, {at("target_in_hardirq", 1)});
  target_.run(TARGET_HARDIRQ, 1);
  const stacks seen = stacks_of(probe, STACK_FPROBE_ENTRY);
  EXPECT_EQ(seen.kernel[0], address_of("target_in_hardirq"));
  EXPECT_GT(seen.kernel_bytes, 3 * 8);
}

}  // namespace
}  // namespace probekit::test
