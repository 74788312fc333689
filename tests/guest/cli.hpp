// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef TESTS_GUEST_CLI_HPP
#define TESTS_GUEST_CLI_HPP

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support.hpp"

namespace probekit::test {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

/// What a program left when it ended.
struct Result {
  int status = -1;  ///< as a shell says it: 128 + N for a signal N
  std::string out;
  std::string err;
  std::chrono::nanoseconds took{};

  bool says(std::string_view text) const { return err.find(text) != err.npos; }
  bool prints(std::string_view text) const {
    return out.find(text) != out.npos;
  }
};

/// How a program is run.
struct Setting {
  bool as_nobody = false;
  /// NAME=VALUE, on top of what there is.
  Words environment = {};
  /// Standard output, instead of what Result.out shows; negative: that.
  int output = -1;
};

/// A program that runs. Killed at the end.
class Command {
 public:
  explicit Command(Words words, const Setting& setting = {});
  Command(const Command&) = delete;
  ~Command();

  pid_t pid() const { return pid_; }
  void kill(int signal) const;
  /// Waits for it, for a minute at most.
  Result wait();
  /// Waits until it has stopped itself.
  bool stops() const;

 private:
  pid_t pid_;
  std::string out_;
  std::string err_;
  std::chrono::steady_clock::time_point start_;
};

/// `probekit` and these words, to the end.
Result probekit(const Words& words, const Setting& setting = {});

/// Each line of JSON Lines; what is none fails the test.
std::vector<Json> json_lines(const std::string& text);
/// The records of functions, without the summary.
std::vector<Json> functions_of(const Result& result);
/// The calls of a function, over all records that name it.
std::uint64_t calls_of(const Result& result, std::string_view function);
/// The last record, which must be the only summary.
Json summary_of(const Result& result);

/// A run that ended well: status 0, and a summary that adds up.
void expect_good_json(const Result& result, bool exits);

}  // namespace probekit::test

#endif  // TESTS_GUEST_CLI_HPP
