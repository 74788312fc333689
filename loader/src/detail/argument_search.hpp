// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_DETAIL_ARGUMENT_SEARCH_HPP
#define PROBEKIT_DETAIL_ARGUMENT_SEARCH_HPP

#include <cstdint>
#include <memory>
#include <probekit/pattern.hpp>
#include <string>
#include <string_view>
#include <vector>

struct btf;

namespace probekit::detail {

struct BtfDeleter {
  void operator()(btf* types) const noexcept;
};
using BtfPtr = std::unique_ptr<btf, BtfDeleter>;

// Finds functions that take a pointer to a type, in any number of BTFs: that
// of the kernel first, then those of modules, which are split from it.
class ArgumentSearch {
 public:
  // "file", "struct file", "union bpf_attr", "struct file *". Throws
  // UsageError for anything that names no type.
  explicit ArgumentSearch(std::string_view type);

  // `module` is empty for the kernel.
  void search(const btf& types, std::string_view module);

  // The functions so far, sorted. Throws UsageError if no BTF had the type.
  std::vector<FunctionName> take();

 private:
  bool is_wanted(const btf& types, std::uint32_t id) const;
  bool takes_it(const btf& types, std::uint32_t parameter) const;
  void mark_wanted(const btf& types, std::uint32_t begin, std::uint32_t end);

  std::string text_;  // as given, for errors
  std::string name_;
  bool struct_only_ = false;
  bool union_only_ = false;
  bool known_ = false;
  std::vector<bool> wanted_;  // by type id; the kernel's ids are the lowest
  std::string closest_;
  std::size_t closest_distance_;
  std::vector<FunctionName> found_;
};

}  // namespace probekit::detail

#endif  // PROBEKIT_DETAIL_ARGUMENT_SEARCH_HPP
