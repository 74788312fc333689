// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// A kernel that is locked down while it runs, which nothing undoes: alone in
// its own boot, where PROBEKIT_TEST_LOCKDOWN is set.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include <cstdlib>
#include <fstream>
#include <probekit/error.hpp>

#include "support.hpp"

namespace probekit::test {
namespace {

constexpr const char* kLockdown = "/sys/kernel/security/lockdown";

class LockdownTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* wanted = std::getenv("PROBEKIT_TEST_LOCKDOWN");
    if (!wanted || std::string_view(wanted) != "1")
      GTEST_SKIP() << "PROBEKIT_TEST_LOCKDOWN is not set";
    mount("securityfs", "/sys/kernel/security", "securityfs", 0, nullptr);
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

}  // namespace
}  // namespace probekit::test
