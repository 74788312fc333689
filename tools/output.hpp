// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where results and diagnostics go.
#ifndef PROBEKIT_TOOLS_OUTPUT_HPP
#define PROBEKIT_TOOLS_OUTPUT_HPP

#include <fmt/format.h>

#include <probekit/engine.hpp>
#include <probekit/error.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace probekit::tools {

/// Results cannot be written. With EPIPE nobody wants them: no diagnostic.
class OutputError : public Error {
 public:
  using Error::Error;
};

/// Results: standard output, or a file. Each write is out when write()
/// returns, so that a reader of a pipe sees intervals as they come.
class Output {
 public:
  /// Empty: standard output. Otherwise creates or empties the file: before
  /// anything is measured, so that a bad name costs nobody a measurement.
  explicit Output(const std::string& path);

  /// When the file is full, this and all that follows goes to standard
  /// output. Throws OutputError when that fails as well.
  void write(std::string_view text);

  /// Says late errors of the file; failed() knows them.
  void close();

  /// Not everything is in the file that was asked for.
  bool failed() const noexcept { return failed_; }

 private:
  int fd() const noexcept;
  void give_up_file(int error);

  std::string path_;
  FileDescriptor file_;
  bool failed_ = false;
};

/// Writes "probekit: TEXT" on standard error, in one piece.
void diagnose(std::string_view text);

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  diagnose(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_OUTPUT_HPP
