// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Handlers that change what functions return, where that is allowed.
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <probekit/error.hpp>

#include "cli.hpp"

namespace probekit::test {
namespace {

constexpr std::uint64_t kMinusEnomem = -std::uint64_t{ENOMEM};

std::uint64_t refused(const Probe& probe) {
  std::uint64_t sum = 0;
  for (const auto count : probe.object.read_percpu<std::uint64_t>("refused", 0))
    sum += count;
  return sum;
}

/// The engine's module anew, with these parameters.
void reload(const char* parameters) {
  ASSERT_TRUE(eventually([] {
    const int error = unload_module("probekit");
    return error == 0 || error == ENOENT;
  }));
  utsname name{};
  uname(&name);
  const std::string path =
      std::string("/lib/modules/") + name.release + "/extra/probekit.ko";
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file) << path;
  ASSERT_EQ(syscall(SYS_finit_module, file.get(), parameters, 0), 0);
}

class OutcomeTest : public testing::Test {
 protected:
  OutcomeTest() {
    load_test_module("probekit_target");
    reload("change_outcome=1");
  }
  ~OutcomeTest() override { reload(""); }

  static Probe make(const Engine& engine, const char* name, std::uint32_t kind,
                    std::uint64_t address, std::uint64_t value,
                    std::uint32_t flags = PROBEKIT_FLAG_OUTCOME) {
    Probe probe(engine, elf::outcome(), name,
                {{.address = address, .cookie = value}}, kind);
    probe.object.set_flags(name, flags);
    return probe;
  }
};

TEST_F(OutcomeTest, FunctionIsSkipped) {
  const Engine engine = Engine::open();
  EXPECT_TRUE(engine.info().features & PROBEKIT_FEATURE_OUTCOME);
  const Target target;
  Probe probe = make(engine, "skipping", PROBEKIT_KIND_KPROBE,
                     address_of("target_middle"), kMinusEnomem);
  Probe inner(engine, elf::counters(), "both", {at("target_inner")});
  Probe middle(engine, elf::counters(), "both", {at("target_middle")});
  probe.attach();
  inner.attach();
  middle.attach();
  EXPECT_EQ(target.run(TARGET_CHAIN, 100, {1}), 100 - ENOMEM);
  EXPECT_EQ(inner.stats().entries, 0u) << "it did not run";
  EXPECT_EQ(middle.stats().entries, middle.stats().exits);
  EXPECT_EQ(probe.stats().entries, 100u);
  EXPECT_EQ(probe.stats().ftrace_based, 1u);
  EXPECT_EQ(probe.stats().optimised, 0u);
  EXPECT_EQ(probe.stats().flags, PROBEKIT_FLAG_OUTCOME);
  probe.targets.disable();
  EXPECT_EQ(target.run(TARGET_CHAIN, 1, {1}), 112);
  probe.targets.enable();
  EXPECT_EQ(target.run(TARGET_CHAIN, 1, {1}), 100 - ENOMEM);
  probe.detach();
  EXPECT_EQ(target.run(TARGET_CHAIN, 1, {1}), 112);
  EXPECT_EQ(refused(probe), 0u);
}

TEST_F(OutcomeTest, ReturnValueIsChanged) {
  const Engine engine = Engine::open();
  const Target target;
  for (const auto& [name, kind] :
       {std::pair{"returning", PROBEKIT_KIND_FPROBE},
        std::pair{"returning_kret", PROBEKIT_KIND_KRETPROBE}}) {
    Probe probe = make(engine, name, static_cast<std::uint32_t>(kind),
                       address_of("target_inner"), 1000);
    Probe inner(engine, elf::counters(), "both", {at("target_inner")});
    probe.attach();
    inner.attach();
    EXPECT_EQ(target.run(TARGET_CHAIN, 10, {1}), 1110) << name;
    EXPECT_EQ(inner.stats().exits, 10u) << "it did run";
    probe.detach();
    EXPECT_EQ(target.run(TARGET_CHAIN, 1, {1}), 112) << name;
  }
}

TEST_F(OutcomeTest, NotWithoutTheFlag) {
  const Engine engine = Engine::open();
  const Target target;
  Probe probe = make(engine, "skipping", PROBEKIT_KIND_KPROBE,
                     address_of("target_middle"), kMinusEnomem, 0);
  probe.attach();
  EXPECT_EQ(target.run(TARGET_CHAIN, 10, {1}), 112);
  EXPECT_EQ(refused(probe), 10u);
}

TEST_F(OutcomeTest, OnlyAtTheEntryOfAFunction) {
  const Engine engine = Engine::open();
  Probe probe = make(engine, "skipping", PROBEKIT_KIND_KPROBE,
                     address_of("target_middle") + 9, kMinusEnomem);
  ASSERT_EQ(probe.targets.accepted(), 1u);
  EXPECT_EQ(errno_of([&] { probe.attach(); }), EOPNOTSUPP);
}

TEST_F(OutcomeTest, NotWhereTheModuleDoesNotAllowIt) {
  reload("");
  const Engine engine = Engine::open();
  EXPECT_FALSE(engine.info().features & PROBEKIT_FEATURE_OUTCOME);
  Probe probe = make(engine, "skipping", PROBEKIT_KIND_KPROBE,
                     address_of("target_middle"), kMinusEnomem);
  EXPECT_EQ(errno_of([&] { probe.attach(); }), EOPNOTSUPP);
}

class InjectCommandTest : public OutcomeTest {
 protected:
  /// What 10 calls returned while the command ran, and what it printed.
  Result inject(Words words) {
    results_.clear();
    words.insert(words.begin(),
                 {"probekit", "inject", "probekit_target:target_middle", "-a",
                  "--json"});
    Command command(words);
    const Engine engine = Engine::open();
    EXPECT_TRUE(eventually([&] { return engine.probes().size() == 1; }));
    for (int i = 0; i < 10; ++i) {
      results_.push_back(target_.run(TARGET_CHAIN, 1, {1}));
    }
    command.kill(SIGINT);
    return command.wait();
  }

  std::int64_t changed() const {
    return std::count(results_.begin(), results_.end(), 100 - ENOMEM);
  }

  Target target_;
  std::vector<std::int64_t> results_;
};

TEST_F(InjectCommandTest, EachCall) {
  const Result result = inject({"--return", "-ENOMEM"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(changed(), 10);
  EXPECT_EQ(calls_of(result, "target_middle"), 10u);
  EXPECT_TRUE(result.says("must be able to cope")) << result.err;
}

TEST_F(InjectCommandTest, SomeCalls) {
  Result result = inject({"--return=-12", "--every", "5"});
  EXPECT_EQ(changed(), 2);
  EXPECT_EQ(results_[4], 100 - ENOMEM);
  EXPECT_EQ(results_[9], 100 - ENOMEM);
  result = inject({"--return=-ENOMEM", "--times", "3"});
  EXPECT_EQ(changed(), 3);
  EXPECT_EQ(results_[2], 100 - ENOMEM);
  EXPECT_EQ(calls_of(result, "target_middle"), 3u);
  result = inject({"--return=-ENOMEM", "--probability", "100%"});
  EXPECT_EQ(changed(), 10);
  result = inject({"--return=-ENOMEM", "--comm", "nobody"});
  EXPECT_EQ(changed(), 0);
}

TEST_F(InjectCommandTest, NotWhereTheModuleDoesNotAllowIt) {
  reload("");
  const Result result = probekit(
      {"inject", "probekit_target:target_middle", "--return", "0", "-a"});
  EXPECT_EQ(result.status, 3);
  EXPECT_TRUE(result.says("change_outcome=1")) << result.err;
}

}  // namespace
}  // namespace probekit::test
