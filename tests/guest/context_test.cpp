// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Handlers run wherever functions do, and interrupts do not confuse them.
#include "support.hpp"

namespace probekit::test {
namespace {

// The kernel's preempt count, by bits.
constexpr std::uint32_t kPreempt = 0x0000'00ff;
constexpr std::uint32_t kServingSoftirq = 0x0000'0100;
constexpr std::uint32_t kHardirq = 0x000f'0000;
constexpr std::uint32_t kNmi = 0x00f0'0000;

struct Context {
  const char* name;
  target_action action;
  const char* function;
  std::uint32_t set;    ///< bits of the preempt count, one of which is set
  std::uint32_t clear;  ///< bits that are not
};

void PrintTo(const Context& context, std::ostream* out) {
  *out << context.name;
}

class ContextTest : public EngineTest,
                    public testing::WithParamInterface<Context> {};

TEST_P(ContextTest, HandlersRunWithPreemptionOff) {
  constexpr std::uint32_t kTimes = 100;
  const Context& context = GetParam();
  Probe probe = make_probe(elf::record(), "pairs", {at(context.function)});
  probe.attach();
  const auto result = target_.run(context.action, kTimes);
  if (result == -EOPNOTSUPP) GTEST_SKIP() << "not on this architecture";
  EXPECT_EQ(result, 0);
  probe.detach();

  const auto events = events_of(probe.object);
  EXPECT_EQ(events.size(), 2 * kTimes);
  for (const event& e : events) {
    EXPECT_GE(e.preempt_count & kPreempt, 1u);
    if (context.set) {
      EXPECT_NE(e.preempt_count & context.set, 0u);
    }
    EXPECT_EQ(e.preempt_count & context.clear, 0u);
  }
  const auto stats = probe.stats();
  EXPECT_EQ(stats.entries, kTimes);
  EXPECT_EQ(stats.exits, kTimes);
  EXPECT_EQ(stats.in_flight, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Contexts, ContextTest,
    testing::Values(Context{"process", TARGET_LEAF, "target_leaf", 0,
                            kServingSoftirq | kHardirq | kNmi},
                    Context{"softirq", TARGET_SOFTIRQ, "target_in_softirq",
                            kServingSoftirq, kHardirq | kNmi},
                    Context{"hardirq", TARGET_HARDIRQ, "target_in_hardirq",
                            kHardirq, kNmi},
                    Context{"nmi", TARGET_NMI, "target_in_nmi", kNmi, 0}),
    [](const auto& test) { return test.param.name; });

/// The same function called by a task and by a timer's interrupt.
class InterruptTest : public EngineTest {
 protected:
  struct Calls {
    std::uint64_t by_task = 0;
    std::uint64_t by_timer = 0;
  };

  Calls run() const {
    constexpr std::uint64_t kPeriodNs = 100'000, kTicks = 500;
    Calls calls;
    EXPECT_EQ(target_.run(TARGET_TIMER_START, 1, {kPeriodNs}), 0);
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    do {
      target_.run(TARGET_LEAF, 500);
      calls.by_task += 500;
    } while (calls.by_task < 50 * kTicks &&
             std::chrono::steady_clock::now() < limit);
    calls.by_timer = static_cast<std::uint64_t>(target_.run(TARGET_TIMER_STOP));
    EXPECT_GT(calls.by_timer, 0u);
    return calls;
  }
};

TEST_F(InterruptTest, HitsInAnInterruptOfAHandlerAreNotRecursion) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.attach();
  const Calls calls = run();
  probe.detach();

  const auto stats = probe.stats();
  EXPECT_EQ(stats.entries, calls.by_task + calls.by_timer);
  EXPECT_EQ(stats.exits, stats.entries);
  EXPECT_EQ(stats.missed_recursion, 0u);
  EXPECT_EQ(stats.missed_exit, 0u);
  EXPECT_EQ(probe.counted().entries, stats.entries);
  EXPECT_EQ(probe.counted().exits, stats.entries);
  EXPECT_EQ(probe.counted().foreign, 0u);
}

TEST_F(InterruptTest, HitsInAnInterruptOfAnEntryHandlerAreNotRecursion) {
  Probe probe = make_probe(elf::counters(), "entry_only", {at("target_leaf")});
  probe.attach();
  const Calls calls = run();
  probe.detach();
  EXPECT_EQ(probe.stats().entries, calls.by_task + calls.by_timer);
  EXPECT_EQ(probe.stats().handled, probe.stats().entries);
  EXPECT_EQ(probe.counted().entries, probe.stats().entries);
}

}  // namespace
}  // namespace probekit::test
