// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef TESTS_GUEST_SUPPORT_HPP
#define TESTS_GUEST_SUPPORT_HPP

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <probekit/engine.hpp>
#include <probekit/object.hpp>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "events.h"
#include "probekit_target.h"

namespace probekit::test {

/// Waiting for an event fails after that long: far more than it takes, even
/// where the kernel is emulated on a busy machine.
inline constexpr std::chrono::seconds kPatience{10};

/// Asks `condition` until it holds or patience ends; what it said last.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds patience = kPatience);

/// The errno of the library's error that `action` throws; zero: none.
int errno_of(const std::function<void()>& action);

/// Address of a function, all of its addresses, or a failure of the test.
std::uint64_t address_of(std::string_view function,
                         std::string_view module = "probekit_target");
std::vector<std::uint64_t> addresses_of(
    std::string_view function, std::string_view module = "probekit_target");

/// A function of the test module as a target.
probekit_target at(std::string_view function, std::uint64_t cookie = 0);

/// Path of a module that lies with the tests.
std::string test_module(const std::string& name);
/// Loads it, unless one of that name is loaded.
void load_test_module(const std::string& name);
/// delete_module(): zero, or the errno.
int unload_module(const std::string& name);
/// Users of a module, or nothing where it is not loaded.
std::optional<int> module_users(const std::string& name);

/// The device of the test module.
class Target {
 public:
  Target();

  /// What the function returned, or the negative errno of the device.
  std::int64_t run(target_action action, std::uint32_t times = 1,
                   std::initializer_list<std::uint64_t> args = {}) const;

 private:
  FileDescriptor device_;
};

/// Threads that do the same; joined at the end.
class Threads {
 public:
  Threads(int count, const std::function<void()>& body);
  Threads(Threads&&) noexcept = default;
  ~Threads() { join(); }

  void join();

 private:
  std::vector<std::thread> threads_;
};

/// Calls of target_block() in flight, each of another thread.
class BlockedCalls {
 public:
  BlockedCalls(const Target& target, int count);
  ~BlockedCalls() { release(); }

  /// Lets them return, and waits until their threads have ended.
  void release();

 private:
  const Target& target_;
  Threads threads_;
};

/// A process that runs `body` and ends with its result. Killed at the end.
class Child {
 public:
  explicit Child(const std::function<int()>& body);
  Child(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  void kill(int signal) const;
  /// As waitpid() says it.
  int wait();

 private:
  pid_t pid_;
};

/// A word from a child to its parent, or the other way round.
class Signal {
 public:
  Signal();

  void send() const;
  /// False where patience ends first, or the other side has.
  bool wait() const;

 private:
  FileDescriptor read_;
  FileDescriptor write_;
};

/// The test handlers, by file.
namespace elf {
std::span<const std::byte> record();
std::span<const std::byte> data();
std::span<const std::byte> counters();
std::span<const std::byte> enclosing();
std::span<const std::byte> kinds();
std::span<const std::byte> outcome();
std::span<const std::byte> stack();
}  // namespace elf

/// A probe on its way: targets, an object aimed at them, and its link.
struct Probe {
  Probe(const Engine& engine, std::span<const std::byte> elf, std::string probe,
        const std::vector<probekit_target>& wanted,
        std::uint32_t kind = PROBEKIT_KIND_FPROBE);

  /// Loads and attaches.
  Probe& attach();
  void detach() { link.reset(); }

  probekit_stats stats() const { return targets.stats(); }
  /// Entries of counters.bpf.c for one target.
  hits counted(std::uint32_t target = 0) const;

  std::string name;
  TargetSet targets;
  Object object;
  std::optional<Link> link;
};

/// What record.bpf.c has recorded, by number.
std::vector<event> events_of(const Object& object);
std::vector<event> entries_of(const std::vector<event>& events);
std::vector<event> exits_of(const std::vector<event>& events);

/// The one event with that number.
const event& event_number(const std::vector<event>& events,
                          std::uint64_t number);

/// exits + in_flight + cancelled + every missed_*: the entries of a probe with
/// an exit handler.
std::uint64_t accounted_for(const probekit_stats& stats);
void expect_balance(const probekit_stats& stats);

/// An engine and the test module, for each test anew.
class EngineTest : public testing::Test {
 protected:
  EngineTest();

  Probe make_probe(std::span<const std::byte> elf, const std::string& name,
                   const std::vector<probekit_target>& targets) const {
    return Probe(engine_, elf, name, targets);
  }
  std::uint32_t live_probes() const;

  Target target_;
  Engine engine_;
};

}  // namespace probekit::test

#endif  // TESTS_GUEST_SUPPORT_HPP
