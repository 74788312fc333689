// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// One bad address never fails the rest, and malformed requests fail whole.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <probekit/error.hpp>

#include "support.hpp"

namespace probekit::test {
namespace {

constexpr std::uint32_t kOk = PROBEKIT_TARGET_OK;
constexpr std::uint32_t kNotTraceable = PROBEKIT_TARGET_NOT_TRACEABLE;
constexpr std::uint32_t kDuplicate = PROBEKIT_TARGET_DUPLICATE;

using RefusalTest = EngineTest;

std::vector<std::uint32_t> verdicts(const TargetSet& set) {
  return {set.verdicts().begin(), set.verdicts().end()};
}

TEST_F(RefusalTest, EachKindOfAddress) {
  int on_stack = 0;
  const std::uint64_t leaf = address_of("target_leaf");
  const std::vector<std::pair<std::uint64_t, std::uint32_t>> cases{
      {address_of("target_sum"), kOk},
      {address_of("target_untraced"), kNotTraceable},
      {leaf + 9, kNotTraceable},  // in the middle
      {leaf, kOk},
      {leaf, kDuplicate},
      {leaf + 5, kNotTraceable},  // of what ftrace patches, or past it
      {leaf - 1, kNotTraceable},
      {0, kNotTraceable},
      {1, kNotTraceable},
      {reinterpret_cast<std::uintptr_t>(&on_stack), kNotTraceable},
      {reinterpret_cast<std::uintptr_t>(&::getppid), kNotTraceable},
      {0x0000'8000'0000'0000, kNotTraceable},  // not canonical
      {0xffff'7fff'ffff'ffff, kNotTraceable},
      {0xffff'ffff'ff60'0000, kNotTraceable},  // vsyscall
      {0xffff'ffff'ffff'ffff, kNotTraceable},
      {0xffff'ffff'ffff'fffd, kNotTraceable},
      {address_of("jiffies", ""), kNotTraceable},  // data
      {address_of("target_sum"), kDuplicate},
      {address_of("target_inner"), kOk},
  };
  std::vector<probekit_target> targets;
  std::vector<std::uint32_t> expected;
  for (const auto& [address, verdict] : cases) {
    targets.push_back({.address = address, .cookie = targets.size()});
    expected.push_back(verdict);
  }
  Probe probe = make_probe(elf::record(), "pairs", targets);
  EXPECT_EQ(verdicts(probe.targets), expected);
  EXPECT_EQ(probe.targets.accepted(), 3u);
  EXPECT_EQ(probe.stats().accepted, 3u);

  // The good ones work, under the index and the cookie that they were given.
  probe.attach();
  EXPECT_EQ(probe.stats().attached, 3u);
  target_.run(TARGET_LEAF);
  target_.run(TARGET_SUM);
  target_.run(TARGET_CHAIN);
  target_.run(TARGET_UNTRACED);
  probe.detach();
  const auto entries = entries_of(events_of(probe.object));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].target, 3u);
  EXPECT_EQ(entries[1].target, 0u);
  EXPECT_EQ(entries[2].target, cases.size() - 1);
  for (const event& e : entries) EXPECT_EQ(e.cookie, e.target);
}

TEST_F(RefusalTest, OneAddressOfAFunctionOnly) {
  // Every byte of it but two: its first, and that of its ftrace location.
  const std::uint64_t leaf = address_of("target_leaf");
  for (std::uint64_t offset = 1; offset < 12; ++offset) {
    const auto set =
        engine_.make_targets(std::vector<probekit_target>{{leaf + offset, 0}});
    if (offset == 4) continue;
    EXPECT_EQ(set.accepted(), 0u) << offset;
  }
}

TEST_F(RefusalTest, FunctionAndItsFtraceLocationAreOne) {
  const std::uint64_t leaf = address_of("target_leaf");
  const auto set = engine_.make_targets(
      std::vector<probekit_target>{{leaf, 0}, {leaf + 4, 0}});
  // Without endbr64 the second is in the middle of the function.
  EXPECT_EQ(set.accepted(), 1u);
  EXPECT_EQ(set.verdicts()[0], kOk);
  EXPECT_NE(set.verdicts()[1], kOk);
}

TEST_F(RefusalTest, BadOnesAmongThousands) {
  // Every other address is bad, and in no order.
  std::vector<probekit_target> targets;
  const std::uint64_t leaf = address_of("target_leaf");
  for (std::uint64_t i = 0; i < 1000; ++i)
    targets.push_back(
        {.address = leaf + 1000 * 4096 * (i % 7 + 1) + 3 * i, .cookie = 0});
  targets[500].address = leaf;
  targets[999].address = address_of("target_sum");
  const auto set = engine_.make_targets(targets);
  EXPECT_EQ(set.accepted(), 2u);
  for (std::size_t i = 0; i < targets.size(); ++i)
    EXPECT_EQ(set.verdicts()[i], i == 500 || i == 999 ? kOk : kNotTraceable);
}

/// What the error says when a probe cannot be attached.
std::string complaint(Probe probe) {
  try {
    probe.attach();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(RefusalTest, WhatIsWrongWithAProbeIsNamed) {
  const auto with = [&](const char* name, std::uint32_t maxactive,
                        std::uint32_t flags) {
    Probe probe = make_probe(elf::counters(), name, {at("target_leaf")});
    probe.object.set_maxactive(name, maxactive);
    probe.object.set_flags(name, flags);
    return complaint(std::move(probe));
  };
  EXPECT_NE(with("both", PROBEKIT_MAX_ACTIVE + 1, 0)
                .find("nr_maxactive is 1048577, the most is 1048576"),
            std::string::npos);
  EXPECT_NE(with("entry_only", 5, 0)
                .find("nr_maxactive is 5, but there is no handler of the exit"),
            std::string::npos)
      << with("entry_only", 5, 0);
  EXPECT_NE(with("both", 0, 0x100).find("flags has unknown bits: 0x100"),
            std::string::npos);
  EXPECT_EQ(with("both", 0, 0), "no error");
}

TEST_F(RefusalTest, NothingToProbe) {
  Probe probe = make_probe(elf::counters(), "both", {at("target_untraced")});
  EXPECT_EQ(probe.targets.accepted(), 0u);
  EXPECT_EQ(test::errno_of([&] { probe.attach(); }), ENOENT);
  EXPECT_EQ(probe.stats().state, unsigned{PROBEKIT_STATE_IDLE});
}

/// Requests as no library makes them.
class RequestTest : public EngineTest {
 protected:
  RequestTest() : device_(open(PROBEKIT_DEVICE, O_RDWR | O_CLOEXEC)) {}

  static std::size_t open_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  /// Zero, or the errno. No failure may leave a descriptor behind.
  int errno_of(unsigned long command, void* argument) const {
    const auto before = open_files();
    const int fd = ioctl(device_.get(), command, argument);
    const int error = fd < 0 ? errno : 0;
    if (fd > 0) close(fd);
    EXPECT_EQ(open_files(), before);
    return error;
  }

  probekit_targets request() {
    probekit_targets arg{};
    arg.size = sizeof(arg);
    arg.kind = PROBEKIT_KIND_FPROBE;
    arg.count = 1;
    arg.targets = reinterpret_cast<std::uintptr_t>(&leaf_);
    arg.verdicts = reinterpret_cast<std::uintptr_t>(&verdict_);
    return arg;
  }

  int errno_with(const std::function<void(probekit_targets&)>& change) {
    probekit_targets arg = request();
    change(arg);
    return errno_of(PROBEKIT_IOC_TARGETS, &arg);
  }

  FileDescriptor device_;
  probekit_target leaf_ = at("target_leaf");
  std::uint32_t verdict_ = 77;
};

TEST_F(RequestTest, WellFormed) {
  EXPECT_EQ(errno_with([](auto&) {}), 0);
  EXPECT_EQ(verdict_, kOk);
  EXPECT_EQ(errno_with([](auto& arg) { arg.verdicts = 0; }), 0);
}

TEST_F(RequestTest, Malformed) {
  EXPECT_EQ(errno_with([](auto& arg) { arg.kind = 0; }), EOPNOTSUPP);
  EXPECT_EQ(errno_with([](auto& arg) { arg.kind = ~0U; }), EOPNOTSUPP);
  EXPECT_EQ(errno_with([](auto& arg) { arg.flags = 1; }), EINVAL);
  EXPECT_EQ(errno_with([](auto& arg) { arg.reserved = 1; }), EINVAL);
  EXPECT_EQ(errno_with([](auto& arg) { arg.count = 0; }), EINVAL);
  for (const std::uint32_t count : {PROBEKIT_MAX_TARGETS + 1, ~0U})
    EXPECT_EQ(errno_with([=](auto& arg) { arg.count = count; }), E2BIG);
  EXPECT_EQ(errno_with([](auto& arg) { arg.targets = 0; }), EFAULT);
  EXPECT_EQ(errno_with([](auto& arg) { arg.targets = ~0ULL; }), EFAULT);
  EXPECT_EQ(errno_with([](auto& arg) { arg.verdicts = 8; }), EFAULT);
  EXPECT_EQ(errno_with([](auto& arg) {
              arg.targets = 0xffff'8880'0000'0000;  // the kernel's memory
            }),
            EFAULT);
  EXPECT_EQ(errno_of(PROBEKIT_IOC_TARGETS, nullptr), EFAULT);
  EXPECT_EQ(errno_of(PROBEKIT_IOC_INFO, nullptr), EFAULT);
  EXPECT_EQ(errno_of(0, nullptr), ENOTTY);
  EXPECT_EQ(errno_of(PROBEKIT_IOC_STATS, nullptr), ENOTTY);
  EXPECT_EQ(verdict_, 77u);
}

TEST_F(RequestTest, ArrayThatEndsInUnmappedMemory) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  munmap(memory + page, page);
  const auto last =
      reinterpret_cast<std::uintptr_t>(memory + page) - sizeof(probekit_target);
  EXPECT_EQ(errno_with([=](auto& arg) { arg.targets = last; }), 0);
  EXPECT_EQ(errno_with([=](auto& arg) {
              arg.targets = last;
              arg.count = 2;
            }),
            EFAULT);
  EXPECT_EQ(errno_with([=](auto& arg) { arg.targets = last + 1; }), EFAULT);
  // Verdicts cannot be written there.
  EXPECT_EQ(errno_with([=](auto& arg) { arg.verdicts = last; }), EFAULT);
  munmap(memory, page);
}

/// An argument with a tail that this version knows nothing of.
template <typename T>
struct Grown {
  T arg;
  std::array<std::uint8_t, 32> tail;
};

TEST_F(RequestTest, OtherSizes) {
  Grown<probekit_targets> targets{request(), {}};
  targets.arg.size = sizeof(targets);
  EXPECT_EQ(errno_of(PROBEKIT_IOC_TARGETS, &targets), 0);
  targets.tail[31] = 1;
  EXPECT_EQ(errno_of(PROBEKIT_IOC_TARGETS, &targets), E2BIG);

  Grown<probekit_info> info{};
  info.arg.size = sizeof(info);
  EXPECT_EQ(errno_of(PROBEKIT_IOC_INFO, &info), 0);
  EXPECT_EQ(info.arg.size, sizeof(info));
  EXPECT_EQ(info.arg.abi_major, unsigned{PROBEKIT_ABI_MAJOR});
  EXPECT_EQ(info.arg.max_targets, PROBEKIT_MAX_TARGETS);
  // An older program, which does not know the last members.
  std::memset(&info, 0xee, sizeof(info));
  info.arg.size = 16;
  EXPECT_EQ(errno_of(PROBEKIT_IOC_INFO, &info), 0);
  EXPECT_EQ(info.arg.abi_major, unsigned{PROBEKIT_ABI_MAJOR});
  EXPECT_EQ(info.arg.max_targets, 0xeeee'eeeeu);

  for (const std::uint32_t size : {0u, 4u, 15u, 4097u, ~0U}) {
    info.arg.size = size;
    EXPECT_EQ(errno_of(PROBEKIT_IOC_INFO, &info), EINVAL) << size;
    EXPECT_EQ(errno_with([=](auto& arg) { arg.size = size; }), EINVAL) << size;
  }
}

TEST_F(RequestTest, CountersAreOfTargetSetsOnly) {
  const TargetSet set = engine_.make_targets(std::vector{leaf_});
  probekit_stats stats{};
  stats.size = sizeof(stats);
  EXPECT_EQ(ioctl(set.fd(), PROBEKIT_IOC_STATS, &stats), 0);
  EXPECT_EQ(ioctl(set.fd(), PROBEKIT_IOC_INFO, &stats), -1);
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_EQ(ioctl(set.fd(), PROBEKIT_IOC_STATS, nullptr), -1);
  EXPECT_EQ(errno, EFAULT);
  stats.size = 3;
  EXPECT_EQ(ioctl(set.fd(), PROBEKIT_IOC_STATS, &stats), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace probekit::test
