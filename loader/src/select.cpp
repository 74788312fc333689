// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>
#include <array>
#include <charconv>
#include <probekit/error.hpp>
#include <probekit/pattern.hpp>
#include <tuple>
#include <utility>

#include "detail/clones.hpp"
#include "detail/exclusions.hpp"
#include "detail/pattern_index.hpp"

namespace probekit {
namespace {

using detail::is_named;
using detail::PatternIndex;

std::string hex(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, 16)
          .ptr;
  return "0x" + std::string(digits.data(), end);
}

// What the patterns say of one function and its aliases.
struct Pick {
  const Function* function = nullptr;
  int rank = 0;  // of the name to show: lower is better
  std::size_t name_pattern = 0;
  std::size_t pattern = PatternIndex::none;
  bool named = false;
};

class Selector {
 public:
  Selector(const SymbolTable& table, std::span<const Pattern> patterns,
           std::span<const Pattern> excludes, const SelectOptions& options)
      : table_(table),
        patterns_(patterns),
        excludes_(excludes),
        options_(options),
        index_(patterns),
        exclude_index_(excludes),
        matched_(patterns.size()),
        exclude_matched_(excludes.size()) {}

  Selection run() {
    refuse_offsets(patterns_);
    refuse_offsets(excludes_);
    for_each_group(
        [this](Group aliases) { take(aliases, pick(aliases, index_, false)); });
    add_clones();
    report_unmatched();
    return std::move(selection_);
  }

 private:
  using Group = std::span<const Function>;

  static void refuse_offsets(std::span<const Pattern> patterns) {
    for (const Pattern& pattern : patterns) {
      if (pattern.kind() != Pattern::Kind::offset) continue;
      throw UsageError("select", "'" + pattern.text() + "'", 0,
                       "an instruction inside a function needs a kprobe, which "
                       "this version does not have",
                       "name the function alone");
    }
  }

  template <typename Visit>
  void for_each_group(Visit visit) const {
    const Group all = table_.functions();
    for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
      end = first + 1;
      while (end < all.size() && all[end].address == all[first].address) ++end;
      visit(all.subspan(first, end - first));
    }
  }

  // With `clones`, every alias stands for the function it was cloned from.
  Pick pick(Group aliases, const PatternIndex& index, bool clones) {
    Pick pick;
    const Function* preferred = nullptr;
    for (const Function& alias : aliases) {
      Function asked = alias;
      if (clones) {
        asked.name = detail::cloned_from(alias.name);
        if (asked.name.empty()) continue;
      }
      index.for_each(asked, [&](std::size_t i) {
        matched_[i] = true;
        pick.named = pick.named || is_named(patterns_[i]);
        pick.pattern = std::min(pick.pattern, i);
        if (preferred == nullptr) preferred = &table_.preferred(aliases);
        int rank = &alias == preferred ? 1 : 2;
        if (patterns_[i].kind() == Pattern::Kind::name) rank = 0;
        if (pick.function == nullptr || rank < pick.rank ||
            (rank == 0 && rank == pick.rank && i < pick.name_pattern)) {
          pick.function = &alias;
          pick.rank = rank;
          pick.name_pattern = i;
        }
      });
    }
    return pick;
  }

  void take(Group aliases, const Pick& pick) {
    const bool out = is_excluded(aliases);
    if (pick.function == nullptr || out || !is_wanted(aliases)) return;
    const Function& function = *pick.function;
    Refused refused{function, refusal(function), {}, pick.pattern, pick.named};
    if (refused.refusal == Refusal::none && !options_.include_excluded) {
      refused.reason = detail::exclusion_reason(aliases);
      if (!refused.reason.empty()) refused.refusal = Refusal::excluded;
    }
    if (refused.refusal == Refusal::none) {
      selection_.targets.push_back(function);
      return;
    }
    if (refused.reason.empty()) refused.reason = to_string(refused.refusal);
    selection_.refused.push_back(refused);
  }

  Refusal refusal(const Function& function) const {
    const Refusal refusal = table_.refusal(function);
    if (options_.kind == PROBEKIT_KIND_FPROBE) return refusal;
    if (refusal == Refusal::init) return refusal;
    return table_.blacklisted(function.address) ? Refusal::blacklisted
                                                : Refusal::none;
  }

  bool is_excluded(Group aliases) {
    bool excluded = false;
    if (exclude_index_.empty()) return false;
    for (const Function& alias : aliases) {
      exclude_index_.for_each(alias, [&](std::size_t i) {
        exclude_matched_[i] = true;
        excluded = true;
      });
    }
    return excluded;
  }

  bool is_wanted(Group aliases) const {
    if (!options_.only) return true;
    return std::any_of(aliases.begin(), aliases.end(), [this](auto& alias) {
      const std::string_view original = detail::cloned_from(alias.name);
      const std::string_view name = original.empty() ? alias.name : original;
      const auto key = std::tie(name, alias.module);
      const auto at =
          std::lower_bound(options_.only->begin(), options_.only->end(), key,
                           [](const FunctionName& a, const auto& b) {
                             const std::string_view a_name = a.name;
                             const std::string_view a_module = a.module;
                             return std::tie(a_name, a_module) < b;
                           });
      return at != options_.only->end() && at->name == name &&
             at->module == alias.module;
    });
  }

  // A function that exists only as clones is selected by its plain name.
  void add_clones() {
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (!matched_[i] && patterns_[i].kind() == Pattern::Kind::name) {
        missing.push_back(i);
      }
    }
    if (missing.empty()) return;
    const PatternIndex originals(patterns_, missing);
    for_each_group(
        [&](Group aliases) { take(aliases, pick(aliases, originals, true)); });
    make_unique(selection_.targets, [](const Function& f) { return f; });
    make_unique(selection_.refused,
                [](const Refused& r) { return r.function; });
  }

  template <typename T, typename Get>
  static void make_unique(std::vector<T>& list, Get get) {
    std::stable_sort(list.begin(), list.end(), [&](const T& a, const T& b) {
      return get(a).address < get(b).address;
    });
    const auto same = [&](const T& a, const T& b) {
      return get(a).address == get(b).address;
    };
    list.erase(std::unique(list.begin(), list.end(), same), list.end());
  }

  void report_unmatched() {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (!matched_[i]) add_unmatched(patterns_[i]);
    }
    for (std::size_t i = 0; i < excludes_.size(); ++i) {
      if (!exclude_matched_[i]) add_unmatched(excludes_[i]);
    }
  }

  // To look for what may have been meant goes through all names: not for each
  // line of a long list that is of another kernel.
  void add_unmatched(const Pattern& pattern) {
    constexpr std::size_t explained = 20;
    selection_.unmatched.push_back(
        selection_.unmatched.size() < explained
            ? explain(pattern)
            : Unmatched{pattern.text(), "no such function", {}});
  }

  Unmatched explain(const Pattern& pattern) const {
    Unmatched unmatched{pattern.text(), "no function matches", {}};
    if (pattern.kind() == Pattern::Kind::address) {
      explain_address(pattern, unmatched);
    } else if (!pattern.module().empty() && !has_module(pattern)) {
      unmatched.reason = "no such module is loaded";
    } else if (pattern.kind() == Pattern::Kind::name) {
      explain_name(pattern, unmatched);
    }
    return unmatched;
  }

  void explain_address(const Pattern& pattern, Unmatched& unmatched) const {
    unmatched.reason = "no function begins there";
    const auto place = table_.place_of(pattern.number());
    if (!place) return;
    unmatched.reason += ", it is ";
    if (!place->module.empty()) {
      unmatched.reason += std::string(place->module) + ":";
    }
    unmatched.reason += std::string(place->name) + "+" + hex(place->offset);
  }

  bool has_module(const Pattern& pattern) const {
    const Pattern anything(pattern.module() + ":*");
    const Group all = table_.functions();
    return std::any_of(all.begin(), all.end(), [&](const Function& function) {
      return anything.matches(function);
    });
  }

  void explain_name(const Pattern& pattern, Unmatched& unmatched) const {
    const std::string& name = pattern.name();
    const std::string part = name + ".part.";
    unmatched.reason = "no such function";
    for (const Function& function : table_.functions()) {
      const bool elsewhere = function.name == name;
      if (!elsewhere && !function.name.starts_with(part)) continue;
      if (!elsewhere) {
        unmatched.reason = "inlined, but for a part";
        unmatched.suggestion = function.name;
        return;
      }
      unmatched.reason = "no such function there";
      unmatched.suggestion =
          std::string(function.module.empty() ? "vmlinux" : function.module) +
          ":" + name;
      return;
    }
    if (name.size() > 8 &&
        name.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
      unmatched.suggestion = "0x" + name;
      return;
    }
    unmatched.suggestion = table_.closest(name);
  }

  const SymbolTable& table_;
  std::span<const Pattern> patterns_;
  std::span<const Pattern> excludes_;
  const SelectOptions& options_;
  PatternIndex index_;
  PatternIndex exclude_index_;
  std::vector<bool> matched_;
  std::vector<bool> exclude_matched_;
  Selection selection_;
};

}  // namespace

Selection select(const SymbolTable& table, std::span<const Pattern> patterns,
                 std::span<const Pattern> excludes,
                 const SelectOptions& options) {
  return Selector(table, patterns, excludes, options).run();
}

}  // namespace probekit
