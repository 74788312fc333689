// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "handlers.hpp"

#include "count.skel.h"
#include "inject.skel.h"
#include "latency.skel.h"

namespace probekit::handlers {
namespace {

std::span<const std::byte> bytes(const void* (*elf)(std::size_t*)) {
  std::size_t size = 0;
  const void* data = elf(&size);
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

std::span<const std::byte> count() { return bytes(count_bpf::elf_bytes); }
std::span<const std::byte> inject() { return bytes(inject_bpf::elf_bytes); }
std::span<const std::byte> latency() { return bytes(latency_bpf::elf_bytes); }

}  // namespace probekit::handlers
