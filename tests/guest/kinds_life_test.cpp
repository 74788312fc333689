// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Probes of every kind: side by side, and when their owner, their module or
// the tasks that they measure go.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "every_kind.hpp"

namespace probekit::test {
namespace {

std::unique_ptr<Probe> attach(const Engine& engine, const Kind& kind,
                              const std::vector<probekit_target>& targets) {
  auto probe = std::make_unique<Probe>(engine, kind.elf(), kind.probe, targets,
                                       kind.kind);
  EXPECT_EQ(probe->targets.accepted(), targets.size());
  probe->attach();
  return probe;
}

class EveryKindTest : public testing::TestWithParam<Kind> {
 protected:
  ~EveryKindTest() override {
    Engine::open();
    load_test_module("probekit_target");
  }

  static bool probes_become(std::uint32_t count) {
    return eventually([&] { return Engine::open().info().probes == count; },
                      std::chrono::seconds(2));
  }
  static bool unloads(const std::string& name) {
    return eventually([&] { return unload_module(name) == 0; },
                      std::chrono::seconds(2));
  }

  static void expect_hits(const Probe& probe, std::uint64_t calls) {
    EXPECT_EQ(probe.stats().entries, calls);
    if (GetParam().exits) {
      EXPECT_EQ(probe.stats().exits, calls);
      expect_balance(probe.stats());
    }
  }
};

TEST_P(EveryKindTest, OwnerIsKilledWithCallsInFlight) {
  const Target target;
  const Signal attached;
  Child owner([&] {
    const auto probe = attach(Engine::open(), GetParam(),
                              {at("target_block"), at("target_leaf")});
    attached.send();
    pause();
    return 1;
  });
  ASSERT_TRUE(attached.wait());
  const BlockedCalls blocked(target, 10);
  owner.kill(SIGKILL);
  owner.wait();
  EXPECT_TRUE(probes_become(0));
  EXPECT_EQ(target.run(TARGET_LEAF, 100), 0);
}

TEST_P(EveryKindTest, EngineGoesWithCallsInFlight) {
  const Target target;
  std::optional<BlockedCalls> blocked;
  {
    const auto probe = attach(Engine::open(), GetParam(), {at("target_block")});
    blocked.emplace(target, 10);
  }
  EXPECT_TRUE(unloads("probekit"));
  blocked.reset();
  EXPECT_EQ(target.run(TARGET_BLOCKED), 0);
}

TEST_P(EveryKindTest, ProbedModuleGoesFirst) {
  load_test_module("probekit_target");
  const Engine engine = Engine::open();
  auto probe =
      attach(engine, GetParam(), {at("target_leaf"), at("target_sum")});
  { EXPECT_EQ(Target().run(TARGET_LEAF, 10), 0); }
  expect_hits(*probe, 10);
  ASSERT_EQ(unload_module("probekit_target"), 0);
  expect_hits(*probe, 10);
  EXPECT_EQ(probe->stats().gone, 2u);
  // What comes back to the same place is not what was meant.
  { EXPECT_EQ(Target().run(TARGET_LEAF, 10), 0); }
  expect_hits(*probe, 10);
  probe.reset();

  const Target target;
  probe = attach(engine, GetParam(), {at("target_leaf")});
  target.run(TARGET_LEAF, 10);
  expect_hits(*probe, 10);
}

TEST_P(EveryKindTest, ProbedModuleGoesBeforeAttach) {
  load_test_module("probekit_target");
  const Engine engine = Engine::open();
  const Kind& kind = GetParam();
  Probe probe(engine, kind.elf(), kind.probe, {at("target_leaf")}, kind.kind);
  ASSERT_EQ(unload_module("probekit_target"), 0);
  EXPECT_NE(errno_of([&] { probe.attach(); }), 0);
  EXPECT_EQ(Engine::open().info().probes, 0u);
}

TEST_P(EveryKindTest, TasksDieInTheFunction) {
  constexpr std::uint32_t kDeaths = 40;
  const Target target;
  const Engine engine = Engine::open();
  const Kind& kind = GetParam();
  Probe probe(engine, kind.elf(), kind.probe,
              {at("target_die"), at("target_leaf")}, kind.kind);
  if (kind.kind == PROBEKIT_KIND_FPROBE) probe.object.set_maxactive("both", 8);
  probe.attach();
  EXPECT_EQ(target.run(TARGET_DIE, kDeaths), 0);
  target.run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().entries, kDeaths + 10);
  if (!kind.exits) return;
  const auto stats = probe.stats();
  EXPECT_GE(stats.in_flight + stats.missed_storage, kDeaths);
  EXPECT_EQ(stats.missed_recursion + stats.missed_exit, 0u);
  expect_balance(stats);
}

TEST_P(EveryKindTest, InterruptsAndTasksCallOneFunction) {
  const Target target;
  auto probe = attach(Engine::open(), GetParam(), {at("target_leaf")});
  EXPECT_EQ(target.run(TARGET_TIMER_START, 1, {100'000}), 0);
  target.run(TARGET_LEAF, 20'000);
  const auto ticks = static_cast<std::uint64_t>(target.run(TARGET_TIMER_STOP));
  EXPECT_GT(ticks, 0u);
  EXPECT_EQ(probe->stats().entries, 20'000 + ticks);
  const auto stats = probe->stats();
  if (GetParam().exits) {
    EXPECT_EQ(stats.exits + stats.missed_recursion + stats.missed_exit,
              stats.entries);
    EXPECT_EQ(stats.in_flight, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryKindTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return test.param.name; });

using SideBySideTest = EngineTest;

TEST_F(SideBySideTest, AllKindsOverOneFunction) {
  std::vector<std::unique_ptr<Probe>> probes;
  for (const Kind& kind : kKinds)
    probes.push_back(attach(engine_, kind, {at("target_leaf")}));
  EXPECT_EQ(live_probes(), 3u);
  target_.run(TARGET_LEAF, 100);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const auto stats = probes[i]->stats();
    EXPECT_EQ(stats.entries, 100u) << kKinds[i].name;
    EXPECT_EQ(stats.missed_recursion, 0u) << kKinds[i].name;
    if (kKinds[i].exits) {
      EXPECT_EQ(stats.exits, 100u) << kKinds[i].name;
    }
  }
}

TEST_F(SideBySideTest, AnyOneGoesWithCallsOfAllInFlight) {
  for (std::size_t gone = 0; gone < kKinds.size(); ++gone) {
    std::vector<std::unique_ptr<Probe>> probes;
    for (const Kind& kind : kKinds)
      probes.push_back(attach(engine_, kind, {at("target_block")}));
    {
      const BlockedCalls blocked(target_, 10);
      probes[gone]->detach();
    }
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const auto stats = probes[i]->stats();
      EXPECT_EQ(stats.entries, 10u) << kKinds[i].name;
      if (kKinds[i].exits) {
        EXPECT_EQ(stats.exits, i == gone ? 0u : 10u) << kKinds[i].name;
        EXPECT_EQ(stats.in_flight, i == gone ? 10u : 0u) << kKinds[i].name;
      }
    }
  }
}

}  // namespace
}  // namespace probekit::test
