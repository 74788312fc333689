// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// A kernel that is locked down, which nothing undoes: alone in its own boot,
// where PROBEKIT_TEST_LOCKDOWN says so: "now", while it runs, or "boot", from
// the beginning.
#include <fcntl.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <fstream>
#include <probekit/error.hpp>
#include <sstream>

#include "cli.hpp"

namespace probekit::test {
namespace {

constexpr const char* kLockdown = "/sys/kernel/security/lockdown";

bool is_boot_for(std::string_view what) {
  const char* wanted = std::getenv("PROBEKIT_TEST_LOCKDOWN");
  return wanted && wanted == what;
}

class LockdownTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_boot_for("now")) GTEST_SKIP() << "not in this boot";
    ASSERT_TRUE(bool{std::ifstream(kLockdown)}) << "no lockdown here";
  }

  static void lock_down() {
    std::ofstream(kLockdown) << "confidentiality";
    std::string state;
    std::getline(std::ifstream(kLockdown), state);
    ASSERT_NE(state.find("[confidentiality]"), state.npos) << state;
  }
};

/// The exception that `action` throws, which must be an UnsupportedError.
std::optional<UnsupportedError> unsupported(
    const std::function<void()>& action) {
  try {
    action();
  } catch (const UnsupportedError& e) {
    return e;
  } catch (const Error& e) {
    ADD_FAILURE() << "not an UnsupportedError: " << e.what();
    return std::nullopt;
  }
  ADD_FAILURE() << "no error";
  return std::nullopt;
}

TEST_F(LockdownTest, NothingIsProbed) {
  const Target target;
  std::optional<Engine> engine = Engine::open();
  const FileDescriptor device(open(PROBEKIT_DEVICE, O_RDWR | O_CLOEXEC));
  std::optional<Probe> live(std::in_place, *engine, elf::counters(), "both",
                            std::vector{at("target_leaf")});
  live->attach();
  std::optional<Probe> loaded(std::in_place, *engine, elf::counters(), "both",
                              std::vector{at("target_leaf")});
  loaded->object.load();
  Object next("both", elf::counters());
  next.load();

  lock_down();
  // Neither made, nor attached, nor given new handlers.
  auto error = unsupported([&] {
    engine->make_targets(std::vector<probekit_target>{{1, 0}});
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code().value(), EPERM);
  EXPECT_NE(error->remedy().find("lockdown"), std::string::npos);
  error = unsupported([&] { loaded->object.attach("both"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code().value(), EPERM);
  EXPECT_NE(error->remedy().find("lockdown"), std::string::npos);
  EXPECT_EQ(errno_of([&] { next.swap(*live->link, "both"); }), EPERM);
  // What has been probed before goes on, as the kernel's own probes do.
  target.run(TARGET_LEAF, 10);
  EXPECT_EQ(live->stats().exits, 10u);
  EXPECT_EQ(Engine::open().info().probes, 1u);

  live.reset();
  loaded.reset();
  engine.reset();
}

TEST_F(LockdownTest, ModuleIsNotLoaded) {
  lock_down();
  ASSERT_TRUE(eventually([] {
    const int error = unload_module("probekit");
    return error == 0 || error == ENOENT;
  }));
  const auto error = unsupported([] { Engine::open(); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->remedy().find("lockdown"), std::string::npos)
      << error->what();
  EXPECT_NE(error->remedy().find("signed"), std::string::npos) << error->what();
}

/// The module is not loaded: nothing that is not signed is.
class LockdownBootTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_boot_for("boot")) GTEST_SKIP() << "not in this boot";
  }
};

TEST_F(LockdownBootTest, CommandSaysWhy) {
  const Result result = probekit({"count", "ksys_read", "-d", "0.1"});
  EXPECT_EQ(result.status, 3);
  EXPECT_TRUE(result.says("lockdown")) << result.err;
}

TEST_F(LockdownBootTest, CheckKnowsIt) {
  const Result result = probekit({"check"});
  EXPECT_EQ(result.status, 3);
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);)
    if (line.find("lockdown ") != line.npos) {
      EXPECT_NE(line.find("confidentiality"), line.npos) << result.out;
    }
  EXPECT_TRUE(result.prints("confidentiality")) << result.out;
}

}  // namespace
}  // namespace probekit::test
