// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Requests made of chance, for PROBEKIT_FUZZ_SECONDS (default: 5). Whatever is
// answered, the kernel does not complain and the engine still works.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>

#include "support.hpp"

namespace probekit::test {
namespace {

using Clock = std::chrono::steady_clock;

class FuzzTest : public EngineTest {
 protected:
  void expect_still_working() const {
    Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
    probe.attach();
    target_.run(TARGET_LEAF, 10);
    EXPECT_EQ(probe.stats().exits, 10u);
  }
};

std::chrono::seconds patience() {
  const char* seconds = std::getenv("PROBEKIT_FUZZ_SECONDS");
  return std::chrono::seconds(seconds ? std::atoi(seconds) : 5);
}

/// Makes requests, with arguments in memory that another one changes.
class Fuzzer {
 public:
  Fuzzer(unsigned seed, void* memory)
      : random_(seed), memory_(static_cast<char*>(memory)) {}

  /// One request. Returns whether it succeeded.
  bool request(const std::vector<int>& files) {
    const int file = pick(files);
    const unsigned long command = command_of_chance();
    char* argument = argument_of_chance();
    if (argument) fill(argument);
    const int result = ioctl(file, command, argument);
    if (result > 2) close(result);
    ++requests;
    accepted += result >= 0;
    return result >= 0;
  }

  /// Changes a word of an argument that may be in use.
  void disturb() {
    auto* words = reinterpret_cast<std::uint32_t*>(memory_);
    std::atomic_ref<std::uint32_t> word{words[random_() % 16]};
    word = number_of_chance();
  }

  std::uint64_t requests = 0;
  std::uint64_t accepted = 0;

 private:
  template <typename Choices>
  typename Choices::value_type pick(const Choices& choices) {
    return choices[random_() % std::size(choices)];
  }

  bool rarely() { return random_() % 16 == 0; }

  std::uint32_t number_of_chance() {
    static constexpr std::array<std::uint32_t, 16> kNumbers{
        0,          1,          2,          15,
        16,         32,         48,         104,
        4096,       4097,       0x1000,     0x7fffffff,
        0x80000000, 0xfffffff8, 0xffffffff, PROBEKIT_MAX_TARGETS};
    return random_() % 4 ? pick(kNumbers)
                         : static_cast<std::uint32_t>(random_());
  }

  std::uint64_t address_of_chance() {
    const auto here = reinterpret_cast<std::uintptr_t>(memory_);
    const std::array<std::uint64_t, 10> addresses{
        0,        8,           here,  here + 4096, here + 8192 - 16,
        here + 8, here + 8192, ~0ULL, ~0ULL << 47, 0x8000'0000'0000};
    return rarely() ? random_() : pick(addresses);
  }

  unsigned long command_of_chance() {
    static constexpr std::array<unsigned long, 5> kCommands{
        PROBEKIT_IOC_INFO, PROBEKIT_IOC_TARGETS, PROBEKIT_IOC_STATS,
        PROBEKIT_IOC_PROBES, PROBEKIT_IOC_ENABLE};
    if (!rarely()) return pick(kCommands);
    return random_() % 2 ? random_() : pick(kCommands) ^ 1UL << random_() % 32;
  }

  /// Mostly where disturb() writes; also where nothing is.
  char* argument_of_chance() {
    if (!rarely()) return memory_;
    return reinterpret_cast<char*>(address_of_chance());
  }

  /// Writes an argument that is not always wrong at once.
  void fill(char* argument) {
    if (argument != memory_) return;
    probekit_targets arg{};
    arg.size = rarely() ? number_of_chance() : sizeof(arg);
    arg.kind = rarely() ? number_of_chance()
                        : PROBEKIT_KIND_FPROBE +
                              static_cast<std::uint32_t>(random_() % 3);
    arg.flags = rarely() ? number_of_chance() : 0;
    arg.count = rarely() ? number_of_chance()
                         : static_cast<std::uint32_t>(random_() % 64);
    arg.targets = address_of_chance();
    arg.verdicts = address_of_chance();
    arg.reserved = rarely() ? number_of_chance() : 0;
    std::memcpy(argument, &arg, sizeof(arg));
  }

  std::mt19937_64 random_;
  char* memory_;
};

TEST_F(FuzzTest, Requests) {
  constexpr std::size_t kMemory = 4 * 4096;
  void* memory = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  // Arrays end where memory does.
  ASSERT_EQ(munmap(static_cast<char*>(memory) + 2 * 4096, 2 * 4096), 0);

  const probekit_target good = at("target_leaf");
  std::memcpy(static_cast<char*>(memory) + 4096, &good, sizeof(good));

  const FileDescriptor device(open(PROBEKIT_DEVICE, O_RDWR | O_CLOEXEC));
  Probe probe = make_probe(elf::counters(), "both", {at("target_leaf")});
  probe.attach();
  const std::vector<int> files{device.get(), device.get(), probe.targets.fd(),
                               probe.link->fd()};
  const auto limit = Clock::now() + patience();
  std::atomic<unsigned> seeds = 1;
  std::atomic<std::uint64_t> requests = 0, accepted = 0;
  Threads fuzzers(2, [&] {
    Fuzzer fuzzer(seeds++, memory);
    while (Clock::now() < limit) {
      fuzzer.request(files);
    }
    requests += fuzzer.requests;
    accepted += fuzzer.accepted;
  });
  Threads disturber(1, [&] {
    Fuzzer fuzzer(seeds++, memory);
    while (Clock::now() < limit) fuzzer.disturb();
  });
  fuzzers.join();
  disturber.join();
  munmap(memory, kMemory);

  std::printf("%llu requests, %llu accepted\n",
              static_cast<unsigned long long>(requests),
              static_cast<unsigned long long>(accepted));
  EXPECT_GT(requests, 1000u);
  // All of them refused would mean that nothing was tried.
  EXPECT_GT(accepted, 10u);
  EXPECT_LT(accepted, requests);
  // Some of them were to disable the probe or its target.
  probe.targets.enable();
  probe.targets.enable(std::vector<std::uint32_t>{0});
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().exits, 10u);
  expect_still_working();
}

/// As many targets as there may be, none of which can be probed.
std::vector<probekit_target> bad_targets() {
  std::vector<probekit_target> targets(PROBEKIT_MAX_TARGETS);
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = {.address = 0xffff'ffff'8000'0001 + 64 * i, .cookie = i};
  return targets;
}

TEST_F(FuzzTest, MostTargetsAllOfThemBad) {
  const auto targets = bad_targets();
  const auto start = Clock::now();
  const TargetSet set = engine_.make_targets(targets);
  const auto took = Clock::now() - start;
  RecordProperty(
      "milliseconds",
      static_cast<int>(
          std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  EXPECT_EQ(set.accepted(), 0u);
  for (std::size_t i = 0; i < targets.size(); ++i)
    ASSERT_EQ(set.verdicts()[i], unsigned{PROBEKIT_TARGET_NOT_TRACEABLE})
        << std::hex << targets[i].address;
}

TEST_F(FuzzTest, MostTargetsAllOfThemTheSame) {
  const std::vector targets(PROBEKIT_MAX_TARGETS, at("target_leaf"));
  Probe probe = make_probe(elf::counters(), "both", targets);
  EXPECT_EQ(probe.targets.accepted(), 1u);
  EXPECT_EQ(probe.targets.verdicts().back(),
            unsigned{PROBEKIT_TARGET_DUPLICATE});
  probe.attach();
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().exits, 10u);
}

TEST_F(FuzzTest, KilledWhileItsTargetsAreLookedAt) {
  const auto targets = bad_targets();
  const Signal begun;
  Child child([&] {
    begun.send();
    for (;;) engine_.make_targets(targets);
    return 0;
  });
  ASSERT_TRUE(begun.wait());
  const auto start = Clock::now();
  child.kill(SIGKILL);
  child.wait();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace probekit::test
