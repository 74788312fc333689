// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the command learns from the files of a machine, and programs it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <probekit/error.hpp>
#include <thread>

#include "cgroup.hpp"
#include "checks.hpp"
#include "process.hpp"
#include "stop_signals.hpp"
#include "wait.hpp"
#include "workload.hpp"

namespace probekit::tools {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

// A machine that has everything.
class FakeMachine : public testing::Test {
 protected:
  FakeMachine() {
    put("proc/sys/kernel/osrelease", "6.12.1-test\n");
    put("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
    put("proc/kallsyms",
        "0000000000000000 A fixed_percpu_data\n"
        "ffffffff81000000 T register_fprobe_ips\n"
        "ffffffff81000010 T register_kprobe\n"
        "ffffffff81000020 T __register_bpf_struct_ops\n"
        "ffffffffc0000000 t foo\t[bar]\n");
    put("proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
    put("proc/sys/net/core/bpf_jit_enable", "1\n");
    put("proc/sys/kernel/ftrace_enabled", "1\n");
    put("sys/kernel/btf/vmlinux", "x");
    put("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    put("sys/kernel/tracing/available_filter_functions_addrs",
        "ffffffff81000000 f\n");
    put("lib/modules/6.12.1-test/modules.dep", "extra/probekit.ko:\n");
  }
  ~FakeMachine() override { fs::remove_all(root_); }

  void put(const std::string& path, std::string_view text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void remove(const std::string& path) const { fs::remove_all(root_ / path); }

  std::vector<std::string> failures() const {
    std::vector<std::string> names;
    for (const auto& result : check_machine(root_)) {
      EXPECT_EQ(result.ok, result.remedy.empty()) << result.what;
      EXPECT_FALSE(result.detail.empty()) << result.what;
      if (!result.ok) names.push_back(result.what);
    }
    return names;
  }

  const fs::path root_ = testing::TempDir() + "probekit_machine_test";
};

TEST_F(FakeMachine, IsFine) { EXPECT_THAT(failures(), IsEmpty()); }

TEST_F(FakeMachine, OldKernel) {
  put("proc/sys/kernel/osrelease", "6.11.9\n");
  put("lib/modules/6.11.9/extra/probekit.ko", "");
  EXPECT_THAT(failures(), ElementsAre("kernel"));
  put("proc/sys/kernel/osrelease", "7.3-rc1\n");
  put("lib/modules/7.3-rc1/updates/dkms/probekit.ko.xz", "");
  EXPECT_THAT(failures(), IsEmpty());
}

TEST_F(FakeMachine, Rights) {
  put("proc/self/status", "CapEff:\t0000000000000000\n");
  EXPECT_THAT(failures(), ElementsAre("rights"));
  put("proc/self/status", "CapEff:\t000000c000000000\n");
  EXPECT_THAT(failures(), ElementsAre("rights"));
  // Who need not load the module needs no right to.
  put("sys/module/probekit/version", "0.1.0\n");
  put("sys/kernel/btf/probekit", "x");
  EXPECT_THAT(failures(), IsEmpty());
}

TEST_F(FakeMachine, Lockdown) {
  put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
  EXPECT_THAT(failures(), ElementsAre("lockdown"));
  put("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
  EXPECT_THAT(failures(), ElementsAre("lockdown"));
  remove("sys/kernel/security");
  EXPECT_THAT(failures(), IsEmpty());
  put("sys/module/module/parameters/sig_enforce", "Y\n");
  EXPECT_THAT(failures(), ElementsAre("lockdown"));
}

TEST_F(FakeMachine, Bpf) {
  put("proc/sys/net/core/bpf_jit_enable", "0\n");
  EXPECT_THAT(failures(), ElementsAre("bpf"));
  remove("proc/sys/net/core/bpf_jit_enable");
  EXPECT_THAT(failures(), IsEmpty());
  remove("proc/sys/kernel/unprivileged_bpf_disabled");
  EXPECT_THAT(failures(), ElementsAre("bpf"));
}

TEST_F(FakeMachine, Tracing) {
  put("proc/sys/kernel/ftrace_enabled", "0\n");
  EXPECT_THAT(failures(), ElementsAre("ftrace"));
  put("proc/sys/kernel/ftrace_enabled", "1\n");
  remove("sys/kernel/tracing");
  EXPECT_THAT(failures(), ElementsAre("tracefs"));
  put("sys/kernel/debug/tracing/available_filter_functions_addrs", "0 f\n");
  EXPECT_THAT(failures(), IsEmpty());
}

TEST_F(FakeMachine, Symbols) {
  put("proc/kallsyms",
      "0000000000000000 T register_fprobe_ips\n"
      "0000000000000000 T register_kprobe\n"
      "0000000000000000 T __register_bpf_struct_ops\n");
  EXPECT_THAT(failures(), ElementsAre("symbols"));
  put("proc/kallsyms", "ffffffff81000000 T other\n");
  EXPECT_THAT(failures(), ElementsAre("bpf", "fprobe", "kprobes"));
  remove("proc/kallsyms");
  EXPECT_THAT(failures(), ElementsAre("fprobe", "kprobes", "symbols"));
}

TEST_F(FakeMachine, Module) {
  remove("lib");
  EXPECT_THAT(failures(), ElementsAre("module"));
  put("sys/module/probekit/refcnt", "0\n");
  EXPECT_THAT(failures(), ElementsAre("module"));
  put("sys/kernel/btf/probekit", "x");
  EXPECT_THAT(failures(), IsEmpty());
}

TEST(Cgroup, MountIsFound) {
  EXPECT_EQ(cgroup_mount(
                "20 1 0:5 / /proc rw - proc proc rw\n"
                "24 2 0:8 /sub /mnt/part rw - cgroup2 cgroup2 rw\n"
                "25 2 0:8 / /mnt/a\\040b rw,relatime shared:4 - cgroup2 c rw\n"
                "26 2 0:8 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            "/mnt/a b");
  EXPECT_EQ(cgroup_mount("20 1 0:5 / /sys/fs/cgroup rw - cgroup cgroup rw\n"),
            "");
  EXPECT_EQ(cgroup_mount(""), "");
}

TEST(Cgroup, OwnPathIsFound) {
  EXPECT_EQ(cgroup_path("9:name=systemd:/a\n0::/b/c d\n"), "/b/c d");
  EXPECT_EQ(cgroup_path("0::/\n"), "/");
  EXPECT_EQ(cgroup_path("9:cpu:/a\n"), "");
}

TEST(Process, ThatDoesNotExist) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_THROW(watch_process(child), Error);
  EXPECT_THROW(watch_thread(child), Error);
}

TEST(Process, ThreadIsToldFromProcess) {
  std::string message;
  std::thread thread([&] {
    try {
      watch_process(::gettid());
    } catch (const Error& error) {
      message = error.what();
    }
  });
  thread.join();
  EXPECT_THAT(message, HasSubstr("use --tid"));
}

TEST(Program, IsSearchedFor) {
  EXPECT_EQ(find_program("sh", "/nonexistent:/bin"), "/bin/sh");
  EXPECT_EQ(find_program("/bin/sh", ""), "/bin/sh");
  EXPECT_THROW(find_program("sh", "/nonexistent"), Error);
  EXPECT_THROW(find_program("no-such-program", "/bin:/usr/bin"), Error);
  EXPECT_THROW(find_program("/bin/no-such-program", "/bin"), Error);
  EXPECT_THROW(find_program("/etc", "/bin"), Error);
  EXPECT_THROW(find_program("/etc/passwd", "/bin"), Error);
}

class Programs : public testing::Test {
 protected:
  std::optional<std::string> status_of(const std::string& script) {
    const std::vector<std::string> program{"sh", "-c", script};
    Workload workload(program, false, signals_);
    workload.start();
    Wait wait;
    wait.ends = {workload.fd()};
    EXPECT_EQ(wait_for_end(wait, signals_), End::process);
    return workload.complaint();
  }

  StopSignals signals_;
};

TEST_F(Programs, Status) {
  EXPECT_EQ(status_of("exit 0"), std::nullopt);
  EXPECT_EQ(status_of("exit 3"), "exited with status 3");
  EXPECT_EQ(status_of("kill -9 $$"), "was killed by SIGKILL");
}

TEST_F(Programs, DoNothingBeforeTheStart) {
  const std::string file = testing::TempDir() + "probekit_program_test";
  const std::vector<std::string> program{"touch", file};
  {
    Workload workload(program, false, signals_);
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(Programs, ThatCannotBeExecuted) {
  const std::string file = testing::TempDir() + "probekit_program_test";
  std::ofstream(file) << "#!/no/such/interpreter\n";
  fs::permissions(file, fs::perms::owner_all);
  const std::vector<std::string> program{file};
  Workload workload(program, false, signals_);
  EXPECT_THROW(workload.start(), Error);
  fs::remove(file);
}

TEST_F(Programs, FindSignalsAsTheyWereBeforeUs) {
  // Bits of SIGHUP, SIGINT, SIGPIPE and SIGTERM among the ignored ones.
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(status_of("ign=$(sed -n 's/^SigIgn:.*\\(....\\)$/\\1/p' "
                      "/proc/self/status); exit $((0x$ign & 0x5003 ? 1 : 0))"),
            std::nullopt);
}

TEST_F(Programs, AreEnded) {
  for (const char* script : {"exec sleep 60", "trap '' INT; exec sleep 60"}) {
    const std::vector<std::string> program{"sh", "-c", script};
    Workload workload(program, false, signals_);
    workload.start();
    workload.end(false);
    EXPECT_EQ(workload.complaint(), "was killed by SIGTERM");
  }
}

TEST(Waiting, EndsInTime) {
  const StopSignals signals;
  int intervals = 0;
  Wait wait;
  wait.duration = 100ms;
  wait.interval = 30ms;
  wait.on_interval = [&] { ++intervals; };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(wait_for_end(wait, signals), End::time);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 100ms);
  EXPECT_GE(intervals, 1);
  EXPECT_LE(intervals, 3);
}

TEST(Waiting, EndsBySignal) {
  const StopSignals signals;
  ::raise(SIGTERM);
  EXPECT_EQ(signals.received(), SIGTERM);
  EXPECT_EQ(wait_for_end({}, signals), End::signal);
}

TEST(Waiting, BlockedSignalsWait) {
  const StopSignals signals;
  {
    const BlockStopSignals block;
    ::raise(SIGINT);
    EXPECT_EQ(signals.received(), 0);
  }
  EXPECT_EQ(signals.received(), SIGINT);
}

}  // namespace
}  // namespace probekit::tools
