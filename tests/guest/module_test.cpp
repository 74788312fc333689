// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Modules that come and go: the engine's own, and one that is probed.
#include <fcntl.h>

#include "support.hpp"

namespace probekit::test {
namespace {

/// Nothing is open when a test begins.
class ModuleTest : public testing::Test {
 protected:
  ModuleTest() { load_test_module("probekit_target"); }
  ~ModuleTest() override {
    // Whatever happened, the next test finds both.
    Engine::open();
    load_test_module("probekit_target");
  }

  static Probe make_probe(const Engine& engine) {
    return Probe(engine, elf::counters(), "both",
                 {at("target_leaf"), at("target_block")});
  }

  /// Programs are freed by RCU, some time after their link.
  static bool unloads(const std::string& name) {
    return eventually([&] { return unload_module(name) == 0; },
                      std::chrono::seconds(2));
  }
};

TEST_F(ModuleTest, StaysWhileItIsUsed) {
  std::optional<Engine> engine = Engine::open();
  EXPECT_EQ(unload_module("probekit"), EAGAIN) << "an open device";

  std::optional<TargetSet> set =
      engine->make_targets(std::vector{at("target_leaf")});
  engine.reset();
  EXPECT_EQ(unload_module("probekit"), EAGAIN) << "a target set";

  std::optional<Object> object(std::in_place, "both", elf::counters());
  object->set_targets("both", *set);
  object->load();
  std::optional<Link> link = object->attach("both");
  set.reset();
  object.reset();
  EXPECT_EQ(unload_module("probekit"), EAGAIN) << "a live probe";
  {
    const Target target;
    EXPECT_EQ(target.run(TARGET_LEAF, 10), 0);
  }
  link.reset();
  EXPECT_TRUE(unloads("probekit"));
}

TEST_F(ModuleTest, ComesBack) {
  for (int i = 0; i < 5; ++i) {
    {
      const Engine engine = Engine::open();
      const Target target;
      Probe probe = make_probe(engine);
      probe.attach();
      target.run(TARGET_LEAF, 10);
      EXPECT_EQ(probe.stats().exits, 10u);
    }
    EXPECT_TRUE(unloads("probekit"));
    EXPECT_FALSE(module_users("probekit"));
  }
}

TEST_F(ModuleTest, GoesWithCallsInFlight) {
  const Target target;
  {
    std::optional<BlockedCalls> blocked;
    {
      const Engine engine = Engine::open();
      Probe probe = make_probe(engine);
      probe.attach();
      blocked.emplace(target, 20);
      EXPECT_EQ(probe.stats().in_flight, 20u);
    }
    ASSERT_TRUE(unloads("probekit"));
    // They return through the hook of a probe whose engine has gone.
  }
  EXPECT_EQ(target.run(TARGET_BLOCKED), 0);
  EXPECT_EQ(target.run(TARGET_LEAF, 10), 0);
}

TEST_F(ModuleTest, ProbedModuleGoesFirst) {
  const Engine engine = Engine::open();
  Probe probe = make_probe(engine);
  probe.attach();
  {
    const Target target;
    target.run(TARGET_LEAF, 10);
  }
  EXPECT_EQ(probe.stats().exits, 10u);
  // A probe does not hold the module that it probes.
  const int error = unload_module("probekit_target");
  EXPECT_EQ(error, 0);
  RecordProperty("errno_of_unloading", error);
  EXPECT_EQ(probe.stats().exits, 10u);
  EXPECT_EQ(probe.stats().state, unsigned{PROBEKIT_STATE_LIVE});

  EXPECT_EQ(probe.stats().gone, probe.stats().attached);

  // It comes back, perhaps to the same place, but is not what was meant.
  {
    const Target target;
    target.run(TARGET_LEAF, 10);
  }
  EXPECT_EQ(probe.stats().entries, 10u);
  EXPECT_EQ(probe.stats().exits, 10u);
  probe.detach();
  EXPECT_EQ(probe.stats().in_flight, 0u);

  Probe again = make_probe(engine);
  again.attach();
  const Target target;
  target.run(TARGET_LEAF, 10);
  EXPECT_EQ(again.stats().exits, 10u);
}

TEST_F(ModuleTest, ProbedModuleGoesBeforeAttach) {
  const Engine engine = Engine::open();
  Probe probe = make_probe(engine);
  ASSERT_EQ(probe.targets.accepted(), 2u);
  ASSERT_EQ(unload_module("probekit_target"), 0);
  // The addresses lead nowhere now: an error, and nothing is left of it.
  EXPECT_NE(errno_of([&] { probe.attach(); }), 0);
  EXPECT_FALSE(probe.link);
  EXPECT_EQ(Engine::open().info().probes, 0u);

  const Target target;
  Probe again = make_probe(engine);
  again.attach();
  target.run(TARGET_LEAF, 10);
  EXPECT_EQ(again.stats().exits, 10u);
}

}  // namespace
}  // namespace probekit::test
