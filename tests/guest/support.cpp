// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "support.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <probekit/error.hpp>
#include <sstream>

#include "counters.skel.h"
#include "data.skel.h"
#include "enclosing.skel.h"
#include "kinds.skel.h"
#include "outcome.skel.h"
#include "record.skel.h"
#include "stack.skel.h"

namespace probekit::test {
namespace {

std::span<const std::byte> bytes(const void* (*elf_bytes)(std::size_t*)) {
  std::size_t size = 0;
  const void* data = elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

std::filesystem::path modules_directory() {
  return std::filesystem::read_symlink("/proc/self/exe")
             .parent_path()
             .parent_path() /
         "modules";
}

/// Read once: the kernel takes long to make it. Modules that come and go make
/// it out of date.
std::string kallsyms_text;

const std::string& kallsyms() {
  if (kallsyms_text.empty()) {
    std::ifstream file("/proc/kallsyms");
    std::ostringstream text;
    text << file.rdbuf();
    kallsyms_text = text.str();
  }
  return kallsyms_text;
}

FileDescriptor open_target() {
  load_test_module("probekit_target");
  FileDescriptor device(open(TARGET_DEVICE, O_RDWR | O_CLOEXEC));
  if (!device) throw Error("open", TARGET_DEVICE, errno);
  return device;
}

}  // namespace

bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds patience) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return condition();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

int errno_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.code().value();
  }
  return 0;
}

std::vector<std::uint64_t> addresses_of(std::string_view function,
                                        std::string_view module) {
  const std::string owner =
      module.empty() ? "" : "\t[" + std::string(module) + "]";
  // ADDRESS TYPE NAME[\t[MODULE]]
  const std::string wanted = " " + std::string(function) + owner + "\n";
  const std::string& text = kallsyms();
  std::vector<std::uint64_t> found;
  // Modules come last: most of the text need not be searched for theirs.
  const auto start = module.empty() ? 0 : text.rfind('\n', text.find("\t["));
  for (auto at = text.find(wanted, start); at != text.npos;
       at = text.find(wanted, at + 1)) {
    const auto begin = text.rfind('\n', at);
    const auto line = begin == text.npos ? 0 : begin + 1;
    found.push_back(std::stoull(text.substr(line, at - line), nullptr, 16));
  }
  return found;
}

std::uint64_t address_of(std::string_view function, std::string_view module) {
  const auto found = addresses_of(function, module);
  if (found.size() != 1)
    throw Error("find", std::string(function),
                found.empty() ? ENOENT : ENOTUNIQ);
  return found.front();
}

probekit_target at(std::string_view function, std::uint64_t cookie) {
  return {.address = address_of(function), .cookie = cookie};
}

std::string test_module(const std::string& name) {
  return modules_directory() / (name + ".ko");
}

void load_test_module(const std::string& name) {
  const std::string path = test_module(name);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file && syscall(SYS_finit_module, file.get(), "", 0) == 0) {
    kallsyms_text.clear();
    return;
  }
  if (errno != EEXIST) throw Error("load", path, errno);
}

int unload_module(const std::string& name) {
  kallsyms_text.clear();
  return syscall(SYS_delete_module, name.c_str(), O_NONBLOCK) ? errno : 0;
}

std::optional<int> module_users(const std::string& name) {
  std::ifstream file("/sys/module/" + name + "/refcnt");
  int users = 0;
  return file >> users ? std::optional(users) : std::nullopt;
}

Target::Target() : device_(open_target()) {}

std::int64_t Target::run(target_action action, std::uint32_t times,
                         std::initializer_list<std::uint64_t> args) const {
  target_request request{};
  request.action = action;
  request.times = times;
  std::copy(args.begin(), args.end(), request.args);
  if (ioctl(device_.get(), TARGET_IOC_RUN, &request)) return -errno;
  return request.result;
}

Threads::Threads(int count, const std::function<void()>& body) {
  for (int i = 0; i < count; ++i) threads_.emplace_back(body);
}

void Threads::join() {
  for (auto& thread : threads_)
    if (thread.joinable()) thread.join();
}

BlockedCalls::BlockedCalls(const Target& target, int count)
    : target_(target),
      threads_(count, [&target] { target.run(TARGET_BLOCK); }) {
  if (!eventually([&] { return target.run(TARGET_BLOCKED) == count; }))
    ADD_FAILURE() << "only " << target.run(TARGET_BLOCKED) << " of " << count
                  << " calls are in flight";
}

void BlockedCalls::release() {
  target_.run(TARGET_RELEASE);
  threads_.join();
}

Child::Child(const std::function<int()>& body) : pid_(fork()) {
  if (pid_ < 0) throw Error("fork", "a child", errno);
  if (pid_) return;
  int status = 125;
  try {
    status = body();
  } catch (const std::exception& e) {
    fprintf(stderr, "child: %s\n", e.what());
  }
  _exit(status);
}

Child::~Child() {
  if (pid_ < 0) return;
  kill(SIGKILL);
  wait();
}

void Child::kill(int signal) const { ::kill(pid_, signal); }

int Child::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return status;
}

Signal::Signal() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) throw Error("make", "a pipe", errno);
  read_ = FileDescriptor(ends[0]);
  write_ = FileDescriptor(ends[1]);
}

void Signal::send() const {
  if (write(write_.get(), "!", 1) != 1)
    throw Error("write to", "a pipe", errno);
}

bool Signal::wait() const {
  pollfd file{.fd = read_.get(), .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::milliseconds(kPatience).count();
  char word = 0;
  return poll(&file, 1, static_cast<int>(patience)) == 1 &&
         read(read_.get(), &word, 1) == 1;
}

namespace elf {
std::span<const std::byte> record() { return bytes(record_bpf::elf_bytes); }
std::span<const std::byte> data() { return bytes(data_bpf::elf_bytes); }
std::span<const std::byte> enclosing() {
  return bytes(enclosing_bpf::elf_bytes);
}
std::span<const std::byte> outcome() { return bytes(outcome_bpf::elf_bytes); }
std::span<const std::byte> stack() { return bytes(stack_bpf::elf_bytes); }
std::span<const std::byte> kinds() { return bytes(kinds_bpf::elf_bytes); }
std::span<const std::byte> counters() { return bytes(counters_bpf::elf_bytes); }
}  // namespace elf

Probe::Probe(const Engine& engine, std::span<const std::byte> elf,
             std::string probe, const std::vector<probekit_target>& wanted,
             std::uint32_t kind)
    : name(std::move(probe)),
      targets(engine.make_targets(wanted, kind)),
      object(name, elf) {
  object.set_targets(name, targets);
}

Probe& Probe::attach() {
  object.load();
  link = object.attach(name);
  return *this;
}

hits Probe::counted(std::uint32_t target) const {
  hits sum{};
  for (const hits& cpu : object.read_percpu<hits>("counters", target)) {
    sum.entries += cpu.entries;
    sum.exits += cpu.exits;
    sum.foreign += cpu.foreign;
  }
  return sum;
}

std::vector<event> events_of(const Object& object) {
  std::vector<event> events;
  for (std::uint32_t key = 0; key < EVENTS_MAX; ++key) {
    const auto cpus = object.read_percpu<event>("events", key);
    const auto found = std::find_if(
        cpus.begin(), cpus.end(), [](const event& e) { return e.number != 0; });
    if (found == cpus.end()) break;
    events.push_back(*found);
  }
  return events;
}

std::vector<event> entries_of(const std::vector<event>& events) {
  std::vector<event> entries;
  std::copy_if(events.begin(), events.end(), std::back_inserter(entries),
               [](const event& e) { return !e.is_exit; });
  return entries;
}

std::vector<event> exits_of(const std::vector<event>& events) {
  std::vector<event> exits;
  std::copy_if(events.begin(), events.end(), std::back_inserter(exits),
               [](const event& e) { return e.is_exit != 0; });
  return exits;
}

const event& event_number(const std::vector<event>& events,
                          std::uint64_t number) {
  const auto found =
      std::find_if(events.begin(), events.end(),
                   [number](const event& e) { return e.number == number; });
  if (found == events.end())
    throw Error("find", "event " + std::to_string(number), ENOENT);
  return *found;
}

std::uint64_t accounted_for(const probekit_stats& stats) {
  return stats.exits + stats.in_flight + stats.cancelled +
         stats.missed_recursion + stats.missed_storage + stats.missed_swapped +
         stats.missed_exit;
}

void expect_balance(const probekit_stats& stats) {
  EXPECT_EQ(stats.entries, accounted_for(stats));
}

EngineTest::EngineTest() : engine_(Engine::open()) {}

std::uint32_t EngineTest::live_probes() const {
  return Engine::open().info().probes;
}

}  // namespace probekit::test
