// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// A probe lives as long as somebody holds its link, and no longer.
#include <bpf/bpf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "support.hpp"

namespace probekit::test {
namespace {

class LifetimeTest : public EngineTest {
 protected:
  Probe leaf_probe() const {
    return make_probe(elf::counters(), "both", {at("target_leaf")});
  }

  /// Detaching happens some time after the last descriptor has been closed.
  bool probes_become(std::uint32_t count) const {
    return eventually([&] { return live_probes() == count; },
                      std::chrono::seconds(2));
  }

  void expect_counted(const Probe& probe, bool attached) const {
    const auto before = probe.stats().exits;
    target_.run(TARGET_LEAF, 10);
    EXPECT_EQ(probe.stats().exits, before + (attached ? 10 : 0));
  }
};

TEST_F(LifetimeTest, OwnerIsKilled) {
  const Signal attached;
  Child owner([&] {
    Probe probe = leaf_probe();
    probe.attach();
    attached.send();
    pause();
    return 1;
  });
  ASSERT_TRUE(attached.wait());
  EXPECT_EQ(live_probes(), 1u);
  owner.kill(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(owner.wait()));
  EXPECT_TRUE(probes_become(0));
  EXPECT_EQ(target_.run(TARGET_LEAF, 100), 0);
}

TEST_F(LifetimeTest, OwnerIsKilledWithCallsInFlight) {
  const Signal attached;
  Child owner([&] {
    Probe probe = make_probe(elf::counters(), "both",
                             {at("target_block"), at("target_leaf")});
    probe.attach();
    attached.send();
    pause();
    return 1;
  });
  ASSERT_TRUE(attached.wait());
  {
    const BlockedCalls blocked(target_, 20);
    owner.kill(SIGKILL);
    owner.wait();
    EXPECT_TRUE(probes_become(0));
    EXPECT_EQ(target_.run(TARGET_LEAF, 100), 0);
  }
  EXPECT_EQ(target_.run(TARGET_BLOCKED), 0);
}

TEST_F(LifetimeTest, OwnerIsKilledUnderAStorm) {
  std::atomic<bool> stop = false;
  const Signal attached;
  Child owner([&] {
    Probe probe = leaf_probe();
    probe.attach();
    attached.send();
    for (;;) target_.run(TARGET_LEAF, 1000);
    return 1;
  });
  Threads callers(2, [&] {
    while (!stop) target_.run(TARGET_LEAF, 1000);
  });
  EXPECT_TRUE(attached.wait());
  owner.kill(SIGKILL);
  owner.wait();
  EXPECT_TRUE(probes_become(0));
  stop = true;
}

TEST_F(LifetimeTest, AnotherDescriptorOfTheLink) {
  Probe probe = leaf_probe();
  probe.attach();
  FileDescriptor other(fcntl(probe.link->fd(), F_DUPFD_CLOEXEC, 0));
  probe.detach();
  EXPECT_EQ(live_probes(), 1u);
  expect_counted(probe, true);
  other = FileDescriptor();
  EXPECT_TRUE(probes_become(0));
  expect_counted(probe, false);
}

TEST_F(LifetimeTest, AnotherProcessHasTheLink) {
  Probe probe = leaf_probe();
  probe.attach();
  const Signal over;
  Child heir([&] { return over.wait() ? 0 : 1; });
  probe.detach();
  EXPECT_EQ(live_probes(), 1u);
  expect_counted(probe, true);
  over.send();
  EXPECT_EQ(heir.wait(), 0);
  EXPECT_TRUE(probes_become(0));
  expect_counted(probe, false);
}

TEST_F(LifetimeTest, PinnedLink) {
  constexpr const char* kPin = "/sys/fs/bpf/probekit_test";
  unlink(kPin);
  const Signal pinned;
  Child owner([&] {
    Probe probe = leaf_probe();
    probe.attach();
    if (bpf_obj_pin(probe.link->fd(), kPin)) return 2;
    pinned.send();
    return 0;
  });
  ASSERT_TRUE(pinned.wait());
  EXPECT_EQ(owner.wait(), 0);
  // Nobody has a descriptor of anything any more.
  EXPECT_EQ(live_probes(), 1u);
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(unload_module("probekit"), EAGAIN);
  {
    const FileDescriptor link(bpf_obj_get(kPin));
    EXPECT_TRUE(bool{link});
  }
  EXPECT_EQ(unlink(kPin), 0);
  EXPECT_TRUE(probes_become(0));
}

TEST_F(LifetimeTest, NothingButTheLink) {
  std::optional<Link> link;
  {
    // The set's descriptor, the object and the engine's device go first.
    const Engine engine = Engine::open();
    Probe probe(engine, elf::counters(), "both", {at("target_leaf")});
    probe.attach();
    link = std::move(probe.link);
  }
  EXPECT_EQ(live_probes(), 1u);
  target_.run(TARGET_LEAF, 10);
  link.reset();
  EXPECT_EQ(live_probes(), 0u);
}

TEST_F(LifetimeTest, CountersOutliveAllButTheirSet) {
  const std::vector targets{at("target_leaf")};
  const TargetSet set = engine_.make_targets(targets);
  {
    Object object("both", elf::counters());
    object.set_targets("both", set);
    object.load();
    const Link link = object.attach("both");
    target_.run(TARGET_LEAF, 10);
  }
  EXPECT_EQ(live_probes(), 0u);
  EXPECT_EQ(set.stats().exits, 10u);
  EXPECT_EQ(set.stats().state, unsigned{PROBEKIT_STATE_DETACHED});
}

TEST_F(LifetimeTest, DescriptorOfTheSetIsReused) {
  // The number that the object was aimed at leads elsewhere when it attaches.
  std::optional<TargetSet> set =
      engine_.make_targets(std::vector{at("target_leaf")});
  Object object("both", elf::counters());
  object.set_targets("both", *set);
  object.load();
  const int number = set->fd();
  set.reset();
  const FileDescriptor other(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(other.get(), number);
  EXPECT_EQ(errno_of([&] { object.attach("both"); }), EBADF);
  EXPECT_EQ(live_probes(), 0u);
}

/// Memory that can be had, in MB.
int memory_available() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  int kilobytes = 0;
  while (file >> name >> kilobytes && name != "MemAvailable:")
    std::getline(file, unit);
  return kilobytes / 1024;
}

TEST_F(LifetimeTest, MemoryComesBack) {
  // Each set takes some 9 MB of the kernel's memory.
  const std::vector targets(PROBEKIT_MAX_TARGETS / 8, at("target_leaf"));
  const int before = memory_available();
  for (int i = 0; i < 15; ++i) {
    Probe probe = make_probe(elf::counters(), "both", targets);
    probe.attach();
    target_.run(TARGET_LEAF, 10);
  }
  // It is given back some time after.
  EXPECT_TRUE(eventually([&] { return memory_available() > before - 40; }))
      << before << " MB before, " << memory_available() << " MB after";
}

TEST_F(LifetimeTest, SetsThatNothingIsAttachedTo) {
  for (int i = 0; i < 100; ++i)
    engine_.make_targets(std::vector{at("target_leaf"), at("target_sum")});
}

}  // namespace
}  // namespace probekit::test
