// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// What the command does when something is wrong: 1 it failed, 2 it was asked
// for nonsense, 3 this machine cannot. Each time it says why.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli.hpp"

namespace probekit::test {
namespace {

constexpr const char* kRead = "ksys_read";

class CliErrorsTest : public testing::Test {
 protected:
  ~CliErrorsTest() override {
    if (unload_) unload();
    Engine::open();
  }

  /// Nothing of the engine is loaded, until the end of the test.
  void unload() {
    unload_ = true;
    ASSERT_TRUE(eventually([] {
      const int error = unload_module("probekit");
      return error == 0 || error == ENOENT;
    }));
  }

 private:
  bool unload_ = false;
};

Words reads(const Words& options) {
  Words words{"count"};
  words.insert(words.end(), options.begin(), options.end());
  for (const char* word : {kRead, "--", "probekit_workload", "reads=10"})
    words.emplace_back(word);
  return words;
}

TEST_F(CliErrorsTest, OneNameIsMisspelt) {
  const Result result = probekit({"count", "--json", "ksys_raed", kRead, "--",
                                  "probekit_workload", "reads=10"});
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kRead), 10u);
  EXPECT_TRUE(result.says("ksys_raed")) << result.err;
  EXPECT_TRUE(result.says("did you mean ksys_read")) << result.err;
}

TEST_F(CliErrorsTest, EveryNameIsMisspelt) {
  const Result result =
      probekit({"count", "--json", "ksys_raed", "--", "true"});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.says("did you mean ksys_read")) << result.err;
  EXPECT_EQ(summary_of(result)["targets"], 0);
}

TEST_F(CliErrorsTest, FunctionsThatCannotBeProbed) {
  const Target target;
  const Result some = probekit(
      {"count", "--json", "target_untraced", "target_leaf", "-d", "0.1"});
  expect_good_json(some, false);
  EXPECT_TRUE(some.says("target_untraced")) << some.err;
  EXPECT_EQ(summary_of(some)["targets"], 1);
  const Result none = probekit({"count", "target_untraced", "-d", "0.1"});
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(none.says("target_untraced")) << none.err;
}

TEST_F(CliErrorsTest, WrongUsage) {
  for (const Words& words : std::vector<Words>{
           {},
           {"frobnicate"},
           {"count"},
           {"count", "--frobnicate", kRead},
           {"count", kRead, "-d"},
           {"count", kRead, "-d", "-1"},
           {"count", kRead, "-d", "soon"},
           {"count", kRead, "-p", "0"},
           {"count", kRead, "-p", "me"},
           {"count", "--min", "1s", kRead},
           {"latency", "--min", "1lightyear", kRead},
           {"latency", "--maxactive", "-3", kRead},
           {"count", "re:(", "-d", "0"},
           {"count", "", "-d", "0"},
           {"count", kRead, "--"},
           {"list"},
       }) {
    const Result result = probekit(words);
    EXPECT_EQ(result.status, 2) << testing::PrintToString(words) << result.err;
    EXPECT_FALSE(result.err.empty());
    EXPECT_TRUE(result.out.empty());
  }
}

TEST_F(CliErrorsTest, NoSuchProcess) {
  const Result result = probekit({"count", kRead, "-p", "999999"});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.says("999999")) << result.err;
}

TEST_F(CliErrorsTest, NoSuchProgram) {
  const Result result = probekit({"count", kRead, "--", "no_such_program"});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.says("no_such_program")) << result.err;
  EXPECT_TRUE(result.out.empty());
}

TEST_F(CliErrorsTest, ProgramThatFails) {
  const Result result = probekit({"count", "--json", kRead, "--",
                                  "probekit_workload", "reads=2", "exit=3"});
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kRead), 2u);
  EXPECT_TRUE(result.says("status 3")) << result.err;
}

TEST_F(CliErrorsTest, NoRights) {
  const Setting nobody{.as_nobody = true};
  for (const Words& words :
       {Words{"count", kRead, "-d", "0.1"},
        Words{"latency", kRead, "-d", "0.1"}, Words{"check"}}) {
    const Result result = probekit(words, nobody);
    EXPECT_EQ(result.status, 3) << testing::PrintToString(words) << result.err;
    EXPECT_TRUE(result.says("root") || result.prints("root"))
        << result.out << result.err;
  }
  // With the module away, too.
  unload();
  EXPECT_EQ(probekit({"count", kRead, "-d", "0.1"}, nobody).status, 3);
}

TEST_F(CliErrorsTest, NoModule) {
  unload();
  const Result result =
      probekit(reads({}), {.environment = {"PROBEKIT_MODULE=/no/module.ko"}});
  EXPECT_EQ(result.status, 3);
  EXPECT_TRUE(result.says("/no/module.ko")) << result.err;
  // A file that is none.
  const Result other =
      probekit(reads({}), {.environment = {"PROBEKIT_MODULE=/etc/passwd"}});
  EXPECT_EQ(other.status, 3);
  EXPECT_TRUE(other.says("/etc/passwd")) << other.err;
}

TEST_F(CliErrorsTest, LoadsItsModule) {
  unload();
  const Result result = probekit(reads({"--json"}));
  expect_good_json(result, false);
  EXPECT_EQ(calls_of(result, kRead), 10u);
  EXPECT_TRUE(module_users("probekit"));
}

TEST_F(CliErrorsTest, ModuleOfAnotherVersion) {
  unload();
  const auto other = test_module("wrong-version/probekit");
  for (int i = 0; i < 2; ++i) {  // first it is loaded, then it is there
    const Result result =
        probekit(reads({}), {.environment = {"PROBEKIT_MODULE=" + other}});
    EXPECT_EQ(result.status, 3);
    EXPECT_TRUE(result.says("newer")) << result.err;
    EXPECT_TRUE(result.says("rmmod probekit")) << result.err;
  }
  EXPECT_EQ(probekit({"check"}).status, 3);
}

TEST_F(CliErrorsTest, FullDisk) {
  ASSERT_TRUE(std::filesystem::create_directory("/tmp/small"));
  ASSERT_EQ(mount("tmpfs", "/tmp/small", "tmpfs", 0, "size=4k"), 0);
  for (const char* file : {"/dev/full", "/tmp/small/list"}) {
    const Result result = probekit({"list", "*", "-o", file});
    EXPECT_EQ(result.status, 1) << file;
    EXPECT_TRUE(result.says("No space left")) << result.err;
    EXPECT_TRUE(result.says(file)) << result.err;
  }
  umount("/tmp/small");
  std::filesystem::remove("/tmp/small");

  for (const bool json : {false, true}) {
    Words words = reads({"-o", "/dev/full"});
    if (json) words.insert(words.begin() + 1, "--json");
    const Result result = probekit(words);
    EXPECT_EQ(result.status, 1);
    EXPECT_TRUE(result.says("No space left")) << result.err;
  }
  const FileDescriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const Result result = probekit(reads({}), {.output = full.get()});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.says("No space left")) << result.err;
}

TEST_F(CliErrorsTest, FileThatCannotBeMade) {
  const Result result = probekit(reads({"-o", "/no/such/folder/file"}));
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.says("/no/such/folder/file")) << result.err;
}

TEST_F(CliErrorsTest, OutputGoesToAFile) {
  const Result result = probekit(reads({"--json", "-o", "/tmp/counted"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.empty());
  std::ifstream file("/tmp/counted");
  const Result read{.status = 0,
                    .out = {std::istreambuf_iterator<char>(file), {}}};
  EXPECT_EQ(calls_of(read, kRead), 10u);
}

TEST_F(CliErrorsTest, ReaderHasGone) {
  for (const Words& words : {Words{"list", "*"}, reads({}), reads({"--json"}),
                             Words{"count", kRead, "-i", "0.1", "-d", "1"}}) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    const Result result = probekit(words, {.output = ends[1]});
    close(ends[1]);
    // Not killed by SIGPIPE, with its probes attached.
    EXPECT_EQ(result.status, 1) << result.err;
  }
}

}  // namespace
}  // namespace probekit::test
