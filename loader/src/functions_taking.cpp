// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <bpf/btf.h>

#include <cerrno>
#include <filesystem>
#include <probekit/error.hpp>
#include <probekit/pattern.hpp>
#include <system_error>

#include "detail/argument_search.hpp"

namespace probekit {

std::vector<FunctionName> functions_taking(std::string_view type) {
  const std::filesystem::path folder = "/sys/kernel/btf";
  const std::filesystem::path kernel = folder / "vmlinux";
  detail::ArgumentSearch search(type);

  const detail::BtfPtr types(btf__parse(kernel.c_str(), nullptr));
  if (types == nullptr) {
    throw UnsupportedError("read", kernel.string(), errno, {},
                           "use a kernel with CONFIG_DEBUG_INFO_BTF");
  }
  search.search(*types, {});

  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path() == kernel) continue;
    const detail::BtfPtr module(
        btf__parse_split(entry.path().c_str(), types.get()));
    // Unloaded since, or built for another kernel: its functions do not count.
    if (module == nullptr) continue;
    search.search(*module, entry.path().filename().string());
  }
  return search.take();
}

}  // namespace probekit
