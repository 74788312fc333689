// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Tests of the engine, on the engine: run as root in the guest.
//
// After each test the kernel must not have complained, no probe may be left,
// and nobody may use the module any more; else the test that ran fails.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "support.hpp"

namespace {

using probekit::FileDescriptor;
using namespace probekit::test;

/// What must not be in the kernel's log.
constexpr std::array<std::string_view, 24> kComplaints{
    "WARNING:",
    "BUG:",
    "Oops",
    "Call Trace:",
    "general protection fault",
    "unable to handle",
    "KASAN",
    "KFENCE",
    "UBSAN",
    "ODEBUG",
    "DEBUG_LOCKS_WARN_ON",
    "possible circular locking",
    "possible recursive locking",
    "inconsistent lock state",
    "bad unlock balance",
    "suspicious RCU usage",
    "detected stall",
    "detected expedited stall",
    "soft lockup",
    "hung task",
    "refcount_t:",
    "corruption",
    "scheduling while atomic",
    "rethook:",
};

/// The kernel's log from now on.
class KernelLog {
 public:
  KernelLog() : file_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (lseek(file_.get(), 0, SEEK_END) < 0)
      ADD_FAILURE() << "the kernel's log cannot be read";
  }

  /// Fails the test that runs for every complaint since the last call.
  void expect_silence() {
    std::array<char, 8192> record;
    for (;;) {
      const ssize_t size = read(file_.get(), record.data(), record.size());
      if (size < 0 && errno == EAGAIN) return;
      if (size < 0) {
        ADD_FAILURE() << "the kernel's log: " << strerror(errno);
        if (errno == EPIPE) continue;  // it was faster than we
        return;
      }
      const std::string_view line(record.data(),
                                  static_cast<std::size_t>(size));
      for (const auto complaint : kComplaints)
        if (line.find(complaint) != line.npos)
          ADD_FAILURE() << "the kernel complained: " << line;
    }
  }

 private:
  FileDescriptor file_;
};

class Watch : public testing::EmptyTestEventListener {
 private:
  void OnTestStart(const testing::TestInfo&) override {
    users_ = module_users("probekit").value_or(0);
  }

  void OnTestEnd(const testing::TestInfo&) override {
    // Programs are freed by RCU, some time after their link.
    const bool idle = eventually(
        [&] { return module_users("probekit").value_or(0) <= users_; },
        std::chrono::seconds(2));
    EXPECT_TRUE(idle) << "the module probekit has "
                      << module_users("probekit").value_or(0)
                      << " users, it had " << users_;
    if (module_users("probekit")) {
      EXPECT_EQ(probekit::Engine::open().info().probes, 0u)
          << "probes are left";
    }
    log_.expect_silence();
  }

  KernelLog log_;
  int users_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new Watch);
  const int status = RUN_ALL_TESTS();
  // A filter that is out of date must not pass for a success.
  return testing::UnitTest::GetInstance()->test_to_run_count() ? status : 1;
}
