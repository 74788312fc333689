// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "values.hpp"

namespace probekit::tools {
namespace {

// Returns zero, or the errno of what failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

Output::Output(const std::string& path) : path_(path) {
  if (path.empty()) return;
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) {
    throw Error("open", fmt::format("'{}'", printable(path)), errno, {},
                "give --output a file that can be written");
  }
  file_ = FileDescriptor(fd);
}

int Output::fd() const noexcept { return file_ ? file_.get() : STDOUT_FILENO; }

void Output::write(std::string_view text) {
  if (file_) {
    const int error = write_all(file_.get(), text);
    if (error == 0) return;
    give_up_file(error);
  }
  if (const int error = write_all(STDOUT_FILENO, text)) {
    throw OutputError("write", "to standard output", error);
  }
}

void Output::close() {
  if (!file_) return;
  // Quotas and network file systems may say only now that the file is full,
  // and closing any descriptor of it asks them. Its owner closes the other.
  const int copy = ::dup(file_.get());
  const bool broken = copy >= 0 && ::close(copy) != 0 && errno != EINTR;
  const int error = errno;
  file_ = FileDescriptor();
  if (!broken) return;
  failed_ = true;
  say("cannot write '{}': {}; it is incomplete", printable(path_),
      std::generic_category().message(error));
}

void Output::give_up_file(int error) {
  say("cannot write '{}': {}; printing to standard output instead",
      printable(path_), std::generic_category().message(error));
  file_ = FileDescriptor();
  failed_ = true;
}

void diagnose(std::string_view text) {
  const std::string line = fmt::format("probekit: {}\n", text);
  // Nowhere is left to say that standard error is gone.
  (void)write_all(STDERR_FILENO, line);
}

}  // namespace probekit::tools
