// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Handlers that change what functions return, where that is allowed.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <probekit/error.hpp>

#include "outcome.skel.h"
#include "support.hpp"

namespace probekit::test {
namespace {

constexpr std::uint64_t kMinusEnomem = -std::uint64_t{ENOMEM};

std::span<const std::byte> outcome() {
  std::size_t size = 0;
  const void* data = outcome_bpf::elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

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
    Probe probe(engine, outcome(), name,
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

}  // namespace
}  // namespace probekit::test
