// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_FILES_HPP
#define PROBEKIT_DETAIL_FILES_HPP

#include <cstddef>
#include <string>

namespace probekit::detail {

struct FileContent {
  std::string text;
  int error = 0;  // errno of open or read, zero: none
};

// Reads a file whose size is not known beforehand, as in proc and tracefs.
// `expected` bytes are reserved, so that a large file is not copied as it
// grows. The error is EFBIG for more than `most` bytes.
FileContent read_file(const std::string& path, std::size_t expected,
                      std::size_t most = std::size_t{1} << 30);

// The same from a descriptor that stays open.
FileContent read_descriptor(int fd, std::size_t expected,
                            std::size_t most = std::size_t{1} << 30);

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_FILES_HPP
