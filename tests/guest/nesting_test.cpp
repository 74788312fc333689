// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Calls in calls, calls that sleep, calls that move: each is measured for
// itself, once.
#include <linux/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "handlers.hpp"
#include "latency.h"
#include "support.hpp"

namespace probekit::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kDelayUs = 200;
constexpr std::uint64_t kDelayNs = kDelayUs * 1000;

std::uint64_t nanoseconds(Clock::duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

/// What latency.bpf.c has gathered about one target.
struct Latency {
  std::uint64_t calls = 0, total = 0, min = 0, max = 0;
};

Latency latency_of(const Object& object, std::uint32_t target) {
  Latency sum;
  std::uint64_t min_inverted = 0;
  for (const auto& cpu :
       object.read_percpu<latency_stats>("latencies", target)) {
    sum.total += cpu.total_ns;
    sum.max = std::max<std::uint64_t>(sum.max, cpu.max_ns);
    min_inverted = std::max<std::uint64_t>(min_inverted, cpu.min_inverted);
    for (const std::uint64_t slot : cpu.slots) sum.calls += slot;
  }
  sum.min = ~min_inverted;
  return sum;
}

class NestingTest : public EngineTest {
 protected:
  Probe latency_probe(const std::vector<probekit_target>& targets) const {
    Probe probe = make_probe(handlers::latency(), "latency", targets);
    probe.object.set_max_entries("latencies",
                                 static_cast<std::uint32_t>(targets.size()));
    return probe;
  }
};

class RecursionTest : public NestingTest,
                      public testing::WithParamInterface<std::uint64_t> {};

TEST_P(RecursionTest, EachLevelHasItsOwnEntryAndDuration) {
  const std::uint64_t depth = GetParam();
  Probe probe = make_probe(elf::record(), "pairs", {at("target_recurse")});
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_RECURSE, 1, {depth, kDelayUs}),
            static_cast<std::int64_t>(depth));
  probe.detach();

  const auto events = events_of(probe.object);
  ASSERT_EQ(events.size(), 2 * depth);
  std::uint64_t shorter = 0;
  for (std::uint64_t level = 0; level < depth; ++level) {
    const event& entry = events[level];
    const event& exit = events[2 * depth - 1 - level];
    EXPECT_EQ(entry.args[0], depth - level);
    EXPECT_EQ(exit.result, depth - level);
    EXPECT_EQ(exit.entry, entry.number);
    EXPECT_GE(exit.time_ns - entry.time_ns, (depth - level) * kDelayNs);
  }
  for (std::uint64_t level = depth; level-- > 0;) {
    const std::uint64_t ns =
        events[2 * depth - 1 - level].time_ns - events[level].time_ns;
    EXPECT_GE(ns, shorter + kDelayNs) << "level " << level;
    shorter = ns;
  }
}

TEST_P(RecursionTest, LatencyHandlersMeasureEachLevelOnce) {
  const std::uint64_t depth = GetParam();
  Probe probe = latency_probe({at("target_recurse")});
  probe.attach();
  const auto start = Clock::now();
  target_.run(TARGET_RECURSE, 1, {depth, kDelayUs});
  const std::uint64_t elapsed = nanoseconds(Clock::now() - start);
  probe.detach();

  const Latency latency = latency_of(probe.object, 0);
  EXPECT_EQ(latency.calls, depth);
  EXPECT_GE(latency.min, kDelayNs);
  EXPECT_GE(latency.max, depth * kDelayNs);
  EXPECT_LE(latency.max, elapsed);
  EXPECT_GE(latency.total, depth * (depth + 1) / 2 * kDelayNs);
  EXPECT_LE(latency.total, depth * elapsed);
  EXPECT_EQ(probe.stats().entries, depth);
  EXPECT_EQ(probe.stats().exits, depth);
}

INSTANTIATE_TEST_SUITE_P(Depths, RecursionTest,
                         testing::Values(1, 2, 8, 23, 64),
                         testing::PrintToStringParamName());

TEST_F(NestingTest, FunctionsThatCallEachOtherAllCount) {
  constexpr std::uint64_t kTimes = 100;
  Probe probe = latency_probe(
      {at("target_inner"), at("target_outer"), at("target_middle")});
  probe.attach();
  target_.run(TARGET_CHAIN, kTimes, {0});
  probe.detach();

  const Latency inner = latency_of(probe.object, 0);
  const Latency outer = latency_of(probe.object, 1);
  const Latency middle = latency_of(probe.object, 2);
  EXPECT_EQ(inner.calls, kTimes);
  EXPECT_EQ(middle.calls, kTimes);
  EXPECT_EQ(outer.calls, kTimes);
  EXPECT_GT(inner.total, 0u);
  EXPECT_GT(middle.total, inner.total);
  EXPECT_GT(outer.total, middle.total);
}

TEST_F(NestingTest, CallsThatMoveToAnotherCpu) {
  if (Object::possible_cpus() < 2) GTEST_SKIP() << "one CPU only";
  constexpr std::uint64_t kTimes = 25;
  Probe pairs = make_probe(elf::record(), "pairs", {at("target_migrate")});
  Probe latency = latency_probe({at("target_migrate")});
  pairs.attach();
  latency.attach();
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    EXPECT_EQ(target_.run(TARGET_MIGRATE, 1, {0, 1, kDelayUs}), 1);
    EXPECT_EQ(target_.run(TARGET_MIGRATE, 1, {1, 0, kDelayUs}), 0);
  }
  pairs.detach();
  latency.detach();

  const auto events = events_of(pairs.object);
  ASSERT_EQ(events.size(), 4 * kTimes);
  for (std::size_t i = 0; i < events.size(); i += 2) {
    const event& entry = events[i];
    const event& exit = events[i + 1];
    EXPECT_EQ(exit.entry, entry.number);
    EXPECT_EQ(entry.cpu, i / 2 % 2);
    EXPECT_EQ(exit.cpu, 1 - entry.cpu);
    EXPECT_EQ(exit.tid, entry.tid);
    EXPECT_GE(exit.time_ns, entry.time_ns + 2 * kDelayNs);
  }
  const Latency measured = latency_of(latency.object, 0);
  EXPECT_EQ(measured.calls, 2 * kTimes);
  EXPECT_GE(measured.min, 2 * kDelayNs);
  // A negative duration would be a huge one.
  EXPECT_LT(measured.max, nanoseconds(kPatience));
  EXPECT_EQ(pairs.stats().missed_exit, 0u);
  EXPECT_EQ(pairs.stats().in_flight, 0u);
}

TEST_F(NestingTest, FiftyCallsInFlight) {
  // Each CPU counts up to a 16th of maxactive on its own.
  constexpr std::uint32_t kMaxactive = 64;
  Probe probe = make_probe(elf::record(), "pairs", {at("target_block")});
  probe.object.set_maxactive("pairs", kMaxactive);
  probe.attach();
  {
    const BlockedCalls blocked(target_, 50);
    const auto stats = probe.stats();
    EXPECT_EQ(stats.entries, 50u);
    EXPECT_EQ(stats.in_flight, 50u);
    EXPECT_EQ(stats.exits, 0u);
  }
  probe.detach();

  const auto events = events_of(probe.object);
  EXPECT_EQ(entries_of(events).size(), 50u);
  for (const event& exit : exits_of(events))
    EXPECT_EQ(exit.tid, event_number(events, exit.entry).tid);
  const auto stats = probe.stats();
  EXPECT_EQ(stats.exits, 50u);
  EXPECT_EQ(stats.in_flight, 0u);
  EXPECT_EQ(stats.missed_storage, 0u);
  EXPECT_LE(stats.peak_active, 50u);
  EXPECT_GE(stats.peak_active, 50 - Object::possible_cpus() * kMaxactive / 16);
}

TEST_F(NestingTest, FiftyTasksAsleepInNanosleep) {
  constexpr int kTasks = 50;
  Probe probe =
      make_probe(elf::record(), "pairs",
                 {{.address = address_of("do_nanosleep", ""), .cookie = 0}});
  probe.object.set_constant("only_tgid", static_cast<std::uint32_t>(getpid()));
  std::atomic<int> ready = 0;
  std::atomic<bool> start = false;
  timespec until{};
  Threads sleepers(kTasks, [&] {
    ++ready;
    start.wait(false);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  });
  while (ready < kTasks) std::this_thread::yield();
  probe.attach();
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 2;
  start = true;
  start.notify_all();
  sleepers.join();
  probe.detach();

  const auto events = events_of(probe.object);
  EXPECT_EQ(entries_of(events).size(), unsigned{kTasks});
  EXPECT_EQ(exits_of(events).size(), unsigned{kTasks});
  const auto stats = probe.stats();
  EXPECT_EQ(stats.missed_storage, 0u);
  EXPECT_EQ(stats.missed_recursion, 0u);
  expect_balance(stats);
}

}  // namespace
}  // namespace probekit::test
