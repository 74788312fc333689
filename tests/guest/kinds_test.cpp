// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// kprobes and kretprobes: the same handlers and accounts as fprobes.
#include <cerrno>
#include <probekit/error.hpp>

#include "support.hpp"

namespace probekit::test {
namespace {

constexpr std::uint32_t kKprobe = PROBEKIT_KIND_KPROBE;
constexpr std::uint32_t kKretprobe = PROBEKIT_KIND_KRETPROBE;
constexpr std::uint64_t kCookieCancel = 13;

/// The instruction after the place of ftrace, which follows endbr64 if the
/// function has one.
probekit_target inside(std::string_view function) {
  const std::uint64_t address = address_of(function);
  return {.address = address + 9, .cookie = 0};
}

class KindsTest : public EngineTest {
 protected:
  struct KindProbe {
    TargetSet targets;
    Object object;
    std::optional<Link> link;

    kind_hits hits(std::uint32_t target = 0) const {
      kind_hits sum{};
      for (const auto& cpu :
           object.read_percpu<kind_hits>("kind_hits", target)) {
        sum.entries += cpu.entries;
        sum.exits += cpu.exits;
        sum.torn += cpu.torn;
        sum.handed_over += cpu.handed_over;
        if (cpu.time_ns > sum.time_ns) {
          sum.time_ns = cpu.time_ns;
          sum.entry_ip = cpu.entry_ip;
          sum.ret_ip = cpu.ret_ip;
          sum.cookie = cpu.cookie;
          sum.arg = cpu.arg;
          sum.result = cpu.result;
        }
      }
      return sum;
    }
  };

  KindProbe make(const std::string& name, std::uint32_t kind,
                 const std::vector<probekit_target>& targets) const {
    KindProbe probe{
        engine_.make_targets(targets, kind), Object(name, elf::kinds()), {}};
    probe.object.set_targets(name, probe.targets);
    probe.object.load();
    return probe;
  }

  KindProbe attach(const std::string& name, std::uint32_t kind,
                   const std::vector<probekit_target>& targets) const {
    KindProbe probe = make(name, kind, targets);
    probe.link = probe.object.attach(name);
    return probe;
  }
};

TEST_F(KindsTest, KprobeAtTheEntryOfAFunction) {
  KindProbe probe = attach("pre", kKprobe, {at("target_sum", 7)});
  target_.run(TARGET_SUM, 100, {40, 2});
  probe.link.reset();
  const kind_hits hits = probe.hits();
  EXPECT_EQ(hits.entries, 100u);
  EXPECT_EQ(hits.exits, 0u);
  EXPECT_EQ(hits.entry_ip, address_of("target_sum"));
  EXPECT_EQ(hits.cookie, 7u);
  EXPECT_EQ(hits.arg, 40u);
  const probekit_stats stats = probe.targets.stats();
  EXPECT_EQ(stats.entries, 100u);
  EXPECT_EQ(stats.handled, 100u);
  EXPECT_EQ(stats.in_flight, 0u);
  EXPECT_EQ(stats.missed_recursion, 0u);
}

TEST_F(KindsTest, KprobeInsideAFunction) {
  KindProbe probe = attach("pre", kKprobe, {inside("target_sum")});
  ASSERT_EQ(probe.targets.verdicts()[0], PROBEKIT_TARGET_OK);
  target_.run(TARGET_SUM, 50, {40, 2});
  probe.link.reset();
  EXPECT_EQ(probe.hits().entries, 50u);
  EXPECT_EQ(probe.hits().entry_ip, address_of("target_sum") + 9);
}

TEST_F(KindsTest, PreAndPostHandlerRunForEachHit) {
  KindProbe probe = attach("pre_post", kKprobe,
                           {inside("target_sum"), inside("target_recurse")});
  target_.run(TARGET_SUM, 20, {1});
  target_.run(TARGET_RECURSE, 3, {1, 0});
  probe.link.reset();
  EXPECT_EQ(probe.hits(0).entries, 20u);
  EXPECT_EQ(probe.hits(0).exits, 20u);
  EXPECT_GE(probe.hits(1).entries, 3u);
  EXPECT_EQ(probe.hits(1).exits, probe.hits(1).entries);
  expect_balance(probe.targets.stats());
}

TEST_F(KindsTest, PreHandlerCancelsThePostHandlerOfItsHit) {
  probekit_target cancelled = inside("target_sum");
  cancelled.cookie = kCookieCancel;
  KindProbe probe =
      attach("pre_post", kKprobe, {cancelled, inside("target_recurse")});
  target_.run(TARGET_SUM, 30, {1});
  target_.run(TARGET_RECURSE, 1, {1, 0});
  probe.link.reset();
  EXPECT_EQ(probe.hits(0).entries, 30u);
  EXPECT_EQ(probe.hits(0).exits, 0u);
  EXPECT_GE(probe.hits(1).exits, 1u);
  EXPECT_EQ(probe.targets.stats().cancelled, 30u);
  expect_balance(probe.targets.stats());
}

TEST_F(KindsTest, TwoKprobesAtOneAddress) {
  KindProbe first = attach("pre", kKprobe, {inside("target_sum")});
  KindProbe second = attach("pre_post", kKprobe, {inside("target_sum")});
  target_.run(TARGET_SUM, 10, {1});
  first.link.reset();
  target_.run(TARGET_SUM, 10, {1});
  second.link.reset();
  EXPECT_EQ(first.hits().entries, 10u);
  EXPECT_EQ(second.hits().entries, 20u);
  EXPECT_EQ(second.hits().exits, 20u);
}

TEST_F(KindsTest, NoPostHandlerAtTheEntryOfAFunction) {
  KindProbe other = attach("pre", kKprobe, {at("target_leaf")});
  KindProbe probe = make("pre_post", kKprobe, {at("target_leaf")});
  EXPECT_EQ(errno_of([&] { probe.object.attach("pre_post"); }), EOPNOTSUPP);
  target_.run(TARGET_LEAF, 10);
  other.link.reset();
  EXPECT_EQ(other.hits().entries, 10u);
}

TEST_F(KindsTest, KretprobeHandsEntryDataOver) {
  KindProbe probe =
      attach("kret", kKretprobe, {at("target_sum"), at("target_leaf")});
  target_.run(TARGET_SUM, 100, {40, 2});
  target_.run(TARGET_LEAF, 5);
  probe.link.reset();
  const kind_hits hits = probe.hits(0);
  EXPECT_EQ(hits.entries, 100u);
  EXPECT_EQ(hits.exits, 100u);
  EXPECT_EQ(hits.handed_over, 100u * 40u);
  EXPECT_EQ(hits.result, 40u + 2 * 2u);
  EXPECT_EQ(hits.torn, 0u);
  EXPECT_EQ(probe.hits(1).exits, 5u);
  expect_balance(probe.targets.stats());
}

TEST_F(KindsTest, KretprobeCancelledByItsEntryHandler) {
  KindProbe probe =
      attach("kret", kKretprobe, {at("target_leaf", kCookieCancel)});
  target_.run(TARGET_LEAF, 10);
  probe.link.reset();
  EXPECT_EQ(probe.hits().entries, 10u);
  EXPECT_EQ(probe.hits().exits, 0u);
  EXPECT_EQ(probe.targets.stats().cancelled, 10u);
  expect_balance(probe.targets.stats());
}

TEST_F(KindsTest, KretprobeSeesEachLevelOfARecursion) {
  KindProbe probe = attach("kret", kKretprobe, {at("target_recurse")});
  target_.run(TARGET_RECURSE, 1, {64, 0});
  probe.link.reset();
  EXPECT_EQ(probe.hits().entries, probe.hits().exits);
  EXPECT_GE(probe.hits().exits, 64u);
  EXPECT_GE(probe.targets.stats().peak_active, 64u);
  expect_balance(probe.targets.stats());
}

TEST_F(KindsTest, KretprobeOutOfStorageIsCountedAsThat) {
  KindProbe probe = attach("kret_of_four", kKretprobe, {at("target_block")});
  BlockedCalls blocked(target_, 50);
  blocked.release();
  probe.link.reset();
  const probekit_stats stats = probe.targets.stats();
  EXPECT_EQ(stats.entries, 50u);
  EXPECT_EQ(stats.exits, 4u);
  EXPECT_EQ(stats.missed_storage, 46u);
  EXPECT_EQ(stats.missed_recursion, 0u);
  expect_balance(stats);
}

TEST_F(KindsTest, KretprobeDetachedWithCallsInFlight) {
  KindProbe probe = attach("kret", kKretprobe, {at("target_block")});
  BlockedCalls blocked(target_, 10);
  probe.link.reset();
  EXPECT_EQ(probe.targets.stats().in_flight, 10u);
  expect_balance(probe.targets.stats());
  blocked.release();
  EXPECT_EQ(probe.hits().exits, 0u);
}

TEST_F(KindsTest, RecursionIsCounted) {
  // the handlers read the clock, which is this function
  KindProbe probe = attach(
      "pre", kKprobe,
      {{.address = address_of("ktime_get_mono_fast_ns", ""), .cookie = 0},
       at("target_leaf")});
  target_.run(TARGET_LEAF, 100);
  probe.link.reset();
  EXPECT_EQ(probe.hits(1).entries, 100u);
  const probekit_stats stats = probe.targets.stats();
  EXPECT_GE(stats.missed_recursion, 100u);
  EXPECT_EQ(stats.entries, stats.handled + stats.missed_recursion);
}

TEST_F(KindsTest, RefusalsHaveTheirReasons) {
  const std::uint64_t leaf = address_of("target_leaf");
  const TargetSet kprobes = engine_.make_targets(
      std::vector<probekit_target>{
          {.address = leaf, .cookie = 0},
          {.address = leaf + 6, .cookie = 0},
          {.address = 0, .cookie = 0},
          {.address = 0x1000, .cookie = 0},
          {.address = address_of("exc_int3", ""), .cookie = 0},
          {.address = leaf, .cookie = 0},
      },
      kKprobe);
  EXPECT_EQ(kprobes.accepted(), 1u);
  EXPECT_EQ(kprobes.verdicts()[0], PROBEKIT_TARGET_OK);
  EXPECT_EQ(kprobes.verdicts()[1], PROBEKIT_TARGET_NOT_INSTRUCTION);
  EXPECT_EQ(kprobes.verdicts()[2], PROBEKIT_TARGET_FORBIDDEN);
  EXPECT_EQ(kprobes.verdicts()[3], PROBEKIT_TARGET_FORBIDDEN);
  EXPECT_EQ(kprobes.verdicts()[4], PROBEKIT_TARGET_FORBIDDEN);
  EXPECT_EQ(kprobes.verdicts()[5], PROBEKIT_TARGET_DUPLICATE);

  const TargetSet kretprobes = engine_.make_targets(
      std::vector<probekit_target>{
          {.address = leaf, .cookie = 0},
          {.address = address_of("target_sum") + 9, .cookie = 0},
      },
      kKretprobe);
  EXPECT_EQ(kretprobes.verdicts()[0], PROBEKIT_TARGET_OK);
  EXPECT_EQ(kretprobes.verdicts()[1], PROBEKIT_TARGET_FORBIDDEN);
}

TEST_F(KindsTest, TargetsOfAnotherKindAreRefused) {
  KindProbe probe = make("kret", kKprobe, {at("target_leaf")});
  EXPECT_EQ(errno_of([&] { probe.object.attach("kret"); }), EMEDIUMTYPE);
}

TEST_F(KindsTest, HandlersAreSwapped) {
  KindProbe probe = attach("kret", kKretprobe, {at("target_leaf")});
  target_.run(TARGET_LEAF, 3);
  Object next("kret", elf::kinds());
  next.load();
  next.swap(*probe.link, "kret");
  target_.run(TARGET_LEAF, 4);
  probe.link.reset();
  EXPECT_EQ(probe.hits().exits, 3u);
  EXPECT_EQ(probe.targets.stats().exits, 7u);
}

TEST_F(KindsTest, AttachAndDetachUnderAStorm) {
  bool over = false;
  Threads storm(2, [&] {
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
      target_.run(TARGET_SUM, 100, {1});
    }
  });
  for (int i = 0; i < 5; ++i) {
    KindProbe before = attach("pre_post", kKprobe, {inside("target_sum")});
    KindProbe pair = attach("kret", kKretprobe, {at("target_sum")});
    EXPECT_TRUE(eventually([&] { return pair.hits().exits > 100; }));
    before.link.reset();
    pair.link.reset();
    expect_balance(before.targets.stats());
    expect_balance(pair.targets.stats());
  }
  __atomic_store_n(&over, true, __ATOMIC_RELAXED);
}

}  // namespace
}  // namespace probekit::test
