// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Every function that can be probed, at once. Takes a minute.
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <probekit/pattern.hpp>
#include <probekit/symbols.hpp>

#include "handlers.hpp"
#include "support.hpp"

namespace probekit::test {
namespace {

using Clock = std::chrono::steady_clock;

class EverythingTest : public EngineTest {
 protected:
  /// All functions but those that handlers run on.
  static const std::vector<probekit_target>& everything() {
    static const auto targets = [] {
      const auto table = SymbolTable::of_running_kernel();
      const std::vector<Pattern> patterns{Pattern("*")};
      std::vector<probekit_target> all;
      for (const Function& function : select(table, patterns).targets)
        all.push_back({.address = function.address, .cookie = 0});
      return all;
    }();
    return targets;
  }

  Probe everywhere(std::span<const std::byte> elf, const char* name,
                   const char* map) const {
    Probe probe = make_probe(elf, name, everything());
    probe.object.set_max_entries(
        map, static_cast<std::uint32_t>(everything().size()));
    return probe;
  }

  static void say(const char* what, Clock::time_point since) {
    const std::chrono::duration<double> took = Clock::now() - since;
    std::printf("%s: %.1f s\n", what, took.count());
    std::fflush(stdout);
  }

  /// Files, pipes, processes and memory.
  static void work() {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(std::system("ls -lR /sys/kernel/mm >/dev/null && "
                            "cat /proc/meminfo | sort >/tmp/sorted && "
                            "rm /tmp/sorted"),
                0);
  }

  void run_everywhere(std::span<const std::byte> elf, const char* name,
                      const char* map) {
    Probe probe = everywhere(elf, name, map);
    const auto accepted = probe.targets.accepted();
    std::printf("%zu functions, %u accepted\n", everything().size(), accepted);
    EXPECT_GT(accepted, 20'000u);
    EXPECT_EQ(accepted, everything().size()) << "what was selected";

    auto start = Clock::now();
    probe.attach();
    say("attach", start);
    start = Clock::now();
    target_.run(TARGET_LEAF, 1000);
    work();
    say("work", start);
    start = Clock::now();
    probe.detach();
    say("detach", start);
    // Not the minute that attaching takes.
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));

    const auto stats = probe.stats();
    std::printf("%llu entries, %llu missed by recursion\n",
                static_cast<unsigned long long>(stats.entries),
                static_cast<unsigned long long>(stats.missed_recursion));
    EXPECT_EQ(stats.attached, accepted);
    EXPECT_GT(stats.handled, 10'000u);
    EXPECT_EQ(stats.missed_storage, 0u);
    // What handlers run on is left out, so hardly anything is missed.
    EXPECT_LT(stats.missed_recursion, stats.entries / 100);
    if (stats.maxactive) expect_balance(stats);
  }
};

TEST_F(EverythingTest, Count) {
  run_everywhere(handlers::count(), "count", "calls");
}

TEST_F(EverythingTest, Latency) {
  run_everywhere(handlers::latency(), "latency", "latencies");
}

/// A child attaches everywhere; its parent watches the progress.
class InterruptedTest : public EverythingTest,
                        public testing::WithParamInterface<int> {};

TEST_P(InterruptedTest, WhileItAttaches) {
  Probe probe = everywhere(handlers::latency(), "latency", "latencies");
  probe.object.load();
  Child child([&] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGINT, &action, nullptr);
    const int error = errno_of([&] { probe.object.attach("latency"); });
    return error == EINTR ? 0 : 1;
  });
  ASSERT_TRUE(eventually([&] { return probe.stats().attached > 0; },
                         std::chrono::seconds(60)));
  EXPECT_LT(probe.stats().attached, probe.targets.accepted());
  auto start = Clock::now();
  child.kill(GetParam());
  const int status = child.wait();
  say("obeyed", start);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  if (GetParam() == SIGINT) {
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(live_probes(), 0u);
  EXPECT_EQ(probe.stats().state, unsigned{PROBEKIT_STATE_DETACHED});
  // Nothing is attached any more.
  const auto entries = probe.stats().entries;
  target_.run(TARGET_LEAF, 100);
  EXPECT_EQ(probe.stats().entries, entries);
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptedTest,
                         testing::Values(SIGINT, SIGKILL),
                         [](const auto& test) {
                           return test.param == SIGINT ? "SIGINT" : "SIGKILL";
                         });

}  // namespace
}  // namespace probekit::test
