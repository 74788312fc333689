// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// What a probe adds to one getppid(), ours beside the kernel's own attach
// types and beside raw C fprobes; and what attaching costs. Runs in the guest.
// Under --icount a nanosecond is an instruction and the figures repeat to the
// last digit; the minimum of several rounds leaves interrupts out.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <probekit/probekit.hpp>
#include <string>
#include <thread>
#include <vector>

#include "handlers.hpp"
#include "latency.h"
#include "ours.skel.h"
#include "rivals.skel.h"

namespace {

using Clock = std::chrono::steady_clock;
using probekit::Error;

constexpr const char* kFunction = "__do_sys_getppid";
constexpr const char* kRawFprobe = "/sys/kernel/debug/probekit_bench";
constexpr std::uint32_t kRawExit = 1;
constexpr std::uint32_t kRawTime = 2;

/// Whatever is attached as long as this lives.
using Attached = std::shared_ptr<void>;

double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

/// Time of one getppid(): the best of many short rounds.
double measure() {
  constexpr int kRounds = 40;
  constexpr int kCalls = 1000;
  double best = 1e12;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int call = 0; call < kCalls; ++call) syscall(SYS_getppid);
    best = std::min(best, nanoseconds(Clock::now() - start) / kCalls);
  }
  return best;
}

// ---- ours ----

std::span<const std::byte> ours() {
  std::size_t size = 0;
  const void* data = ours_bpf::elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

std::vector<probekit_target> one_target(const probekit::SymbolTable& symbols) {
  const auto found = symbols.find(kFunction);
  if (found.empty()) throw Error("find", kFunction, ENOENT);
  return {{.address = found.front().address, .cookie = 0}};
}

struct Probe {
  probekit::TargetSet targets;
  probekit::Object object;
  std::optional<probekit::Link> link;
};

Attached attach(const probekit::Engine& engine,
                std::span<const probekit_target> targets,
                std::span<const std::byte> elf, const std::string& name,
                std::uint32_t kind) {
  auto probe = std::make_shared<Probe>(Probe{
      engine.make_targets(targets, kind), probekit::Object(name, elf), {}});
  probe->object.set_targets(name, probe->targets);
  probe->object.load();
  probe->link = probe->object.attach(name);
  return probe;
}

// ---- raw C fprobes ----

void load_raw_module() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe");
  const auto path =
      here.parent_path().parent_path() / "modules/probekit_bench.ko";
  const probekit::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if ((!file || syscall(SYS_finit_module, file.get(), "", 0)) &&
      errno != EEXIST)
    throw Error("load", path, errno);
}

class RawFprobe {
 public:
  RawFprobe() {
    load_raw_module();
    file_ = probekit::FileDescriptor(open(kRawFprobe, O_WRONLY | O_CLOEXEC));
    if (!file_) throw Error("open", kRawFprobe, errno);
  }

  Attached attach(std::span<const probekit_target> targets,
                  std::uint32_t flags) const {
    write_request(flags, targets);
    return {nullptr, [this](void*) { write_request(0, {}); }};
  }

 private:
  void write_request(std::uint32_t flags,
                     std::span<const probekit_target> targets) const {
    std::vector<std::uint64_t> request{flags | targets.size() << 32};
    for (const auto& target : targets) request.push_back(target.address);
    const auto size = request.size() * sizeof(request[0]);
    if (write(file_.get(), request.data(), size) != static_cast<ssize_t>(size))
      throw Error("attach", "a raw fprobe", errno);
  }

  probekit::FileDescriptor file_;
};

// ---- the kernel's BPF attach types ----

struct Rival {
  ~Rival() {
    for (auto& link : links) bpf_link__destroy(link);
    rivals_bpf::destroy(skeleton);
  }
  rivals_bpf* skeleton = rivals_bpf::open();
  std::vector<bpf_link*> links;
};

Attached attach_rival(const std::vector<std::string>& programs) {
  auto rival = std::make_shared<Rival>();
  bpf_object* object = rival->skeleton->obj;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    const std::string name = bpf_program__name(program);
    bpf_program__set_autoload(
        program, std::ranges::find(programs, name) != programs.end());
  }
  if (const int err = rivals_bpf::load(rival->skeleton))
    throw Error("load", programs.front(), -err);
  for (const auto& name : programs) {
    bpf_link* link = bpf_program__attach(
        bpf_object__find_program_by_name(object, name.c_str()));
    if (!link) throw Error("attach", name, errno);
    rival->links.push_back(link);
  }
  return rival;
}

// ---- the tables ----

struct Case {
  std::string name;
  std::function<Attached()> attach;
  std::optional<double> goal;  ///< most added time that we accept
};

std::vector<Case> cases(const probekit::Engine& engine, const RawFprobe& raw,
                        const std::vector<probekit_target>& targets) {
  const auto mine = [&, targets](std::span<const std::byte> elf,
                                 const std::string& name,
                                 std::uint32_t kind = PROBEKIT_KIND_FPROBE) {
    return [&engine, targets, elf, name, kind] {
      return attach(engine, targets, elf, name, kind);
    };
  };
  // the instruction after endbr64 and the place of ftrace
  const std::vector<probekit_target> second{
      {.address = targets.front().address + 9, .cookie = 0}};
  const auto inside = [&engine, second](const std::string& name) {
    return [&engine, second, name] {
      return attach(engine, second, ours(), name, PROBEKIT_KIND_KPROBE);
    };
  };
  const auto floor = [&raw, targets](std::uint32_t flags) {
    return [&raw, targets, flags] { return raw.attach(targets, flags); };
  };
  const auto rival = [](std::vector<std::string> programs) {
    return [programs = std::move(programs)] { return attach_rival(programs); };
  };
  namespace handlers = probekit::handlers;
  return {
      {"probekit entry, empty", mine(ours(), "entry"), 200},
      {"probekit entry + exit, empty", mine(ours(), "both"), 560},
      {"probekit entry + exit, start time", mine(ours(), "timed"), 700},
      {"probekit count", mine(handlers::count(), "count"), {}},
      {"probekit latency", mine(handlers::latency(), "latency"), {}},
      {"probekit kprobe at the entry, empty",
       mine(ours(), "pre", PROBEKIT_KIND_KPROBE),
       {}},
      {"probekit kprobe inside, empty", inside("pre"), {}},
      {"probekit kprobe inside, before and after", inside("pre_post"), {}},
      {"probekit kretprobe, empty",
       mine(ours(), "kret", PROBEKIT_KIND_KRETPROBE),
       {}},
      {"raw C fprobe entry, empty", floor(0), {}},
      {"raw C fprobe entry + exit, empty", floor(kRawExit), {}},
      {"raw C fprobe, start time", floor(kRawExit | kRawTime), {}},
      {"kprobe.session, empty", rival({"session_empty"}), {}},
      {"kprobe.session, cookie", rival({"session_time"}), {}},
      {"kprobe.multi, empty", rival({"kmulti_empty"}), {}},
      {"kprobe.multi + kretprobe.multi, empty",
       rival({"kmulti_empty", "kretmulti_empty"}),
       {}},
      {"kprobe.multi + kretprobe.multi, hash map",
       rival({"kmulti_time", "kretmulti_time"}),
       {}},
      {"fentry, empty", rival({"fentry_empty"}), {}},
      {"fentry + fexit, empty", rival({"fentry_empty", "fexit_empty"}), {}},
      {"fentry + fexit, hash map", rival({"fentry_time", "fexit_time"}), {}},
      {"kprobe, empty", rival({"kprobe_empty"}), {}},
      {"kprobe + kretprobe, empty",
       rival({"kprobe_empty", "kretprobe_empty"}),
       {}},
      {"kprobe + kretprobe, hash map",
       rival({"kprobe_time", "kretprobe_time"}),
       {}},
  };
}

/// Prints a line a case; returns how many missed their goal.
int per_hit(const std::vector<Case>& all) {
  const double bare = measure();
  fmt::print(
      "added to one getppid() of {:.0f} ns (instructions, under "
      "--icount)\n\n",
      bare);
  int missed = 0;
  for (const Case& one : all) {
    const Attached attached = one.attach();
    // the kernel optimises kprobes some time after they are registered
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double added = measure() - bare;
    const bool over = one.goal && added > *one.goal;
    missed += over;
    fmt::print("{:<42} {:>7.0f}{}\n", one.name, added,
               one.goal ? fmt::format("   goal {:.0f}{}", *one.goal,
                                      over ? ", missed" : "")
                        : "");
    std::fflush(stdout);
  }
  return missed;
}

template <typename Work>
double milliseconds(Work work) {
  const auto start = Clock::now();
  work();
  return nanoseconds(Clock::now() - start) / 1e6;
}

std::vector<probekit_target> many_targets(
    const probekit::SymbolTable& symbols) {
  const std::vector<probekit::Pattern> everything{probekit::Pattern("*")};
  const auto selection = probekit::select(symbols, everything);
  std::vector<probekit_target> targets;
  for (const auto& function : selection.targets)
    targets.push_back({.address = function.address, .cookie = 0});
  return targets;
}

int attaching(const probekit::Engine& engine, const RawFprobe& raw,
              const std::vector<probekit_target>& all) {
  fmt::print(
      "\nattaching entry and exit handlers, ms\n\n{:>9} {:>9} {:>9} "
      "{:>9} {:>9}\n",
      "functions", "engine", "raw", "ratio", "detach");
  int missed = 0;
  for (const std::size_t count : {1U, 100U, 1000U, 10000U}) {
    // spread over the kernel, as a pattern's matches are
    std::vector<probekit_target> some;
    const std::size_t step = std::max<std::size_t>(1, all.size() / count);
    for (std::size_t i = 0; i < all.size() && some.size() < count; i += step)
      some.push_back(all[i]);
    Probe probe{
        engine.make_targets(some), probekit::Object("both", ours()), {}};
    probe.object.set_targets("both", probe.targets);
    probe.object.load();
    Attached floor;
    const double theirs =
        milliseconds([&] { floor = raw.attach(some, kRawExit); });
    floor.reset();
    const double mine =
        milliseconds([&] { probe.link = probe.object.attach("both"); });
    const double off = milliseconds([&] { probe.link.reset(); });
    const bool over = count == 1000 && mine > 1.5 * theirs;
    missed += over;
    fmt::print(
        "{:>9} {:>9.1f} {:>9.1f} {:>9.2f} {:>9.1f}{}\n", some.size(), mine,
        theirs, mine / theirs, off,
        count == 1000 ? over ? "   goal 1.50, missed" : "   goal 1.50" : "");
    std::fflush(stdout);
  }
  return missed;
}

int resolving(std::optional<probekit::SymbolTable>& symbols) {
  const double names = milliseconds([&] {
    symbols =
        probekit::SymbolTable::of_running_kernel(probekit::Locations::assumed);
  });
  const double locations =
      milliseconds([&] { symbols = symbols->with_listed_locations(); });
  const bool over = names > 500;
  fmt::print(
      "\nresolving the {} function symbols of the kernel: {:.0f} ms   goal "
      "500{}\nreading what ftrace can attach to, for wide patterns: {:.0f} "
      "ms\n",
      symbols->functions().size(), names, over ? ", missed" : "", locations);
  return over;
}

int run() {
  std::optional<probekit::SymbolTable> symbols;
  int missed = resolving(symbols);
  const auto engine = probekit::Engine::open();
  const RawFprobe raw;
  missed += per_hit(cases(engine, raw, one_target(*symbols)));
  missed += attaching(engine, raw, many_targets(*symbols));
  return missed;
}

}  // namespace

int main() try { return run() ? 1 : 0; } catch (const std::exception& error) {
  fmt::print(stderr, "probekit_bench: {}\n", error.what());
  return 2;
}
