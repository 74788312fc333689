// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// No call is lost without a counter that says why.
#include <unistd.h>

#include "support.hpp"

namespace probekit::test {
namespace {

class AccountingTest : public EngineTest {
 protected:
  static void expect_nothing_missed(const probekit_stats& stats) {
    EXPECT_EQ(stats.missed_recursion, 0u);
    EXPECT_EQ(stats.missed_storage, 0u);
    EXPECT_EQ(stats.missed_swapped, 0u);
    EXPECT_EQ(stats.missed_exit, 0u);
  }

  /// Calls the leaf until one is not refused for want of storage: what dead
  /// tasks held comes back some time after their death.
  bool storage_comes_back(const Probe& probe) const {
    return eventually([&] {
      const auto before = probe.stats().missed_storage;
      target_.run(TARGET_LEAF);
      return probe.stats().missed_storage == before;
    });
  }
};

TEST_F(AccountingTest, Normal) {
  Probe probe = make_probe(elf::counters(), "both",
                           {at("target_leaf"), at("target_sum")});
  probe.attach();
  target_.run(TARGET_LEAF, 1000);
  target_.run(TARGET_SUM, 500);
  probe.detach();
  const auto stats = probe.stats();
  EXPECT_EQ(stats.entries, 1500u);
  EXPECT_EQ(stats.handled, 1500u);
  EXPECT_EQ(stats.exits, 1500u);
  EXPECT_EQ(stats.cancelled, 0u);
  EXPECT_EQ(stats.in_flight, 0u);
  expect_nothing_missed(stats);
  EXPECT_EQ(probe.counted(0).entries, 1000u);
  EXPECT_EQ(probe.counted(1).exits, 500u);
}

TEST_F(AccountingTest, ManyThreads) {
  constexpr std::uint64_t kThreads = 8, kTimes = 2000;
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.attach();
  Threads(kThreads, [&] { target_.run(TARGET_LEAF, kTimes); }).join();
  probe.detach();
  const auto stats = probe.stats();
  EXPECT_EQ(stats.entries, kThreads * kTimes);
  EXPECT_EQ(stats.exits, kThreads * kTimes);
  expect_nothing_missed(stats);
  EXPECT_EQ(probe.counted().entries, kThreads * kTimes);
  EXPECT_EQ(probe.counted().exits, kThreads * kTimes);
}

TEST_F(AccountingTest, Cancelled) {
  Probe probe = make_probe(
      elf::counters(), "choosy",
      {at("target_inner", 1), at("target_middle", 2), at("target_outer", 3)});
  probe.attach();
  target_.run(TARGET_CHAIN, 100, {0});
  probe.detach();
  const auto stats = probe.stats();
  EXPECT_EQ(stats.entries, 300u);
  EXPECT_EQ(stats.cancelled, 200u);
  EXPECT_EQ(stats.exits, 100u);
  EXPECT_EQ(stats.in_flight, 0u);
  expect_nothing_missed(stats);
  EXPECT_EQ(probe.counted(0).exits, 0u);
  EXPECT_EQ(probe.counted(1).exits, 100u);
  EXPECT_EQ(probe.counted(2).exits, 0u);
}

TEST_F(AccountingTest, CancelledCallsHoldNoStorage) {
  Probe probe = make_probe(elf::counters(), "choosy",
                           {at("target_block", 1), at("target_leaf", 2)});
  probe.object.set_maxactive("choosy", 4);
  probe.attach();
  const BlockedCalls blocked(target_, 20);
  target_.run(TARGET_LEAF, 100);
  const auto stats = probe.stats();
  EXPECT_EQ(stats.cancelled, 20u);
  EXPECT_EQ(stats.exits, 100u);
  EXPECT_EQ(stats.in_flight, 0u);
  expect_nothing_missed(stats);
}

TEST_F(AccountingTest, MoreCallsInFlightThanStorage) {
  Probe probe = make_probe(elf::counters(), "both",
                           {at("target_block"), at("target_leaf")});
  probe.object.set_maxactive("both", 4);
  probe.attach();
  BlockedCalls blocked(target_, 50);
  auto stats = probe.stats();
  EXPECT_EQ(stats.entries, 50u);
  EXPECT_EQ(stats.in_flight, 4u);
  EXPECT_EQ(stats.missed_storage, 46u);
  EXPECT_EQ(stats.maxactive, 4u);
  EXPECT_EQ(stats.peak_active, 4u);
  expect_balance(stats);

  blocked.release();
  stats = probe.stats();
  EXPECT_EQ(stats.exits, 4u);
  EXPECT_EQ(stats.in_flight, 0u);

  target_.run(TARGET_LEAF, 100);
  probe.detach();
  stats = probe.stats();
  EXPECT_EQ(stats.exits, 104u);
  EXPECT_EQ(stats.missed_storage, 46u);
  EXPECT_EQ(stats.missed_recursion, 0u);
  EXPECT_EQ(stats.missed_exit, 0u);
  EXPECT_EQ(stats.handled, 104u);
  expect_balance(stats);
}

TEST_F(AccountingTest, StorageForEveryCallThatWasAskedFor) {
  // Every size up to where each CPU counts some calls on its own.
  for (const std::uint32_t maxactive : {1u, 2u, 7u, 16u, 33u, 40u}) {
    Probe probe = make_probe(elf::counters(), "both", {at("target_block")});
    probe.object.set_maxactive("both", maxactive);
    probe.attach();
    const BlockedCalls blocked(target_, static_cast<int>(maxactive));
    EXPECT_EQ(probe.stats().in_flight, maxactive);
    EXPECT_EQ(probe.stats().missed_storage, 0u) << "of " << maxactive;
  }
}

/// The function behind a helper that handlers may call.
constexpr const char* kHelper = "bpf_user_rnd_u32";

TEST_F(AccountingTest, FunctionsThatHandlersRunOn) {
  const probekit_target helper{.address = address_of(kHelper, ""), .cookie = 0};
  Probe probe =
      make_probe(elf::counters(), "calling", {at("target_leaf"), helper});
  ASSERT_EQ(probe.targets.accepted(), 2u);
  probe.attach();
  target_.run(TARGET_LEAF, 100);
  probe.detach();
  const auto stats = probe.stats();
  // Each call of the leaf makes two more: by the entry and the exit handler.
  EXPECT_EQ(stats.entries, 300u);
  EXPECT_EQ(stats.missed_recursion, 200u);
  EXPECT_EQ(stats.handled, 100u);
  EXPECT_EQ(stats.exits, 100u);
  EXPECT_EQ(stats.in_flight, 0u);
  EXPECT_EQ(stats.missed_storage, 0u);
  EXPECT_EQ(stats.missed_exit, 0u);
  EXPECT_EQ(probe.counted(0).exits, 100u);
  EXPECT_EQ(probe.counted(1).entries, 0u);
}

TEST_F(AccountingTest, FunctionsThatEntryHandlersRunOn) {
  const probekit_target helper{.address = address_of(kHelper, ""), .cookie = 0};
  Probe probe = make_probe(elf::counters(), "calling_entry_only",
                           {at("target_leaf"), helper});
  probe.attach();
  target_.run(TARGET_LEAF, 100);
  probe.detach();
  const auto stats = probe.stats();
  EXPECT_EQ(stats.entries, 200u);
  EXPECT_EQ(stats.handled, 100u);
  EXPECT_EQ(stats.missed_recursion, 100u);
  EXPECT_EQ(probe.counted(0).entries, 100u);
}

TEST_F(AccountingTest, HandlersOfOneProbeHitAnother) {
  const probekit_target helper{.address = address_of(kHelper, ""), .cookie = 0};
  Probe caller = make_probe(elf::counters(), "calling", {at("target_leaf")});
  Probe called = make_probe(elf::counters(), "both", {helper});
  caller.attach();
  called.attach();
  target_.run(TARGET_LEAF, 100);
  caller.detach();
  called.detach();
  EXPECT_EQ(caller.stats().exits, 100u);
  expect_nothing_missed(caller.stats());
  EXPECT_EQ(called.stats().entries, 200u);
  EXPECT_EQ(called.stats().missed_recursion, 200u);
  expect_balance(called.stats());
}

TEST_F(AccountingTest, SwappedWithCallsInFlight) {
  Probe probe = make_probe(elf::counters(), "both",
                           {at("target_block"), at("target_leaf")});
  probe.attach();
  Probe next = make_probe(elf::counters(), "both", {at("target_leaf")});
  next.object.set_targets("both", probe.targets);
  next.object.set_constant<std::uint64_t>("generation", 2);
  next.object.load();
  {
    const BlockedCalls blocked(target_, 10);
    next.object.swap(*probe.link, "both");
    EXPECT_EQ(probe.stats().in_flight, 10u);
    target_.run(TARGET_LEAF, 7);
  }
  probe.detach();
  const auto stats = probe.stats();
  EXPECT_EQ(stats.entries, 17u);
  EXPECT_EQ(stats.missed_swapped, 10u);
  EXPECT_EQ(stats.exits, 7u);
  EXPECT_EQ(stats.in_flight, 0u);
  expect_balance(stats);
  EXPECT_EQ(probe.counted(0).entries, 10u);
  EXPECT_EQ(probe.counted(0).exits, 0u);
  EXPECT_EQ(next.counted(0).exits, 0u);
  EXPECT_EQ(next.counted(1).exits, 7u);
}

TEST_F(AccountingTest, DetachedWithCallsInFlight) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_block")});
  probe.attach();
  {
    const BlockedCalls blocked(target_, 10);
    probe.detach();
    const auto stats = probe.stats();
    EXPECT_EQ(stats.state, unsigned{PROBEKIT_STATE_DETACHED});
    EXPECT_EQ(stats.entries, 10u);
    EXPECT_EQ(stats.in_flight, 10u);
    EXPECT_EQ(stats.exits, 0u);
    expect_balance(stats);
  }
  // The counters are final.
  EXPECT_EQ(probe.stats().in_flight, 10u);
  EXPECT_EQ(probe.counted().exits, 0u);
}

TEST_F(AccountingTest, TasksThatDieInTheFunction) {
  constexpr std::uint32_t kMaxactive = 8, kDeaths = 5 * kMaxactive;
  Probe probe = make_probe(elf::counters(), "both",
                           {at("target_die"), at("target_leaf")});
  probe.object.set_maxactive("both", kMaxactive);
  probe.attach();
  for (std::uint32_t i = 0; i < kDeaths; ++i) {
    target_.run(TARGET_DIE);
    ASSERT_TRUE(storage_comes_back(probe)) << "after death " << i + 1;
  }
  const auto before = probe.stats();
  // Who never returns is in flight for ever.
  EXPECT_EQ(before.in_flight + before.missed_storage,
            before.entries - before.exits);
  EXPECT_GE(before.in_flight, kMaxactive + 1);

  target_.run(TARGET_LEAF, 1000);
  const auto after = probe.stats();
  EXPECT_EQ(after.missed_storage, before.missed_storage);
  EXPECT_EQ(after.exits, before.exits + 1000);
  EXPECT_EQ(after.missed_exit, 0u);
  expect_balance(after);
}

TEST_F(AccountingTest, ProcessesThatDieInTheFunction) {
  constexpr std::uint32_t kMaxactive = 8, kDeaths = 5 * kMaxactive;
  Probe probe = make_probe(
      elf::counters(), "both",
      {{.address = address_of("do_exit", ""), .cookie = 0}, at("target_leaf")});
  ASSERT_EQ(probe.targets.accepted(), 2u);
  probe.object.set_maxactive("both", kMaxactive);
  probe.attach();
  for (std::uint32_t i = 0; i < kDeaths; ++i) {
    Child([] { return 0; }).wait();
    ASSERT_TRUE(storage_comes_back(probe)) << "after death " << i + 1;
  }
  const auto before = probe.stats();
  EXPECT_GE(before.entries, kDeaths);
  target_.run(TARGET_LEAF, 1000);
  const auto after = probe.stats();
  EXPECT_EQ(after.missed_storage, before.missed_storage);
  EXPECT_GE(after.exits, before.exits + 1000);
  expect_balance(after);
}

TEST_F(AccountingTest, DeathsAllAtOnce) {
  constexpr std::uint32_t kMaxactive = 8, kDeaths = 100;
  Probe probe = make_probe(elf::counters(), "both",
                           {at("target_die"), at("target_leaf")});
  probe.object.set_maxactive("both", kMaxactive);
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_DIE, kDeaths), 0);
  EXPECT_TRUE(storage_comes_back(probe));
  const auto before = probe.stats();
  target_.run(TARGET_LEAF, 100);
  EXPECT_EQ(probe.stats().missed_storage, before.missed_storage);
  expect_balance(probe.stats());
}

}  // namespace
}  // namespace probekit::test
