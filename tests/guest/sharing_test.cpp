// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Several probes on one function, and one object attached again.
#include <atomic>

#include "support.hpp"

namespace probekit::test {
namespace {

class SharingTest : public EngineTest {
 protected:
  Probe both(const std::vector<probekit_target>& targets) const {
    return make_probe(elf::counters(), "both", targets);
  }
};

TEST_F(SharingTest, FirstDetachesFirst) {
  Probe a = both({at("target_leaf")});
  Probe b = both({at("target_leaf")});
  a.attach();
  target_.run(TARGET_LEAF, 1);
  b.attach();
  target_.run(TARGET_LEAF, 10);
  a.detach();
  target_.run(TARGET_LEAF, 100);
  b.detach();
  target_.run(TARGET_LEAF, 1000);
  EXPECT_EQ(a.counted().exits, 11u);
  EXPECT_EQ(b.counted().exits, 110u);
  EXPECT_EQ(a.counted().foreign + b.counted().foreign, 0u);
}

TEST_F(SharingTest, FirstDetachesLast) {
  Probe a = both({at("target_leaf")});
  Probe b = both({at("target_leaf")});
  a.attach();
  target_.run(TARGET_LEAF, 1);
  b.attach();
  target_.run(TARGET_LEAF, 10);
  b.detach();
  target_.run(TARGET_LEAF, 100);
  a.detach();
  target_.run(TARGET_LEAF, 1000);
  EXPECT_EQ(a.counted().exits, 111u);
  EXPECT_EQ(b.counted().exits, 10u);
}

TEST_F(SharingTest, OneDetachesWithCallsOfBothInFlight) {
  for (const bool first : {true, false}) {
    Probe a = both({at("target_block")});
    Probe b = both({at("target_block")});
    a.attach();
    b.attach();
    {
      const BlockedCalls blocked(target_, 10);
      (first ? a : b).detach();
    }
    Probe& gone = first ? a : b;
    Probe& there = first ? b : a;
    EXPECT_EQ(gone.stats().in_flight, 10u);
    EXPECT_EQ(gone.counted().exits, 0u);
    EXPECT_EQ(there.stats().in_flight, 0u);
    EXPECT_EQ(there.counted().exits, 10u);
    EXPECT_EQ(there.counted().foreign, 0u);
  }
}

TEST_F(SharingTest, OneAttachesWithCallsOfTheOtherInFlight) {
  Probe a = both({at("target_block")});
  Probe b = both({at("target_block")});
  a.attach();
  {
    const BlockedCalls blocked(target_, 10);
    b.attach();
  }
  EXPECT_EQ(a.counted().exits, 10u);
  // It saw none of them enter, so it sees none of them return.
  EXPECT_EQ(b.counted().exits, 0u);
  EXPECT_EQ(b.stats().entries, 0u);
}

TEST_F(SharingTest, EntryOnlyBesideExitOnly) {
  Probe entry = make_probe(elf::counters(), "entry_only", {at("target_leaf")});
  Probe exit = make_probe(elf::counters(), "exit_only", {at("target_leaf")});
  entry.attach();
  exit.attach();
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(entry.counted().entries, 10u);
  EXPECT_EQ(entry.counted().exits, 0u);
  EXPECT_EQ(exit.counted().entries, 0u);
  EXPECT_EQ(exit.counted().exits, 10u);
}

TEST_F(SharingTest, ManyProbes) {
  constexpr std::size_t kProbes = 8;
  std::vector<Probe> probes;
  for (std::size_t i = 0; i < kProbes; ++i) {
    probes.push_back(both({at("target_leaf")}));
    probes.back().attach();
  }
  EXPECT_EQ(live_probes(), kProbes);
  target_.run(TARGET_LEAF, 100);
  for (const Probe& probe : probes) EXPECT_EQ(probe.counted().exits, 100u);
}

TEST_F(SharingTest, SameObjectTwiceAtOnce) {
  Probe probe = both({at("target_leaf")});
  probe.attach();
  EXPECT_EQ(errno_of([&] { probe.object.attach("both"); }), EBUSY);
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.counted().exits, 10u);
  EXPECT_EQ(live_probes(), 1u);
}

TEST_F(SharingTest, TwoObjectsOverOneTargetSet) {
  Probe probe = both({at("target_leaf")});
  probe.attach();
  Object second("both", elf::counters());
  second.set_targets("both", probe.targets);
  second.load();
  EXPECT_EQ(errno_of([&] { second.attach("both"); }), EBUSY);
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().exits, 10u);
  probe.detach();

  const Link link = second.attach("both");
  target_.run(TARGET_LEAF, 7);
  EXPECT_EQ(probe.stats().exits, 7u);
  EXPECT_EQ(probe.counted().exits, 10u);
}

TEST_F(SharingTest, AttachAgainAfterDetach) {
  Probe probe = both({at("target_leaf")});
  probe.attach();
  target_.run(TARGET_LEAF, 10);
  for (int i = 0; i < 5; ++i) {
    probe.detach();
    probe.link = probe.object.attach("both");
    // The counters are those of the new probe, maps belong to the object.
    EXPECT_EQ(probe.stats().entries, 0u);
    target_.run(TARGET_LEAF, 20);
    EXPECT_EQ(probe.stats().entries, 20u);
    EXPECT_EQ(probe.stats().exits, 20u);
  }
  EXPECT_EQ(probe.counted().exits, 110u);
}

TEST_F(SharingTest, AttachAgainWithCallsOfTheLastProbeInFlight) {
  Probe probe = both({at("target_block"), at("target_leaf")});
  probe.attach();
  {
    const BlockedCalls blocked(target_, 10);
    probe.detach();
    EXPECT_EQ(probe.stats().in_flight, 10u);
    probe.link = probe.object.attach("both");
    target_.run(TARGET_LEAF, 5);
  }
  const auto stats = probe.stats();
  EXPECT_EQ(stats.entries, 5u);
  EXPECT_EQ(stats.exits, 5u);
  EXPECT_EQ(stats.in_flight, 0u);
  expect_balance(stats);
}

TEST_F(SharingTest, AttachAndDetachUnderAStorm) {
  std::atomic<bool> stop = false;
  Threads callers(2, [&] {
    while (!stop) target_.run(TARGET_CHAIN, 200, {1});
  });
  for (int i = 0; i < 5; ++i) {
    Probe probe =
        both({at("target_inner"), at("target_middle"), at("target_outer")});
    probe.attach();
    EXPECT_TRUE(eventually([&] { return probe.stats().exits > 100; }));
    probe.detach();
    const auto stats = probe.stats();
    const hits inner = probe.counted(0), middle = probe.counted(1),
               outer = probe.counted(2);
    EXPECT_EQ(stats.entries, inner.entries + middle.entries + outer.entries);
    EXPECT_EQ(stats.exits, inner.exits + middle.exits + outer.exits);
    EXPECT_EQ(stats.missed_storage + stats.missed_recursion, 0u);
    // Three levels of a call on each CPU, and of each thread that waits.
    EXPECT_LE(stats.in_flight, 2u * 3);
    expect_balance(stats);
  }
  stop = true;
}

}  // namespace
}  // namespace probekit::test
