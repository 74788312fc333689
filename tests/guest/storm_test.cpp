// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Many who attach and detach at once, and die of it, on a busy system, while
// what they probe comes and goes. For PROBEKIT_STORM_SECONDS (default: 20).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <probekit/error.hpp>
#include <probekit/pattern.hpp>
#include <probekit/symbols.hpp>
#include <random>

#include "every_kind.hpp"

namespace probekit::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAttachers = 4;
constexpr std::size_t kFunctions = 300;

std::chrono::seconds storm_time() {
  const char* seconds = std::getenv("PROBEKIT_STORM_SECONDS");
  return std::chrono::seconds(seconds ? std::atoi(seconds) : 20);
}

std::vector<probekit_target> functions_to_probe() {
  const auto table = SymbolTable::of_running_kernel();
  const std::vector<Pattern> patterns{
      Pattern("vfs_*"),  Pattern("tcp_*"),
      Pattern("ksys_*"), Pattern("*file*"),
      Pattern("*page*"), Pattern("probekit_target:target_*")};
  std::vector<probekit_target> all;
  for (const Function& function : select(table, patterns).targets)
    all.push_back({.address = function.address, .cookie = 0});
  return all;
}

/// Attaches and detaches until it is killed. Ends with what went wrong.
class Attacher {
 public:
  Attacher(const std::vector<probekit_target>& functions, unsigned seed)
      : functions_(functions), random_(seed) {}

  int run() {
    const Engine engine = Engine::open();
    for (;;) {
      try {
        if (!once(engine)) return 2;
      } catch (const Error& error) {
        // A module that has just gone is no place to attach to.
        const int reason = error.code().value();
        if (reason == EINVAL || reason == ENOENT || reason == EILSEQ) continue;
        std::fprintf(stderr, "attacher: %s\n", error.what());
        return 1;
      }
    }
  }

 private:
  std::uint32_t number(std::size_t below) {
    return static_cast<std::uint32_t>(random_() % below);
  }

  std::vector<probekit_target> some() {
    std::vector<probekit_target> targets;
    for (std::size_t i = 0; i < kFunctions; ++i)
      targets.push_back(functions_[number(functions_.size())]);
    return targets;
  }

  /// False where the accounts do not balance.
  bool once(const Engine& engine) {
    const Kind& kind = kKinds[number(kKinds.size())];
    Probe probe(engine, kind.elf(), kind.probe, some(), kind.kind);
    probe.attach();
    for (auto rounds = number(4); rounds > 0; --rounds) {
      usleep(number(20'000));
      probe.targets.disable();
      probe.targets.enable();
      std::vector<std::uint32_t> one;
      while (one.empty()) {
        const auto target = number(kFunctions);
        if (probe.targets.verdicts()[target] == PROBEKIT_TARGET_OK)
          one.push_back(target);
      }
      probe.targets.disable(one);
      engine.probes();
    }
    probe.detach();
    const auto stats = probe.stats();
    return !kind.exits || stats.entries == accounted_for(stats);
  }

  const std::vector<probekit_target>& functions_;
  std::mt19937 random_;
};

int work_for_ever() {
  while (std::system("ls -lR /sys/kernel/mm >/dev/null; "
                     "dd if=/dev/zero of=/tmp/storm bs=4k count=100 "
                     "2>/dev/null; sort /proc/meminfo >/dev/null") == 0) {
  }
  return 1;
}

int reload_for_ever() {
  for (;;) {
    unload_module("probekit_target");
    usleep(20'000);
    load_test_module("probekit_target");
    { Target().run(TARGET_LEAF, 100); }
    usleep(20'000);
  }
}

TEST(StormTest, AttachersDieWhileModulesComeAndGo) {
  load_test_module("probekit_target");
  const auto functions = functions_to_probe();
  ASSERT_GT(functions.size(), kFunctions);
  std::mt19937 random(1);
  unsigned seed = 1;
  const auto start = [&] {
    return std::make_unique<Child>(
        [&functions, mine = seed] { return Attacher(functions, mine).run(); });
  };
  Child worker(work_for_ever);
  Child reloader(reload_for_ever);
  std::array<std::unique_ptr<Child>, kAttachers> attachers;
  for (auto& attacher : attachers) {
    attacher = start();
    ++seed;
  }
  int killed = 0;
  for (const auto end = Clock::now() + storm_time(); Clock::now() < end;) {
    usleep(static_cast<useconds_t>(200'000 + random() % 1'000'000));
    auto& attacher = attachers[random() % attachers.size()];
    attacher->kill(SIGKILL);
    const int status = attacher->wait();
    ASSERT_TRUE(WIFSIGNALED(status))
        << "an attacher ended by itself: " << status;
    ++killed;
    attacher = start();
    ++seed;
  }
  for (auto& attacher : attachers) {
    attacher->kill(SIGKILL);
    const int status = attacher->wait();
    EXPECT_TRUE(WIFSIGNALED(status))
        << "an attacher ended by itself: " << status;
  }
  reloader.kill(SIGKILL);
  reloader.wait();
  worker.kill(SIGKILL);
  worker.wait();
  RecordProperty("killed", killed);

  // Nothing is left of them.
  load_test_module("probekit_target");
  EXPECT_TRUE(eventually([] { return Engine::open().info().probes == 0; }));
  EXPECT_TRUE(eventually([] { return module_users("probekit") == 0; }));
  const Engine engine = Engine::open();
  for (const Kind& kind : kKinds) {
    Probe probe(engine, kind.elf(), kind.probe, {at("target_leaf")}, kind.kind);
    probe.attach();
    Target().run(TARGET_LEAF, 10);
    EXPECT_EQ(probe.stats().entries, 10u) << kind.name;
  }
}

}  // namespace
}  // namespace probekit::test
