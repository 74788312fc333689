// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// What the device says of live probes, and probes that rest: disabled and
// enabled as a whole and target by target, and those whose module has gone.
#include <unistd.h>

#include <fstream>

#include "every_kind.hpp"

namespace probekit::test {
namespace {

/// Lines of the kernel's own list of kprobes that contain `text`.
int kprobes_listed(std::string_view text) {
  std::ifstream list("/sys/kernel/debug/kprobes/list");
  int count = 0;
  for (std::string line; std::getline(list, line);)
    count += line.find(text) != line.npos;
  return count;
}

class StatusTest : public testing::TestWithParam<Kind> {
 protected:
  StatusTest() : target_(std::in_place), engine_(Engine::open()) {}

  Probe make(const std::vector<probekit_target>& targets,
             std::uint32_t flags = 0) const {
    Probe probe(engine_, GetParam().elf(), GetParam().probe, targets,
                GetParam().kind);
    probe.object.set_flags(GetParam().probe, flags);
    return probe;
  }

  std::optional<Target> target_;
  Engine engine_;
};

TEST_P(StatusTest, DisabledIsNotHitAndEnabledAgainIs) {
  Probe probe = make({at("target_leaf"), at("target_sum")});
  probe.attach();
  target_->run(TARGET_LEAF, 10);
  probe.targets.disable();
  target_->run(TARGET_LEAF, 1000);
  EXPECT_EQ(probe.stats().entries, 10u);
  EXPECT_EQ(probe.stats().flags, PROBEKIT_FLAG_DISABLED);
  probe.targets.disable();
  probe.targets.enable();
  probe.targets.enable();
  EXPECT_EQ(probe.stats().flags, 0u);
  target_->run(TARGET_LEAF, 5);
  target_->run(TARGET_SUM, 7, {1, 2});
  EXPECT_EQ(probe.stats().entries, 22u);
  if (GetParam().exits) expect_balance(probe.stats());
}

TEST_P(StatusTest, DetachedWhileDisabled) {
  Probe probe = make({at("target_leaf")});
  probe.attach();
  probe.targets.disable();
  probe.detach();
  target_->run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().entries, 0u);
  EXPECT_EQ(errno_of([&] { probe.targets.enable(); }), ENOENT);
}

TEST_P(StatusTest, RegisteredDisabled) {
  Probe probe = make({at("target_leaf")}, PROBEKIT_FLAG_DISABLED);
  probe.attach();
  target_->run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().entries, 0u);
  EXPECT_EQ(probe.stats().attached, 1u);
  probe.targets.enable();
  target_->run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().entries, 10u);
}

TEST_P(StatusTest, SingleTargets) {
  Probe probe = make({at("target_leaf"), at("target_sum")});
  probe.attach();
  const std::vector<std::uint32_t> leaf{0};
  const std::vector<std::uint32_t> both{1, 0};
  const auto run = [&] {
    const auto before = probe.stats().entries;
    target_->run(TARGET_LEAF, 10);
    target_->run(TARGET_SUM, 7, {1, 2});
    return probe.stats().entries - before;
  };
  probe.targets.disable(leaf);
  probe.targets.disable(leaf);
  EXPECT_EQ(probe.stats().disabled, 1u);
  EXPECT_EQ(run(), 7u);
  probe.targets.disable(both);
  EXPECT_EQ(probe.stats().disabled, 2u);
  EXPECT_EQ(run(), 0u);
  // The probe as a whole is another switch: both must be on.
  probe.targets.disable();
  probe.targets.enable(leaf);
  EXPECT_EQ(run(), 0u);
  probe.targets.enable();
  EXPECT_EQ(run(), 10u);
  probe.targets.enable(both);
  EXPECT_EQ(run(), 17u);
  const std::vector<std::uint32_t> wrong{0, 2};
  EXPECT_EQ(errno_of([&] { probe.targets.disable(wrong); }), ENOENT);
  EXPECT_EQ(probe.stats().disabled, 0u);
  EXPECT_EQ(run(), 17u);
}

TEST_P(StatusTest, CallsInFlightKeepTheirExit) {
  if (!GetParam().exits) GTEST_SKIP() << "it has none";
  Probe probe = make({at("target_block")});
  probe.attach();
  BlockedCalls blocked(*target_, 10);
  EXPECT_EQ(probe.stats().in_flight, 10u);
  probe.targets.disable();
  blocked.release();
  EXPECT_EQ(probe.stats().exits, 10u);
  EXPECT_EQ(probe.stats().in_flight, 0u);
}

TEST_P(StatusTest, ListSaysWhoseItIs) {
  EXPECT_TRUE(engine_.probes().empty());
  Probe probe = make({at("target_leaf"), at("target_sum")});
  probe.attach();
  Probe other = make({at("target_leaf")});
  other.attach();
  target_->run(TARGET_SUM, 3, {1, 2});
  const auto infos = engine_.probes();
  ASSERT_EQ(infos.size(), 2u);
  const probekit_probe_info& info = infos[0];
  EXPECT_EQ(info.kind, GetParam().kind);
  EXPECT_EQ(info.owner, static_cast<std::uint32_t>(getpid()));
  EXPECT_STREQ(info.owner_name, "probekit_guest_");
  EXPECT_GT(info.age_ns, infos[1].age_ns);
  EXPECT_LT(info.age_ns, 60'000'000'000u);
  EXPECT_EQ(info.has_exit, GetParam().exits);
  EXPECT_EQ(info.stats.attached, 2u);
  EXPECT_EQ(info.stats.entries, 3u);
  EXPECT_EQ(info.stats.probe, probe.stats().probe);
  EXPECT_NE(info.stats.probe, infos[1].stats.probe);
  engine_.enable(infos[1].stats.probe, false);
  target_->run(TARGET_LEAF, 4);
  EXPECT_EQ(other.stats().entries, 0u);
  EXPECT_EQ(probe.stats().entries, 7u);
  EXPECT_EQ(errno_of([&] { engine_.enable(4'000'000'000u); }), ENOENT);
}

TEST_P(StatusTest, AgreesWithTheListOfTheKernel) {
  if (GetParam().kind == PROBEKIT_KIND_FPROBE) GTEST_SKIP() << "no kprobe";
  const int before = kprobes_listed("target_");
  Probe probe = make({at("target_leaf"), at("target_sum")});
  probe.attach();
  EXPECT_EQ(kprobes_listed("target_") - before, 2);
  EXPECT_EQ(kprobes_listed("[FTRACE]"), 2);
  EXPECT_EQ(probe.stats().ftrace_based, 2u);
  EXPECT_EQ(probe.stats().optimised, 0u);
  probe.targets.disable();
  EXPECT_EQ(kprobes_listed("[DISABLED]"), 2);
}

TEST_P(StatusTest, OptimisedOnesAreCounted) {
  if (GetParam().kind != PROBEKIT_KIND_KPROBE) GTEST_SKIP() << "no kprobe";
  // Not at the place of ftrace, and not one of them near the end.
  std::vector<probekit_target> inside;
  for (const char* function : {"ksys_read", "ksys_write", "ksys_sync"})
    inside.push_back({.address = address_of(function, "") + 9, .cookie = 0});
  Probe probe = make(inside);
  probe.attach();
  // The optimiser takes its time, and does what it can.
  eventually([&] { return kprobes_listed("[OPTIMIZED]") > 0; });
  EXPECT_TRUE(eventually([&] {
    return probe.stats().optimised ==
           static_cast<unsigned>(kprobes_listed("[OPTIMIZED]"));
  }));
  EXPECT_GT(probe.stats().optimised, 0u);
  EXPECT_EQ(probe.stats().ftrace_based, 0u);
}

TEST_P(StatusTest, SharedWithKprobes) {
  Probe probe = make({at("target_leaf")}, PROBEKIT_FLAG_KPROBE_SHARED);
  if (GetParam().kind != PROBEKIT_KIND_FPROBE) {
    EXPECT_EQ(errno_of([&] { probe.attach(); }), EINVAL);
    return;
  }
  probe.attach();
  EXPECT_EQ(probe.stats().flags, PROBEKIT_FLAG_KPROBE_SHARED);
  target_->run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().entries, 10u);
  EXPECT_EQ(probe.stats().exits, 10u);
}

TEST_P(StatusTest, AModuleGoesAndTheRestLivesOn) {
  load_test_module("probekit_target");
  const probekit_target kernel{.address = address_of("ksys_sync", ""),
                               .cookie = 0};
  Probe probe = make({at("target_leaf"), kernel});
  ASSERT_EQ(probe.targets.accepted(), 2u);
  probe.attach();
  target_.reset();
  ASSERT_EQ(unload_module("probekit_target"), 0);
  EXPECT_EQ(probe.stats().gone, 1u);
  sync();
  EXPECT_EQ(probe.stats().entries, 1u);
  // Gone is gone, whatever is switched.
  probe.targets.disable();
  probe.targets.enable();
  target_.emplace();
  target_->run(TARGET_LEAF, 10);
  sync();
  EXPECT_EQ(probe.stats().entries, 2u);
  EXPECT_EQ(engine_.probes().at(0).stats.gone, 1u);
}

INSTANTIATE_TEST_SUITE_P(All, StatusTest, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace probekit::test
