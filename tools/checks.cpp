// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "checks.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "values.hpp"

namespace probekit::tools {
namespace {

namespace fs = std::filesystem;

// Numbers of linux/capability.h.
struct Capability {
  unsigned bit;
  std::string_view name;
};
constexpr Capability kSysModule{16, "CAP_SYS_MODULE"};
constexpr Capability kSysAdmin{21, "CAP_SYS_ADMIN"};
constexpr Capability kPerfmon{38, "CAP_PERFMON"};
constexpr Capability kBpf{39, "CAP_BPF"};

CheckResult ok(std::string what, std::string detail) {
  return {std::move(what), true, std::move(detail), {}};
}

CheckResult bad(std::string what, std::string detail, std::string remedy) {
  return {std::move(what), false, std::move(detail), std::move(remedy)};
}

// What the checks look at, read once.
class Machine {
 public:
  explicit Machine(fs::path root) : root_(std::move(root)) {
    release_ = word("proc/sys/kernel/osrelease").value_or("");
    read_symbols();
  }

  const std::string& release() const { return release_; }
  bool module_loaded() const { return exists("sys/module/probekit"); }
  bool symbols_readable() const { return symbols_readable_; }
  bool addresses_hidden() const { return addresses_hidden_; }
  bool has_register_fprobe() const { return has_register_fprobe_; }
  bool has_register_kprobe() const { return has_register_kprobe_; }
  bool has_struct_ops() const { return has_struct_ops_; }

  bool exists(std::string_view path) const {
    std::error_code ignored;
    return fs::exists(root_ / path, ignored);
  }

  bool readable(std::string_view path) const {
    std::ifstream file(root_ / path);
    return file.peek() != std::ifstream::traits_type::eof();
  }

  std::optional<std::string> text(std::string_view path) const {
    std::ifstream file(root_ / path);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::optional<std::string> word(std::string_view path) const {
    std::ifstream file(root_ / path);
    std::string word;
    if (!(file >> word)) return std::nullopt;
    return word;
  }

 private:
  void read_symbols() {
    std::ifstream file(root_ / "proc/kallsyms");
    std::string address, type, name;
    while (file >> address >> type >> name) {
      if (!symbols_readable_) {
        addresses_hidden_ = address.find_first_not_of('0') == address.npos;
        symbols_readable_ = true;
      } else if (addresses_hidden_) {
        // The very first symbol may have address zero by right.
        addresses_hidden_ = address.find_first_not_of('0') == address.npos;
      }
      if (name == "register_fprobe_ips") has_register_fprobe_ = true;
      if (name == "register_kprobe") has_register_kprobe_ = true;
      if (name == "__register_bpf_struct_ops") has_struct_ops_ = true;
      file.ignore(1 << 16, '\n');
    }
  }

  fs::path root_;
  std::string release_;
  bool symbols_readable_ = false;
  bool addresses_hidden_ = false;
  bool has_register_fprobe_ = false;
  bool has_register_kprobe_ = false;
  bool has_struct_ops_ = false;
};

CheckResult check_kernel(const Machine& machine) {
  const std::string& release = machine.release();
  unsigned major = 0;
  unsigned minor = 0;
  const char* end = release.data() + release.size();
  const auto [dot, error] = std::from_chars(release.data(), end, major);
  if (error == std::errc() && dot != end) {
    std::from_chars(dot + 1, end, minor);
  }
  if (major > 6 || (major == 6 && minor >= 12)) return ok("kernel", release);
  return bad("kernel", release.empty() ? "its version is unknown" : release,
             "boot Linux 6.12 or newer");
}

CheckResult check_rights(const Machine& machine) {
  std::uint64_t effective = 0;
  const std::string status = machine.text("proc/self/status").value_or("");
  constexpr std::string_view kKey = "CapEff:\t";
  if (const auto at = status.find(kKey); at != status.npos) {
    const char* digits = status.data() + at + kKey.size();
    std::from_chars(digits, status.data() + status.size(), effective, 16);
  }
  const auto has = [&](const Capability& capability) {
    return (effective >> capability.bit & 1) != 0;
  };

  std::string missing;
  const auto need = [&](const Capability& capability, bool otherwise) {
    if (has(capability) || otherwise) return;
    missing += fmt::format(" {}", capability.name);
  };
  need(kBpf, has(kSysAdmin));
  need(kPerfmon, has(kSysAdmin));
  need(kSysModule, machine.module_loaded());
  if (missing.empty()) return ok("rights", "all that are needed");
  return bad("rights", "missing:" + missing, "run probekit as root");
}

CheckResult check_lockdown(const Machine& machine) {
  const auto state = machine.text("sys/kernel/security/lockdown").value_or("");
  if (state.find("[confidentiality]") != state.npos) {
    return bad("lockdown", "confidentiality: no probe of any kind",
               "disable Secure Boot, or boot with lockdown=none");
  }
  const bool trusted_only =
      state.find("[integrity]") != state.npos ||
      machine.word("sys/module/module/parameters/sig_enforce") == "Y";
  if (!trusted_only) {
    return ok("lockdown", state.empty() ? "none that shows" : "none");
  }
  if (machine.module_loaded()) return ok("lockdown", "the module is trusted");
  return bad("lockdown", "only trusted modules can be loaded",
             "sign probekit.ko with a key that the kernel trusts (mokutil "
             "--import), or disable Secure Boot");
}

CheckResult check_btf(const Machine& machine) {
  if (machine.exists("sys/kernel/btf/vmlinux")) {
    return ok("btf", "types of the kernel are there");
  }
  return bad("btf", "/sys/kernel/btf/vmlinux is missing",
             "boot a kernel with CONFIG_DEBUG_INFO_BTF");
}

CheckResult check_bpf(const Machine& machine) {
  if (!machine.exists("proc/sys/kernel/unprivileged_bpf_disabled")) {
    return bad("bpf", "the kernel has no bpf() system call",
               "boot a kernel with CONFIG_BPF_SYSCALL");
  }
  if (machine.symbols_readable() && !machine.has_struct_ops()) {
    return bad("bpf", "modules cannot register struct_ops types",
               "boot a kernel with CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF");
  }
  const auto jit = machine.word("proc/sys/net/core/bpf_jit_enable");
  if (jit == "0") {
    return bad("bpf", "its compiler is switched off",
               "sysctl net.core.bpf_jit_enable=1");
  }
  return ok("bpf", jit ? "system call and compiler" : "system call");
}

CheckResult check_symbols(const Machine& machine) {
  if (!machine.symbols_readable()) {
    return bad("symbols", "/proc/kallsyms cannot be read",
               "boot a kernel with CONFIG_KALLSYMS, and mount /proc");
  }
  if (machine.addresses_hidden()) {
    return bad("symbols", "the addresses in /proc/kallsyms are hidden",
               "run as root, with sysctl kernel.kptr_restrict=1 or 0");
  }
  return ok("symbols", "addresses are visible");
}

CheckResult check_functions(const Machine& machine) {
  for (const std::string_view mount :
       {"sys/kernel/tracing", "sys/kernel/debug/tracing"}) {
    const std::string file =
        fmt::format("{}/available_filter_functions_addrs", mount);
    if (machine.readable(file)) return ok("tracefs", "/" + file);
    if (machine.exists(fmt::format("{}/trace", mount))) {
      return bad("tracefs", fmt::format("/{} cannot be read", file),
                 "run as root; boot a kernel with CONFIG_DYNAMIC_FTRACE");
    }
  }
  return bad("tracefs", "it is not mounted, or hidden",
             "run as root; mount -t tracefs tracefs /sys/kernel/tracing");
}

CheckResult check_ftrace(const Machine& machine) {
  const auto enabled = machine.word("proc/sys/kernel/ftrace_enabled");
  if (!enabled) {
    return bad("ftrace", "the kernel has none",
               "boot a kernel with CONFIG_FUNCTION_TRACER");
  }
  if (enabled == "0") {
    return bad("ftrace", "it is switched off",
               "sysctl kernel.ftrace_enabled=1");
  }
  return ok("ftrace", "enabled");
}

CheckResult check_fprobe(const Machine& machine) {
  if (machine.has_register_fprobe()) return ok("fprobe", "there");
  return bad("fprobe", "the kernel has none",
             "boot a kernel with CONFIG_FPROBE");
}

CheckResult check_kprobes(const Machine& machine) {
  if (machine.has_register_kprobe()) return ok("kprobes", "there");
  return bad("kprobes", "the kernel has none",
             "boot a kernel with CONFIG_KPROBES");
}

// Found as the library and modprobe find it, without running either.
CheckResult check_module(const Machine& machine) {
  if (machine.module_loaded()) {
    const auto version = machine.word("sys/module/probekit/version");
    const std::string detail =
        version ? fmt::format("loaded, version {}", printable(*version))
                : "loaded";
    if (machine.exists("sys/kernel/btf/probekit")) return ok("module", detail);
    return bad("module", detail + ", but without types (BTF)",
               "build it with pahole installed (package dwarves)");
  }
  const std::string directory =
      fmt::format("lib/modules/{}", machine.release());
  const auto index = machine.text(directory + "/modules.dep").value_or("");
  constexpr std::string_view kFile = "/probekit.ko";
  bool installed = index.find(kFile) != index.npos;
  for (const auto place : {"extra", "updates", "updates/dkms"}) {
    for (const auto suffix : {"", ".xz", ".zst", ".gz"}) {
      installed =
          installed || machine.exists(fmt::format("{}/{}{}{}", directory, place,
                                                  kFile, suffix));
    }
  }
  if (installed) return ok("module", "installed, not loaded yet");
  return bad("module",
             fmt::format("there is none for kernel {}", machine.release()),
             "install probekit.ko for this kernel, or set PROBEKIT_MODULE to "
             "its path");
}

}  // namespace

std::vector<CheckResult> check_machine(const fs::path& root) {
  const Machine machine(root);
  constexpr std::array kChecks{check_kernel,  check_rights,  check_lockdown,
                               check_btf,     check_bpf,     check_ftrace,
                               check_fprobe,  check_kprobes, check_functions,
                               check_symbols, check_module};
  std::vector<CheckResult> results;
  results.reserve(kChecks.size());
  for (const auto& check : kChecks) results.push_back(check(machine));
  return results;
}

}  // namespace probekit::tools
