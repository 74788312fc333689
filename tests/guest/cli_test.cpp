// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// The command measures what it is asked to, and says it.
#include "cli.hpp"

#include <signal.h>

#include <filesystem>
#include <fstream>

namespace probekit::test {
namespace {

/// Called by each read() of a program, and by nothing else of a program that
/// has no library.
constexpr const char* kRead = "ksys_read";
/// A system call that no library and no shell makes.
constexpr const char* kMark = "__x64_sys_sched_get_priority_max";

class CliTest : public testing::Test {
 protected:
  static bool attaches() {
    return eventually([] { return Engine::open().info().probes == 1; });
  }
};

TEST_F(CliTest, CountsTheCallsOfAProgram) {
  for (const int times : {1, 7, 1000}) {
    const Result result =
        probekit({"count", "--json", kRead, "--", "probekit_workload",
                  "reads=" + std::to_string(times)});
    expect_good_json(result, false);
    EXPECT_EQ(calls_of(result, kRead), static_cast<unsigned>(times));
    EXPECT_EQ(functions_of(result).size(), 1u);
    EXPECT_EQ(summary_of(result)["targets"], 1);
  }
}

TEST_F(CliTest, CountsNothingWhereNothingIsCalled) {
  const Result result = probekit(
      {"count", "--json", kMark, "--", "probekit_workload", "reads=10"});
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kMark), 0u);
  EXPECT_EQ(summary_of(result)["calls"], 0);
}

TEST_F(CliTest, CountsTheCallsOfAProcess) {
  Command workload({"probekit_workload", "stop", "reads=1000"});
  ASSERT_TRUE(workload.stops());
  Command count({"probekit", "count", "--json", kRead, "-p",
                 std::to_string(workload.pid())});
  ASSERT_TRUE(attaches());
  workload.kill(SIGCONT);
  EXPECT_EQ(workload.wait().status, 0);
  // The run ends with the process.
  const Result result = count.wait();
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kRead), 1000u);
}

TEST_F(CliTest, CountsDescendants) {
  const Result result =
      probekit({"count", "--json", kMark, "--", "sh", "-c",
                "probekit_workload marks=10; probekit_workload marks=20 &"
                "sh -c 'probekit_workload marks=30'; wait"});
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kMark), 60u);
}

TEST_F(CliTest, CountsOthersOnlyWhenAsked) {
  for (const bool all : {false, true}) {
    Command other({"probekit_workload", "stop", "marks=100"});
    ASSERT_TRUE(other.stops());
    Words words{"probekit", "count", "--json", kMark};
    if (all) words.emplace_back("-a");
    // The program lasts longer than the other one.
    const std::string pid = std::to_string(other.pid());
    for (const std::string& word :
         {std::string("--"), std::string("sh"), std::string("-c"),
          "kill -CONT " + pid + "; while kill -0 " + pid +
              "; do sleep 0.02; done; probekit_workload marks=3"})
      words.push_back(word);
    Command count(words);
    EXPECT_EQ(other.wait().status, 0);
    const Result result = count.wait();
    expect_good_json(result, false);
    EXPECT_EQ(calls_of(result, kMark), all ? 103u : 3u);
  }
}

TEST_F(CliTest, FiltersByName) {
  const auto calls = [](const char* name) {
    const Result result =
        probekit({"count", "--json", kMark, "--comm", name, "-a", "--",
                  "probekit_workload", "marks=5"});
    expect_good_json(result, false);
    return calls_of(result, kMark);
  };
  // The kernel keeps 15 characters of it.
  EXPECT_EQ(calls("probekit_worklo"), 5u);
  EXPECT_EQ(calls("another"), 0u);
}

TEST_F(CliTest, FiltersByThread) {
  Command workload({"probekit_workload", "stop", "marks=9"});
  Command other({"probekit_workload", "stop", "marks=100"});
  ASSERT_TRUE(workload.stops() && other.stops());
  Command count({"probekit", "count", "--json", kMark, "--tid",
                 std::to_string(workload.pid())});
  ASSERT_TRUE(attaches());
  other.kill(SIGCONT);
  EXPECT_EQ(other.wait().status, 0);
  workload.kill(SIGCONT);
  EXPECT_EQ(workload.wait().status, 0);
  const Result result = count.wait();
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kMark), 9u);
}

TEST_F(CliTest, FiltersByCgroup) {
  constexpr const char* kCgroup = "/sys/fs/cgroup/outer/inner";
  ASSERT_TRUE(std::filesystem::create_directories(kCgroup));
  Command count({"probekit", "count", "--json", kMark, "--cgroup",
                 "/sys/fs/cgroup/outer"});
  ASSERT_TRUE(attaches());
  for (const char* script :
       {"probekit_workload marks=100",
        "echo $$ >/sys/fs/cgroup/outer/cgroup.procs; probekit_workload marks=7",
        "echo $$ >/sys/fs/cgroup/outer/inner/cgroup.procs;"
        "probekit_workload marks=8"})
    EXPECT_EQ(Command({"sh", "-c", script}).wait().status, 0);
  count.kill(SIGINT);
  const Result result = count.wait();
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kMark), 15u);
  EXPECT_TRUE(std::filesystem::remove(kCgroup));
  EXPECT_TRUE(std::filesystem::remove("/sys/fs/cgroup/outer"));
}

TEST_F(CliTest, SelectsByTypeOfArgument) {
  load_test_module("probekit_target");
  const Result result = probekit({"count", "--json", "--with-arg", "completion",
                                  "probekit_target:target_*", "-d", "0.1"});
  // target_die() is the only one that takes one.
  expect_good_json(result, false);
  EXPECT_EQ(summary_of(result)["targets"], 1);
}

TEST_F(CliTest, TimesSleepers) {
  const Result result = probekit({"latency", "--json", "hrtimer_nanosleep",
                                  "--", "probekit_workload", "naps=10"});
  expect_good_json(result, true);
  ASSERT_EQ(functions_of(result).size(), 1u);
  const Json record = functions_of(result).front();
  constexpr std::uint64_t kNap = 20'000'000;
  EXPECT_EQ(record["calls"], 10);
  EXPECT_GE(record["min_ns"], kNap);
  EXPECT_GE(record["total_ns"], 10 * kNap);
  EXPECT_LE(record["total_ns"].get<std::int64_t>(), result.took.count());
  for (const char* figure : {"mean_ns", "p50_ns", "p90_ns", "p99_ns"}) {
    EXPECT_GE(record[figure], record["min_ns"]) << figure;
    EXPECT_LE(record[figure], record["max_ns"]) << figure;
  }
  EXPECT_EQ(summary_of(result)["in_flight"], 0);
}

TEST_F(CliTest, TimesManySleepersAtOnce) {
  constexpr int kTasks = 50;
  std::string script;
  for (int i = 0; i < kTasks; ++i) script += "probekit_workload naps=5 & ";
  const Result result = probekit({"latency", "--json", "hrtimer_nanosleep",
                                  "--", "sh", "-c", script + "wait"});
  expect_good_json(result, true);
  EXPECT_EQ(calls_of(result, "hrtimer_nanosleep"), 5u * kTasks);
  const Json missed = summary_of(result)["missed"];
  for (const Json& calls : missed) EXPECT_EQ(calls, 0) << missed;
}

TEST_F(CliTest, SaysWhatIsMissed) {
  const Target target;
  load_test_module("probekit_target");
  for (const bool json : {true, false}) {
    Words words{"probekit", "latency", "--maxactive", "4", "target_block"};
    if (json) words.emplace_back("--json");
    Command latency(words);
    ASSERT_TRUE(attaches());
    { const BlockedCalls blocked(target, 50); }
    latency.kill(SIGINT);
    const Result result = latency.wait();
    if (json) {
      expect_good_json(result, true);
      EXPECT_EQ(calls_of(result, "target_block"), 4u);
      EXPECT_EQ(summary_of(result)["missed"]["storage"], 46);
    } else {
      EXPECT_EQ(result.status, 0);
      EXPECT_TRUE(result.prints("46") || result.says("46"))
          << result.out << result.err;
    }
  }
}

TEST_F(CliTest, LeavesOutWhatIsShort) {
  const Result result = probekit({"latency", "--json", "--min", "10s", kMark,
                                  "--", "probekit_workload", "marks=100"});
  expect_good_json(result, true);
  EXPECT_EQ(calls_of(result, kMark), 0u);
}

TEST_F(CliTest, PrintsIntervals) {
  const Result result = probekit({"count", "--json", "-i", "0.2", "-d", "1",
                                  kMark, "--", "sh", "-c",
                                  "while :; do probekit_workload marks=1; "
                                  "done"});
  EXPECT_EQ(result.status, 0) << result.err;
  std::uint64_t of_intervals = 0, last = 0;
  for (const Json& record : functions_of(result)) {
    if (!record.contains("interval")) continue;
    of_intervals += record["calls"].get<std::uint64_t>();
    EXPECT_GE(record["interval"].get<std::uint64_t>(), last);
    last = record["interval"].get<std::uint64_t>();
  }
  EXPECT_GE(last, 2u);
  EXPECT_GT(of_intervals, 0u);
  EXPECT_LE(of_intervals, summary_of(result)["calls"].get<std::uint64_t>());
}

TEST_F(CliTest, EndsAfterItsDuration) {
  const Result result = probekit({"count", "--json", "-d", "0.3", kMark});
  expect_good_json(result, false);
  EXPECT_GE(result.took, std::chrono::milliseconds(300));
}

TEST_F(CliTest, EndsItsProgramAfterItsDuration) {
  const Result result = probekit({"count", "--json", "-d", "0.3", kMark, "--",
                                  "probekit_workload", "naps=100000"});
  expect_good_json(result, false);
  EXPECT_LT(result.took, kPatience);
}

TEST_F(CliTest, ShowsTheNameThatWasAskedFor) {
  // One function under three names; ftrace knows the last.
  for (const char* name :
       {"__x64_sys_getppid", "__ia32_sys_getppid", "__do_sys_getppid"}) {
    const Result result =
        probekit({"count", "--json", name, "--", "sh", "-c", ": $PPID"});
    expect_good_json(result, false);
    ASSERT_EQ(functions_of(result).size(), 1u);
    EXPECT_EQ(functions_of(result)[0]["function"], name);
    EXPECT_GE(calls_of(result, name), 1u);
  }
}

TEST_F(CliTest, ShowsText) {
  const Result count =
      probekit({"count", kRead, kMark, "--", "probekit_workload", "reads=123"});
  EXPECT_EQ(count.status, 0);
  EXPECT_TRUE(count.prints(kRead)) << count.out;
  EXPECT_TRUE(count.prints("123")) << count.out;
  const Result latency =
      probekit({"latency", kRead, "--", "probekit_workload", "reads=123"});
  EXPECT_EQ(latency.status, 0);
  EXPECT_TRUE(latency.prints(kRead)) << latency.out;
  EXPECT_TRUE(latency.prints("123")) << latency.out;
}

TEST_F(CliTest, CountsEachOfAModulesFunctions) {
  const Target target;
  Command count({"probekit", "count", "--json", "probekit_target:target_*",
                 "-x", "target_sum"});
  ASSERT_TRUE(attaches());
  target.run(TARGET_LEAF, 11);
  target.run(TARGET_CHAIN, 22);
  target.run(TARGET_SUM, 33);
  target.run(TARGET_TWINS, 44);
  count.kill(SIGINT);
  const Result result = count.wait();
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, "target_leaf"), 11u);
  EXPECT_EQ(calls_of(result, "target_outer"), 22u);
  EXPECT_EQ(calls_of(result, "target_middle"), 22u);
  EXPECT_EQ(calls_of(result, "target_inner"), 22u);
  EXPECT_EQ(calls_of(result, "target_sum"), 0u);
  // Two functions of one name, told apart by their addresses.
  EXPECT_EQ(calls_of(result, "target_twin"), 88u);
  std::vector<Json> twins;
  for (const Json& record : functions_of(result)) {
    EXPECT_EQ(record["module"], "probekit_target");
    if (record["function"] == "target_twin") twins.push_back(record);
  }
  ASSERT_EQ(twins.size(), 2u);
  EXPECT_NE(twins[0]["address"], twins[1]["address"]);
  EXPECT_EQ(twins[0]["calls"], 44);
}

TEST_F(CliTest, ReadsPatternsFromAFile) {
  std::ofstream("/tmp/patterns") << "# two of them\n"
                                 << kRead << "\n\n"
                                 << kMark << "\n";
  const Result result = probekit({"count", "--json", "@/tmp/patterns", "--",
                                  "probekit_workload", "reads=3", "marks=4"});
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kRead), 3u);
  EXPECT_EQ(calls_of(result, kMark), 4u);
}

TEST_F(CliTest, ListsAndSaysWhyNot) {
  load_test_module("probekit_target");
  const Result listed = probekit({"list", "--why", "probekit_target:*"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_TRUE(listed.prints("target_leaf [probekit_target]")) << listed.out;
  EXPECT_TRUE(listed.prints("target_untraced"));
  EXPECT_FALSE(listed.prints("target_inlined"));
  const Result json = probekit({"list", "--json", "probekit_target:target_*"});
  EXPECT_EQ(json.status, 0);
  for (const Json& record : functions_of(json)) {
    EXPECT_EQ(record["module"], "probekit_target");
    EXPECT_NE(record["function"], "target_untraced");
  }
  EXPECT_GE(functions_of(json).size(), 20u);
}

TEST_F(CliTest, EveryKindCountsTheSame) {
  for (const char* kind : {"fprobe", "kprobe", "kretprobe"}) {
    const Result result =
        probekit({"count", "--json", "--kind", kind, kRead, kMark, "--",
                  "probekit_workload", "reads=30", "marks=4"});
    expect_good_json(result, false);
    EXPECT_EQ(calls_of(result, kRead), 30u) << kind;
    EXPECT_EQ(calls_of(result, kMark), 4u) << kind;
  }
}

TEST_F(CliTest, LatencyByKretprobe) {
  for (const char* kind : {"fprobe", "kretprobe"}) {
    const Result result =
        probekit({"latency", "--json", "--kind", kind, "--maxactive", "64",
                  kRead, "--", "probekit_workload", "reads=30"});
    expect_good_json(result, true);
    EXPECT_EQ(calls_of(result, kRead), 30u) << kind;
  }
}

TEST_F(CliTest, StatusShowsWhoProbesWhat) {
  load_test_module("probekit_target");
  const Target target;
  Command other({"probekit", "count", "probekit_target:target_leaf", "-a"});
  const Engine engine = Engine::open();
  ASSERT_TRUE(eventually([&] { return engine.probes().size() == 1; }));
  target.run(TARGET_LEAF, 10);
  const Result text = probekit({"status"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.prints("probekit [" + std::to_string(other.pid()) + "]"))
      << text.out;
  const Json probe = json_lines(probekit({"status", "--json"}).out).at(0);
  EXPECT_EQ(probe["type"], "probe");
  EXPECT_EQ(probe["kind"], "fprobe");
  EXPECT_EQ(probe["owner"], other.pid());
  EXPECT_EQ(probe["targets"], 1);
  EXPECT_EQ(probe["entries"], 10);
  EXPECT_EQ(probe["disabled"], false);

  const auto id = std::to_string(probe["probe"].get<unsigned>());
  const Result disabled = probekit({"status", "--json", "--disable", id});
  EXPECT_EQ(disabled.status, 0) << disabled.err;
  EXPECT_EQ(json_lines(disabled.out).at(0)["disabled"], true);
  target.run(TARGET_LEAF, 10);
  EXPECT_TRUE(probekit({"status", "--enable", id}).prints("10"));
  target.run(TARGET_LEAF, 1);
  EXPECT_EQ(engine.probes().at(0).stats.entries, 11u);
  other.kill(SIGINT);
  EXPECT_EQ(other.wait().status, 0);

  const Result none = probekit({"status"});
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.out, "no live probes\n");
  const Result wrong = probekit({"status", "--disable", "4000000000"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(wrong.says("no such probe")) << wrong.err;
}

TEST_F(CliTest, ChecksThisMachine) {
  const Result result = probekit({"check"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
}

}  // namespace
}  // namespace probekit::test
