// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Who may not load tracing programs may not probe, whatever was inherited.
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <probekit/error.hpp>

#include "counters.skel.h"
#include "support.hpp"

namespace probekit::test {
namespace {

constexpr uid_t kNobody = 65534;
constexpr int kDone = 200;

/// What `body` returns, run by a user without rights; kDone: it succeeded.
int as_nobody(const std::function<int()>& body) {
  const int status = Child([&] {
                       if (setgid(kNobody) || setuid(kNobody)) return 201;
                       return body();
                     }).wait();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

int make_targets_with(int device) {
  probekit_target target{};
  probekit_targets arg{};
  arg.size = sizeof(arg);
  arg.kind = PROBEKIT_KIND_FPROBE;
  arg.count = 1;
  arg.targets = reinterpret_cast<std::uintptr_t>(&target);
  return ioctl(device, PROBEKIT_IOC_TARGETS, &arg) < 0 ? errno : kDone;
}

using RightsTest = EngineTest;

TEST_F(RightsTest, DeviceIsRootsOnly) {
  struct stat device {};
  ASSERT_EQ(stat(PROBEKIT_DEVICE, &device), 0);
  EXPECT_EQ(device.st_uid, 0u);
  EXPECT_EQ(device.st_mode & 07777, 0600u);
  EXPECT_EQ(as_nobody([] {
              return open(PROBEKIT_DEVICE, O_RDWR) < 0 ? errno : kDone;
            }),
            EACCES);
}

TEST_F(RightsTest, DeviceThatAnybodyMayOpen) {
  ASSERT_EQ(chmod(PROBEKIT_DEVICE, 0666), 0);
  EXPECT_EQ(as_nobody([] {
              return open(PROBEKIT_DEVICE, O_RDWR) < 0 ? errno : kDone;
            }),
            EPERM);
  EXPECT_EQ(chmod(PROBEKIT_DEVICE, 0600), 0);
}

TEST_F(RightsTest, InheritedDevice) {
  const FileDescriptor device(open(PROBEKIT_DEVICE, O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(bool{device});
  EXPECT_EQ(as_nobody([&] { return make_targets_with(device.get()); }), EPERM);
  EXPECT_EQ(Child([&] {
              const bool made = make_targets_with(device.get()) == kDone;
              return made ? 0 : 1;
            }).wait(),
            0);
}

/// Whether the kernel itself keeps users without rights from bpf().
class UnprivilegedBpf {
 public:
  UnprivilegedBpf() {
    std::ifstream(kPath) >> before_;
    std::ofstream(kPath) << 0;
  }
  ~UnprivilegedBpf() { std::ofstream(kPath) << before_; }

 private:
  static constexpr const char* kPath =
      "/proc/sys/kernel/unprivileged_bpf_disabled";
  int before_ = 0;
};

TEST_F(RightsTest, InheritedTargetsAndPrograms) {
  const TargetSet set = engine_.make_targets(std::vector{at("target_leaf")});
  const std::unique_ptr<counters_bpf, void (*)(counters_bpf*)> object(
      counters_bpf::open(), counters_bpf::destroy);
  object->struct_ops.both->targets_fd = static_cast<unsigned>(set.fd());
  ASSERT_EQ(counters_bpf::load(object.get()), 0);
  bpf_link* link = bpf_map__attach_struct_ops(object->maps.both);
  ASSERT_NE(link, nullptr);
  bpf_link__destroy(link);
  ASSERT_EQ(live_probes(), 0u);

  // All that is needed for another link is there, but for the rights.
  const auto make_link = [&] {
    const int fd = bpf_link_create(bpf_map__fd(object->maps.both), 0,
                                   BPF_STRUCT_OPS, nullptr);
    return fd < 0 ? -fd : kDone;
  };
  EXPECT_EQ(as_nobody(make_link), EPERM);
  {
    const UnprivilegedBpf allowed;
    EXPECT_EQ(as_nobody(make_link), EPERM);
  }
  EXPECT_EQ(live_probes(), 0u);
  EXPECT_EQ(WEXITSTATUS(Child(make_link).wait()), kDone);
}

TEST_F(RightsTest, LibrarySaysWhatIsMissing) {
  EXPECT_EQ(as_nobody([] {
              try {
                Engine::open();
              } catch (const UnsupportedError& e) {
                return e.remedy().find("root") == std::string::npos ? 1 : 0;
              }
              return kDone;
            }),
            0);
  EXPECT_EQ(as_nobody([] {
              try {
                Object("both", elf::counters()).load();
              } catch (const UnsupportedError& e) {
                return e.remedy().find("root") == std::string::npos ? 1 : 0;
              }
              return kDone;
            }),
            0);
}

}  // namespace
}  // namespace probekit::test
