// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Handlers of a live probe are replaced at once: no call is seen by both
// generations, none by neither.
#include <atomic>

#include "support.hpp"

namespace probekit::test {
namespace {

class SwapTest : public EngineTest {
 protected:
  /// An object that may follow `probe`, loaded.
  static Object successor(const Probe& probe, const std::string& name,
                          std::uint64_t generation) {
    Object object(name, elf::counters());
    object.set_targets(name, probe.targets);
    object.set_constant("generation", generation);
    object.load();
    return object;
  }

  static hits counted(const Object& object, std::uint32_t target = 0) {
    hits sum{};
    for (const hits& cpu : object.read_percpu<hits>("counters", target)) {
      sum.entries += cpu.entries;
      sum.exits += cpu.exits;
      sum.foreign += cpu.foreign;
    }
    return sum;
  }

  void expect_einval(Probe& probe, Object& next, const std::string& name) {
    EXPECT_EQ(errno_of([&] { next.swap(*probe.link, name); }), EINVAL)
        << probe.name << " for " << name;
    // What was there goes on.
    const auto before = probe.counted().entries;
    target_.run(TARGET_LEAF, 5);
    EXPECT_EQ(probe.counted().entries, before + 5);
  }
};

/// Calls the leaf from several threads while `disturb` runs again and again.
/// Returns how many calls were made.
std::uint64_t storm(const Target& target, const std::function<void()>& disturb,
                    int times) {
  constexpr int kThreads = 3;
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<bool> stop = false;
  Threads callers(kThreads, [&] {
    do {
      target.run(TARGET_LEAF, 500);
      calls += 500;
    } while (!stop);
  });
  for (int i = 0; i < times; ++i) {
    // Each round sees calls.
    const auto before = calls.load();
    EXPECT_TRUE(eventually([&] { return calls != before; }));
    disturb();
  }
  stop = true;
  callers.join();
  return calls;
}

TEST_F(SwapTest, EveryHitOfAStormIsSeenOnce) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.attach();
  Object next = successor(probe, "both", 2);
  bool odd = false;
  const std::uint64_t calls = storm(
      target_,
      [&] {
        odd = !odd;
        (odd ? next : probe.object).swap(*probe.link, "both");
      },
      40);
  probe.detach();

  const hits first = probe.counted();
  const hits second = counted(next);
  const auto stats = probe.stats();
  EXPECT_GT(first.entries, 0u);
  EXPECT_GT(second.entries, 0u);
  EXPECT_EQ(first.entries + second.entries, calls);
  EXPECT_EQ(first.foreign, 0u);
  EXPECT_EQ(second.foreign, 0u);
  EXPECT_EQ(stats.entries, calls);
  EXPECT_EQ(stats.exits, first.exits + second.exits);
  EXPECT_EQ(stats.exits + stats.missed_swapped, calls);
  EXPECT_EQ(stats.in_flight, 0u);
  expect_balance(stats);
}

TEST_F(SwapTest, EveryHitOfAStormIsSeenOnceWithoutExits) {
  Probe probe = make_probe(elf::counters(), "entry_only", {at("target_leaf")});
  probe.attach();
  Object next = successor(probe, "entry_only", 2);
  bool odd = false;
  const std::uint64_t calls = storm(
      target_,
      [&] {
        odd = !odd;
        (odd ? next : probe.object).swap(*probe.link, "entry_only");
      },
      40);
  probe.detach();
  EXPECT_GT(probe.counted().entries, 0u);
  EXPECT_GT(counted(next).entries, 0u);
  EXPECT_EQ(probe.counted().entries + counted(next).entries, calls);
  EXPECT_EQ(probe.stats().entries, calls);
  EXPECT_EQ(probe.stats().handled, calls);
}

TEST_F(SwapTest, NewHandlersServeFromThenOn) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.attach();
  target_.run(TARGET_LEAF, 10);
  Object next = successor(probe, "both", 2);
  next.swap(*probe.link, "both");
  target_.run(TARGET_LEAF, 20);
  probe.detach();
  EXPECT_EQ(probe.counted().exits, 10u);
  EXPECT_EQ(counted(next).exits, 20u);
  EXPECT_EQ(probe.stats().exits, 30u);
  EXPECT_EQ(probe.stats().missed_swapped, 0u);
}

TEST_F(SwapTest, NeedsNoTargetsOfItsOwn) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.attach();
  Object next("both", elf::counters());
  next.load();
  next.swap(*probe.link, "both");
  target_.run(TARGET_LEAF, 20);
  EXPECT_EQ(counted(next).exits, 20u);
}

TEST_F(SwapTest, OldObjectMayDie) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.attach();
  Object next = successor(probe, "both", 2);
  next.swap(*probe.link, "both");
  probe.object = successor(probe, "entry_only", 3);
  target_.run(TARGET_LEAF, 20);
  EXPECT_EQ(counted(next).exits, 20u);
}

TEST_F(SwapTest, LessEntryDataIsFine) {
  Probe probe = make_probe(elf::counters(), "larger", {at("target_leaf")});
  probe.attach();
  Object next = successor(probe, "both", 2);
  next.swap(*probe.link, "both");
  target_.run(TARGET_LEAF, 20);
  EXPECT_EQ(counted(next).exits, 20u);
  Object none = successor(probe, "smaller", 3);
  none.swap(*probe.link, "smaller");
  target_.run(TARGET_LEAF, 30);
  EXPECT_EQ(counted(none).exits, 30u);
}

TEST_F(SwapTest, OtherShapesAreRefused) {
  Probe both = make_probe(elf::counters(), "both", {at("target_leaf")});
  both.attach();
  for (const char* name : {"entry_only", "larger"}) {
    Object next = successor(both, name, 2);
    expect_einval(both, next, name);
  }
  both.detach();

  Probe entry = make_probe(elf::counters(), "entry_only", {at("target_leaf")});
  entry.attach();
  for (const char* name : {"both", "smaller", "exit_only"}) {
    Object next = successor(entry, name, 2);
    expect_einval(entry, next, name);
  }
}

TEST_F(SwapTest, OtherTargetsAreRefused) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.attach();
  const Probe other = make_probe(elf::counters(), "both", {at("target_leaf")});
  Object next = successor(other, "both", 2);
  expect_einval(probe, next, "both");
}

TEST_F(SwapTest, AnotherLimitIsRefused) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.object.set_maxactive("both", 100);
  probe.attach();
  Object next("both", elf::counters());
  next.set_targets("both", probe.targets);
  next.set_maxactive("both", 101);
  next.load();
  expect_einval(probe, next, "both");
}

}  // namespace
}  // namespace probekit::test
