// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <probekit/engine.hpp>

namespace probekit::detail {
namespace {

// The kernel hands such files out by the page; the string is grown by more,
// which saves most of the bookkeeping.
constexpr std::size_t step = std::size_t{64} * 1024;

}  // namespace

FileContent read_descriptor(int fd, std::size_t expected, std::size_t most) {
  FileContent content;
  std::size_t used = 0;
  content.text.reserve(expected + step);
  while (true) {
    if (content.text.size() - used < step / 2) {
      content.text.resize(used + step);
    }
    const ssize_t n =
        ::read(fd, content.text.data() + used, content.text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) content.error = errno;
    if (n <= 0) break;
    used += static_cast<std::size_t>(n);
    if (used > most) {
      content.error = EFBIG;
      break;
    }
  }
  content.text.resize(content.error == 0 ? used : 0);
  return content;
}

FileContent read_file(const std::string& path, std::size_t expected,
                      std::size_t most) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {{}, errno};
  return read_descriptor(fd.get(), expected, most);
}

}  // namespace probekit::detail
