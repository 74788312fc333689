// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <probekit/error.hpp>
#include <vector>

#include "process.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

// A program that handles Ctrl-C, and one that handles SIGTERM, gets so long.
constexpr int kOwnEndMs = 1000;
constexpr int kTermEndMs = 3000;

[[noreturn]] void cannot_run(const std::string& name, int error) {
  throw Error("run", fmt::format("'{}'", printable(name)), error, {},
              "check the PROGRAM after --");
}

// Zero, or why the file cannot be executed.
int executable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

std::string find_program(const std::string& name, const char* search_path) {
  if (name.find('/') != name.npos) {
    const int error = executable(name);
    if (error != 0) cannot_run(name, error);
    return name;
  }
  int why = ENOENT;
  std::string_view rest =
      search_path != nullptr ? search_path : "/bin:/usr/bin";
  while (true) {
    const auto colon = rest.find(':');
    const std::string directory(rest.substr(0, colon));
    std::string path = (directory.empty() ? "." : directory) + "/" + name;
    const int error = executable(path);
    if (error == 0) return path;
    if (error == EACCES) why = error;
    if (colon == rest.npos) break;
    rest.remove_prefix(colon + 1);
  }
  cannot_run(name, why);
}

Workload::Workload(std::span<const std::string> program, bool apart,
                   const StopSignals& signals)
    : program_(program.begin(), program.end()),
      path_(find_program(program_.front(), std::getenv("PATH"))),
      signals_(signals) {
  if (apart) cgroup_.emplace();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("create", "a pipe", errno);
  exec_error_ = FileDescriptor(ends[0]);
  exec_error_write_ = FileDescriptor(ends[1]);
  spawn();
}

Workload::~Workload() {
  if (reaped_) return;
  if (!started_) ::kill(pid_, SIGKILL);
  end(false);
}

std::optional<CgroupId> Workload::cgroup() const {
  if (!cgroup_) return std::nullopt;
  return cgroup_->id();
}

void Workload::spawn() {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw Error("start", "PROGRAM", errno);
  if (pid_ == 0) {
    // A stopped child whose parent was killed would stay for ever.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    become_program();
  }
  exec_error_write_ = FileDescriptor();
  pidfd_ = watch_process(pid_);
  // Once it has stopped it calls nothing before start(): all that is measured
  // in its cgroup is its own.
  while (::waitpid(pid_, &status_, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (!WIFSTOPPED(status_)) {
    reaped_ = true;
    throw Error("start", "PROGRAM", 0, "its process was ended by others");
  }
}

// Runs in the child. Only its errno comes back, through a pipe that a
// successful exec closes.
void Workload::become_program() {
  std::vector<char*> arguments;
  for (auto& argument : program_) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  signals_.restore();
  ::signal(SIGPIPE, SIG_DFL);
  ::raise(SIGSTOP);
  ::prctl(PR_SET_PDEATHSIG, 0);
  // Not execv(): scripts without a #! line run as they do from a shell. The
  // path has a slash, so nothing is searched for.
  ::execvp(path_.c_str(), arguments.data());
  const int error = errno;
  [[maybe_unused]] const auto ignored =
      ::write(exec_error_write_.get(), &error, sizeof(error));
  ::_exit(127);
}

void Workload::start() {
  if (cgroup_) cgroup_->add(pid_);
  started_ = true;
  ::kill(pid_, SIGCONT);
  int error = 0;
  ssize_t size = 0;
  do {
    size = ::read(exec_error_.get(), &error, sizeof(error));
  } while (size < 0 && errno == EINTR);
  exec_error_ = FileDescriptor();
  if (size != sizeof(error)) return;
  reap();
  cannot_run(program_.front(), error);
}

bool Workload::wait_for_end(int milliseconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  const int signals = signals_.count();
  while (signals_.count() == signals) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    pollfd ended{pidfd_.get(), POLLIN, 0};
    const int ready =
        ::poll(&ended, 1, std::max(0, static_cast<int>(left.count())));
    if (ready > 0) return true;
    if (ready == 0) return false;
  }
  return false;
}

void Workload::end(bool signalled) {
  if (reaped_) return;
  bool ended = wait_for_end(signalled ? kOwnEndMs : 0);
  if (!ended) {
    ::kill(pid_, SIGTERM);
    ended = wait_for_end(kTermEndMs);
  }
  if (!ended) ::kill(pid_, SIGKILL);
  reap();
}

void Workload::reap() {
  if (reaped_) return;
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
}

std::optional<std::string> Workload::complaint() {
  reap();
  if (WIFSIGNALED(status_)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status_));
    return name != nullptr
               ? fmt::format("was killed by SIG{}", name)
               : fmt::format("was killed by signal {}", WTERMSIG(status_));
  }
  const int status = WEXITSTATUS(status_);
  if (status == 0) return std::nullopt;
  return fmt::format("exited with status {}", status);
}

}  // namespace probekit::tools
