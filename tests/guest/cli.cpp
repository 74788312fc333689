// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <probekit/error.hpp>
#include <sstream>

namespace probekit::test {
namespace {

constexpr uid_t kNobody = 65534;
constexpr std::chrono::seconds kLongest{60};

std::string slurp(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string temporary_file() {
  std::string path = "/tmp/probekit_test_XXXXXX";
  const FileDescriptor file(mkstemp(path.data()));
  if (!file) throw Error("make", path, errno);
  return path;
}

[[noreturn]] void become(Words& words, const Setting& setting, int out,
                         int err) {
  dup2(setting.output >= 0 ? setting.output : out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const auto& variable : setting.environment) {
    const auto equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(),
           variable.substr(equals + 1).c_str(), 1);
  }
  if (setting.as_nobody && (setgid(kNobody) || setuid(kNobody))) _exit(126);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Command::Command(Words words, const Setting& setting)
    : out_(temporary_file()),
      err_(temporary_file()),
      start_(std::chrono::steady_clock::now()) {
  const FileDescriptor out(open(out_.c_str(), O_WRONLY | O_CLOEXEC));
  const FileDescriptor err(open(err_.c_str(), O_WRONLY | O_CLOEXEC));
  pid_ = fork();
  if (pid_ < 0) throw Error("fork", words.front(), errno);
  if (!pid_) become(words, setting, out.get(), err.get());
}

Command::~Command() {
  if (pid_ >= 0) {
    kill(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  unlink(out_.c_str());
  unlink(err_.c_str());
}

void Command::kill(int signal) const { ::kill(pid_, signal); }

Result Command::wait() {
  int status = 0;
  const bool ended = eventually(
      [&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, kLongest);
  Result result;
  result.took = std::chrono::steady_clock::now() - start_;
  result.out = slurp(out_);
  result.err = slurp(err_);
  if (!ended) {
    ADD_FAILURE() << "the program does not end: " << result.err;
    return result;
  }
  pid_ = -1;
  result.status =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

bool Command::stops() const {
  return eventually([&] {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info,
                  WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  });
}

Result probekit(const Words& words, const Setting& setting) {
  Words all{"probekit"};
  all.insert(all.end(), words.begin(), words.end());
  return Command(std::move(all), setting).wait();
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> records;
  std::istringstream lines(text);
  std::string line;
  EXPECT_TRUE(text.empty() || text.back() == '\n') << "a line has no end";
  while (std::getline(lines, line)) {
    Json record = Json::parse(line, nullptr, false);
    if (record.is_object() && record.contains("type")) {
      records.push_back(std::move(record));
    } else {
      ADD_FAILURE() << "no record: " << line;
    }
  }
  return records;
}

std::vector<Json> functions_of(const Result& result) {
  std::vector<Json> functions;
  for (auto& record : json_lines(result.out))
    if (record["type"] == "function") functions.push_back(std::move(record));
  return functions;
}

std::uint64_t calls_of(const Result& result, std::string_view function) {
  std::uint64_t calls = 0;
  for (const Json& record : functions_of(result))
    if (record["function"] == function)
      calls += record["calls"].get<std::uint64_t>();
  return calls;
}

Json summary_of(const Result& result) {
  const auto records = json_lines(result.out);
  if (records.empty() || records.back()["type"] != "summary") {
    ADD_FAILURE() << "no summary at the end: " << result.out << result.err;
    return Json::object();
  }
  for (std::size_t i = 0; i + 1 < records.size(); ++i)
    EXPECT_NE(records[i]["type"], "summary");
  return records.back();
}

namespace {

/// The calls of all functions, each of which has as many in its histogram.
std::uint64_t sum_of_functions(const Result& result) {
  std::uint64_t calls = 0;
  for (const Json& record : functions_of(result)) {
    if (record.contains("interval")) continue;
    const auto of_function = record["calls"].get<std::uint64_t>();
    calls += of_function;
    if (!record.contains("histogram")) continue;
    std::uint64_t slots = 0;
    for (const Json& slot : record["histogram"])
      slots += slot["count"].get<std::uint64_t>();
    EXPECT_EQ(slots, of_function) << record;
  }
  return calls;
}

}  // namespace

void expect_good_json(const Result& result, bool exits) {
  EXPECT_EQ(result.status, 0) << result.err;
  const Json summary = summary_of(result);
  const auto number = [&](const char* name) {
    return summary.value(name, std::uint64_t{0});
  };
  std::uint64_t missed = 0;
  const Json causes = summary.value("missed", Json::object());
  for (const Json& calls : causes) missed += calls.get<std::uint64_t>();
  EXPECT_TRUE(summary.contains("targets"));
  EXPECT_TRUE(summary.contains("lost"));
  if (exits) {
    EXPECT_EQ(number("entries"), number("exits") + number("in_flight") +
                                     number("cancelled") + missed);
  }
  EXPECT_EQ(number("calls"), sum_of_functions(result));
}

}  // namespace probekit::test
