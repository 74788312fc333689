// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "argument_search.hpp"

#include <bpf/btf.h>

#include <algorithm>
#include <probekit/error.hpp>

#include "scan.hpp"
#include "suggest.hpp"

namespace probekit::detail {
namespace {

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// Follows qualifiers and, if `typedefs`, names for types.
std::uint32_t strip(const btf& types, std::uint32_t id, bool typedefs) {
  const btf_type* type = btf__type_by_id(&types, id);
  while (type != nullptr &&
         (btf_is_mod(type) || (typedefs && btf_is_typedef(type)))) {
    id = type->type;
    type = btf__type_by_id(&types, id);
  }
  return id;
}

}  // namespace

void BtfDeleter::operator()(btf* types) const noexcept { btf__free(types); }

ArgumentSearch::ArgumentSearch(std::string_view type) : text_(type) {
  constexpr std::string_view decoration = " \t*";
  const std::size_t first = type.find_first_not_of(" \t");
  const std::size_t last = type.find_last_not_of(decoration);
  if (first != std::string_view::npos && last != std::string_view::npos) {
    type = type.substr(first, last + 1 - first);
    struct_only_ = take_word(type, "struct ");
    union_only_ = !struct_only_ && take_word(type, "union ");
    name_ = type.substr(std::min(type.find_first_not_of(' '), type.size()));
  }
  if (!is_name(name_) || name_ == "struct" || name_ == "union") {
    throw UsageError("look for arguments of type", "'" + text_ + "'", 0,
                     "it is not the name of a type",
                     "name a struct or union, as in: file, or struct file");
  }
  closest_distance_ = believable_mistakes(name_.size());
}

void ArgumentSearch::mark_wanted(const btf& types, std::uint32_t begin,
                                 std::uint32_t end) {
  wanted_.resize(begin);
  wanted_.resize(end);
  for (std::uint32_t id = begin; id < end; ++id) {
    const btf_type* type = btf__type_by_id(&types, id);
    if (type->name_off == 0 || btf_is_func(type) || btf_is_var(type) ||
        btf_is_datasec(type) || btf_is_decl_tag(type)) {
      continue;
    }
    const bool forward = btf_is_fwd(type);
    const bool forward_union = forward && btf_kflag(type);
    if (struct_only_ && !(btf_is_struct(type) || (forward && !forward_union))) {
      continue;
    }
    if (union_only_ && !(btf_is_union(type) || forward_union)) continue;
    const std::string_view name = btf__name_by_offset(&types, type->name_off);
    if (name == name_) {
      wanted_[id] = known_ = true;
    } else if (!known_ && btf_is_composite(type)) {
      const std::size_t distance =
          typing_distance(name_, name, closest_distance_);
      if (distance > closest_distance_ ||
          (distance == closest_distance_ && !closest_.empty())) {
        continue;
      }
      closest_ = name;
      closest_distance_ = distance;
    }
  }
}

bool ArgumentSearch::is_wanted(const btf& types, std::uint32_t id) const {
  // The type under the name that the parameter uses, or under an older one.
  while (true) {
    id = strip(types, id, false);
    if (id < wanted_.size() && wanted_[id]) return true;
    const btf_type* type = btf__type_by_id(&types, id);
    if (type == nullptr || !btf_is_typedef(type)) return false;
    id = type->type;
  }
}

bool ArgumentSearch::takes_it(const btf& types, std::uint32_t parameter) const {
  const btf_type* type = btf__type_by_id(&types, strip(types, parameter, true));
  return type != nullptr && btf_is_ptr(type) && is_wanted(types, type->type);
}

void ArgumentSearch::search(const btf& types, std::string_view module) {
  const btf* base = btf__base_btf(&types);
  const std::uint32_t begin = base == nullptr ? 1 : btf__type_cnt(base);
  const std::uint32_t end = btf__type_cnt(&types);
  mark_wanted(types, begin, end);
  for (std::uint32_t id = begin; id < end; ++id) {
    const btf_type* function = btf__type_by_id(&types, id);
    if (!btf_is_func(function)) continue;
    const btf_type* proto = btf__type_by_id(&types, function->type);
    if (proto == nullptr || !btf_is_func_proto(proto)) continue;
    const btf_param* parameters = btf_params(proto);
    const bool takes = std::any_of(parameters, parameters + btf_vlen(proto),
                                   [&](const btf_param& parameter) {
                                     return takes_it(types, parameter.type);
                                   });
    if (!takes) continue;
    found_.push_back(
        {btf__name_by_offset(&types, function->name_off), std::string(module)});
  }
}

std::vector<FunctionName> ArgumentSearch::take() {
  if (!known_) {
    throw UsageError("look for arguments of type", "'" + text_ + "'", 0,
                     "the kernel's BTF has no such type",
                     closest_.empty() ? "name a struct or union, as in: file"
                                      : "did you mean " + closest_ + "?");
  }
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  return std::move(found_);
}

}  // namespace probekit::detail
