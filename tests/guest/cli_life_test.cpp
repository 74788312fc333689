// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// However a run of the command ends, what it gathered is printed where it can
// be, and nothing is left.
#include <signal.h>
#include <string.h>

#include <filesystem>
#include <fstream>

#include "cli.hpp"

namespace probekit::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kMark = "__x64_sys_sched_get_priority_max";

class CliLifeTest : public testing::Test {
 protected:
  static std::uint32_t probes() { return Engine::open().info().probes; }
  static bool attaches() {
    return eventually([] { return probes() == 1; }, std::chrono::seconds(60));
  }
  static bool detaches() {
    return eventually([] { return probes() == 0; }, std::chrono::seconds(2));
  }

  static void make_marks(int times) {
    EXPECT_EQ(Command({"probekit_workload", "marks=" + std::to_string(times)})
                  .wait()
                  .status,
              0);
  }

  /// Cgroups that runs have made.
  static std::vector<std::string> cgroups() {
    std::vector<std::string> found;
    for (const auto& entry :
         std::filesystem::directory_iterator("/sys/fs/cgroup"))
      if (entry.path().filename().string().starts_with("probekit"))
        found.push_back(entry.path());
    return found;
  }
};

class SignalTest : public CliLifeTest,
                   public testing::WithParamInterface<int> {};

TEST_P(SignalTest, PrintsWhatWasGathered) {
  Command count({"probekit", "count", "--json", kMark});
  ASSERT_TRUE(attaches());
  make_marks(100);
  count.kill(GetParam());
  const Result result = count.wait();
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kMark), 100u);
  EXPECT_TRUE(detaches());
}

TEST_P(SignalTest, EndsItsProgram) {
  Command count({"probekit", "count", "--json", kMark, "--",
                 "probekit_workload", "marks=100", "naps=100000"});
  ASSERT_TRUE(attaches());
  // It has done its marks when it takes its nap.
  ASSERT_TRUE(eventually([] { return cgroups().size() == 1; }));
  const auto naps = [] {
    std::ifstream procs(cgroups().front() + "/cgroup.procs");
    int pid = 0;
    std::string wchan;
    if (!(procs >> pid)) return false;
    std::ifstream("/proc/" + std::to_string(pid) + "/wchan") >> wchan;
    return wchan.find("nanosleep") != wchan.npos;
  };
  ASSERT_TRUE(eventually(naps));
  count.kill(GetParam());
  const Result result = count.wait();
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kMark), 100u);
  EXPECT_TRUE(cgroups().empty());
  EXPECT_TRUE(detaches());
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalTest,
                         testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& test) {
                           return "SIG" + std::string(sigabbrev_np(test.param));
                         });

TEST_F(CliLifeTest, KilledRunLeavesNothing) {
  Command count({"probekit", "count", kMark});
  ASSERT_TRUE(attaches());
  count.kill(SIGKILL);
  EXPECT_EQ(count.wait().status, 128 + SIGKILL);
  EXPECT_TRUE(detaches());
}

TEST_F(CliLifeTest, KilledRunWithCallsInFlightLeavesNothing) {
  const Target target;
  Command latency({"probekit", "latency", "target_block"});
  ASSERT_TRUE(attaches());
  const BlockedCalls blocked(target, 20);
  latency.kill(SIGKILL);
  latency.wait();
  EXPECT_TRUE(detaches());
}

TEST_F(CliLifeTest, KilledRunWithAProgramLeavesNothing) {
  {
    Command count(
        {"probekit", "count", kMark, "--", "probekit_workload", "naps=100"});
    ASSERT_TRUE(attaches());
    count.kill(SIGKILL);
    count.wait();
    EXPECT_TRUE(detaches());
  }
  // The program had its cgroup; the next run removes what it may remove.
  const Result next = probekit(
      {"count", "--json", kMark, "--", "probekit_workload", "marks=5"});
  expect_good_json(next, false);
  EXPECT_EQ(calls_of(next, kMark), 5u);
  EXPECT_TRUE(eventually([] {
    probekit({"count", kMark, "--", "true"});
    return cgroups().empty();
  })) << testing::PrintToString(cgroups());
}

TEST_F(CliLifeTest, NothingIsLeftOfAProgramsCgroup) {
  // Who is left of the program goes back where it came from.
  const Result result = probekit({"count", "--json", kMark, "--", "sh", "-c",
                                  "probekit_workload naps=20 marks=7 &"});
  expect_good_json(result, false);
  EXPECT_TRUE(cgroups().empty());
}

TEST_F(CliLifeTest, TwoRunsAtOnce) {
  Command first({"probekit", "count", "--json", kMark});
  ASSERT_TRUE(attaches());
  const Result second = probekit(
      {"latency", "--json", kMark, "--", "probekit_workload", "marks=50"});
  first.kill(SIGINT);
  const Result result = first.wait();
  expect_good_json(result, false);
  expect_good_json(second, true);
  EXPECT_EQ(calls_of(result, kMark), 50u);
  EXPECT_EQ(calls_of(second, kMark), 50u);
}

TEST_F(CliLifeTest, CountsEverything) {
  const Result result = probekit({"count", "--json", "*", "-d", "2"});
  expect_good_json(result, false);
  EXPECT_GT(summary_of(result)["targets"], 20'000);
  EXPECT_GT(summary_of(result)["calls"], 1000);
  EXPECT_EQ(probes(), 0u);
}

TEST_F(CliLifeTest, TimesEverything) {
  const Result result =
      probekit({"latency", "--json", "*", "--", "sh", "-c",
                "probekit_workload marks=1000; ls -lR /sys/kernel/mm"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(probes(), 0u);
}

TEST_F(CliLifeTest, InterruptedWhileItAttaches) {
  Command count({"probekit", "latency", "--json", "-v", "*"});
  // A probe that is being attached is not one yet, but its module is in use.
  const int before = module_users("probekit").value_or(0);
  ASSERT_TRUE(eventually(
      [&] { return module_users("probekit").value_or(0) >= before + 3; },
      std::chrono::seconds(60)));
  const auto start = Clock::now();
  count.kill(SIGINT);
  const Result result = count.wait();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_TRUE(result.says("interrupted")) << result.err;
  EXPECT_EQ(summary_of(result)["calls"], 0);
  EXPECT_TRUE(detaches());
}

}  // namespace
}  // namespace probekit::test
