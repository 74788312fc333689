// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// A call reaches the entry data of the call around it.
#include "support.hpp"

namespace probekit::test {
namespace {

constexpr std::uint64_t kCookieCancel = 13;

struct Carrier {
  const char* name;
  std::uint32_t kind;
};

class EnclosingTest : public EngineTest,
                      public testing::WithParamInterface<Carrier> {
 protected:
  Probe attach(const std::vector<probekit_target>& targets) const {
    Probe probe(engine_, elf::enclosing(), GetParam().name, targets,
                GetParam().kind);
    probe.attach();
    return probe;
  }

  static family family_of(const Probe& probe, std::uint32_t target) {
    family sum{};
    for (const auto& cpu :
         probe.object.read_percpu<family>("families", target)) {
      sum.calls += cpu.calls;
      sum.children += cpu.children;
      sum.orphans += cpu.orphans;
      sum.parents |= cpu.parents;
    }
    return sum;
  }

  static std::vector<probekit_target> chain(std::uint64_t middle = 0) {
    return {at("target_outer"), at("target_middle", middle),
            at("target_inner")};
  }
};

TEST_P(EnclosingTest, Chain) {
  const Probe probe = attach(chain());
  target_.run(TARGET_CHAIN, 100, {1});
  const family outer = family_of(probe, 0);
  const family middle = family_of(probe, 1);
  const family inner = family_of(probe, 2);
  EXPECT_EQ(outer.calls, 100u);
  EXPECT_EQ(outer.orphans, 200u) << "at entry and at exit";
  EXPECT_EQ(outer.parents, 0u);
  EXPECT_EQ(outer.children, 100u);
  EXPECT_EQ(middle.parents, 1u << 0);
  EXPECT_EQ(middle.children, 100u);
  EXPECT_EQ(middle.orphans, 0u);
  EXPECT_EQ(inner.parents, 1u << 1);
  EXPECT_EQ(inner.children, 0u);
  EXPECT_EQ(inner.orphans, 0u);
}

TEST_P(EnclosingTest, CancelledOnesArePassedOver) {
  const Probe probe = attach(chain(kCookieCancel));
  target_.run(TARGET_CHAIN, 100, {1});
  EXPECT_EQ(family_of(probe, 1).calls, 0u);
  EXPECT_EQ(family_of(probe, 2).parents, 1u << 0);
  EXPECT_EQ(family_of(probe, 0).children, 100u);
}

TEST_P(EnclosingTest, EachLevelOfARecursionHasItsOwn) {
  constexpr std::uint64_t kDepth = 64;
  const Probe probe = attach({at("target_recurse")});
  target_.run(TARGET_RECURSE, 10, {kDepth, 0});
  const family family = family_of(probe, 0);
  ASSERT_GT(family.calls, 0u);
  EXPECT_EQ(family.orphans, 2u * 10);
  EXPECT_EQ(family.children, family.calls - 10);
}

TEST_P(EnclosingTest, CallsAfterOneAnotherAreNotInOneAnother) {
  const Probe probe = attach({at("target_leaf"), at("target_sum")});
  target_.run(TARGET_LEAF, 100);
  target_.run(TARGET_SUM, 100, {1, 2});
  EXPECT_EQ(family_of(probe, 0).orphans, 200u);
  EXPECT_EQ(family_of(probe, 1).orphans, 200u);
}

TEST_P(EnclosingTest, ProbesDoNotSeeEachOthersCalls) {
  const Probe outer = attach({at("target_outer")});
  const Probe chained = attach(chain());
  const Probe inner = attach({at("target_inner")});
  target_.run(TARGET_CHAIN, 100, {1});
  EXPECT_EQ(family_of(outer, 0).orphans, 200u);
  EXPECT_EQ(family_of(inner, 0).orphans, 200u);
  EXPECT_EQ(family_of(chained, 2).parents, 1u << 1);
  EXPECT_EQ(family_of(chained, 0).orphans, 200u);
}

TEST_P(EnclosingTest, AnInterruptIsNotPartOfWhatItInterrupts) {
  const Probe probe = attach({at("target_recurse"), at("target_leaf")});
  target_.run(TARGET_TIMER_START, 1, {100'000});
  target_.run(TARGET_RECURSE, 20, {16, 200});
  const std::int64_t times = target_.run(TARGET_TIMER_STOP);
  const family leaf = family_of(probe, 1);
  ASSERT_GT(times, 10);
  EXPECT_GT(leaf.calls, 10u);
  EXPECT_EQ(leaf.parents, 0u);
  EXPECT_EQ(leaf.orphans, 2 * leaf.calls);
  EXPECT_EQ(family_of(probe, 0).orphans, 40u);
}

INSTANTIATE_TEST_SUITE_P(
    Carriers, EnclosingTest,
    testing::Values(Carrier{"by_fprobe", PROBEKIT_KIND_FPROBE},
                    Carrier{"by_kretprobe", PROBEKIT_KIND_KRETPROBE}),
    [](const auto& carrier) { return carrier.param.name; });

}  // namespace
}  // namespace probekit::test
