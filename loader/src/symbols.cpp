// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <probekit/error.hpp>
#include <probekit/symbols.hpp>
#include <utility>

#include "detail/files.hpp"
#include "detail/kallsyms.hpp"
#include "detail/suggest.hpp"

namespace probekit {

struct SymbolTable::State {
  std::shared_ptr<const std::string> text;  // owns every name
  detail::Symbols symbols;
  // Aligned with symbols.functions: is this the alias that ftrace lists?
  std::vector<bool> listed;
  std::vector<detail::Range> blacklist;
};

namespace {

// How far behind the address of a function its ftrace location may lie.
//
// Usually it is the first instruction. With branch tracking that is a landing
// pad (endbr64 on x86-64, 4 bytes; BTI on arm64, 4 bytes, and a second nop) and
// the location follows it. A location that lies this close, and before the
// next symbol, belongs to the function: that is also how the kernel resolves
// the address of a function to its ftrace location.
constexpr std::uint64_t max_entry_offset = 16;

bool address_less(const Function& function, std::uint64_t address) {
  return function.address < address;
}

bool address_greater(std::uint64_t address, const Function& function) {
  return address < function.address;
}

// One past the last alias of the function at `first`.
std::size_t end_of_aliases(const std::vector<Function>& functions,
                           std::size_t first) {
  std::size_t end = first + 1;
  while (end < functions.size() &&
         functions[end].address == functions[first].address) {
    ++end;
  }
  return end;
}

// Gives every function its ftrace location, and tells which alias ftrace has
// for it. Both lists are sorted by address.
std::vector<bool> match_locations(
    std::vector<Function>& functions,
    const std::vector<detail::Location>& locations) {
  std::vector<bool> listed(functions.size());
  auto location = locations.begin();
  for (std::size_t first = 0, end = 0; first < functions.size(); first = end) {
    const std::uint64_t address = functions[first].address;
    end = end_of_aliases(functions, first);
    while (location != locations.end() && location->address < address) {
      ++location;
    }
    if (location == locations.end()) break;
    if (location->address - address > max_entry_offset) continue;
    if (end < functions.size() && location->address >= functions[end].address) {
      continue;
    }
    for (std::size_t i = first; i < end; ++i) {
      functions[i].location = location->address;
      listed[i] = functions[i].name == location->name;
    }
  }
  return listed;
}

bool is_discarded(const detail::Symbols& symbols, std::uint64_t address) {
  return address >= symbols.init_begin && address < symbols.init_end;
}

void assume_locations(detail::Symbols& symbols) {
  for (Function& function : symbols.functions) {
    if (is_discarded(symbols, function.address)) continue;
    function.location = function.address;
  }
}

// A file of the kernel without which nothing can be resolved.
std::string read_or_explain(const std::string& path, std::size_t expected,
                            const std::string& remedy) {
  detail::FileContent content = detail::read_file(path, expected);
  if (content.error == EACCES || content.error == EPERM) {
    throw UnsupportedError("read", path, content.error, {},
                           "run as root; if you do, kernel lockdown or a "
                           "container keeps the file from you");
  }
  if (content.error == ENOENT) {
    throw UnsupportedError("read", path, content.error, {}, remedy);
  }
  if (content.error != 0) throw Error("read", path, content.error);
  return std::move(content.text);
}

std::string read_filter_functions() {
  // What a kernel of 45,000 functions needs, with room to spare.
  constexpr std::size_t expected = std::size_t{4} << 20;
  const std::string file = "/available_filter_functions_addrs";
  const std::array<std::string, 2> mounts = {"/sys/kernel/tracing",
                                             "/sys/kernel/debug/tracing"};
  for (const std::string& mount : mounts) {
    detail::FileContent content = detail::read_file(mount + file, expected);
    if (content.error == 0) return std::move(content.text);
    if (content.error != ENOENT) {
      return read_or_explain(mount + file, expected, "run as root");
    }
    // Mounted, and without that file?
    if (detail::read_file(mount + "/README", 0).error == 0) {
      throw UnsupportedError("read", mount + file, ENOENT, {},
                             "use a kernel of version 6.5 or newer with "
                             "CONFIG_DYNAMIC_FTRACE");
    }
  }
  throw UnsupportedError(
      "read", mounts[0] + file, ENOENT, "tracefs is not mounted",
      "mount it: mount -t tracefs nodev /sys/kernel/tracing");
}

}  // namespace

std::string_view to_string(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none:
      return "it can be probed";
    case Refusal::not_traceable:
      return "ftrace cannot attach to it: notrace code, or assembly";
    case Refusal::init:
      return "the kernel discarded it after boot";
    case Refusal::blacklisted:
      return "the kernel forbids kprobes in it";
    case Refusal::excluded:
      return "handlers run on it";
  }
  return "unknown";
}

SymbolTable SymbolTable::of_running_kernel(Locations locations) {
  // With room to spare: 200,000 symbols take 9 MB. Untouched pages are free.
  constexpr std::size_t expected = std::size_t{32} << 20;
  std::string kallsyms =
      read_or_explain("/proc/kallsyms", expected,
                      "mount /proc, and use a kernel with CONFIG_KALLSYMS");
  // Optional: debugfs is often not mounted, and fprobe does not need it.
  const std::string blacklist =
      detail::read_file("/sys/kernel/debug/kprobes/blacklist", 0).text;
  if (locations == Locations::listed) {
    return SymbolTable(std::move(kallsyms), read_filter_functions(), blacklist);
  }
  std::shared_ptr<State> state = parse(std::move(kallsyms), blacklist);
  assume_locations(state->symbols);
  state->listed.resize(state->symbols.functions.size());
  return SymbolTable(std::move(state));
}

SymbolTable SymbolTable::with_listed_locations() const {
  const std::string functions = read_filter_functions();
  auto state = std::make_shared<State>(*state_);
  for (Function& function : state->symbols.functions) function.location = 0;
  state->listed = match_locations(state->symbols.functions,
                                  detail::parse_filter_functions(functions));
  return SymbolTable(std::move(state));
}

std::shared_ptr<SymbolTable::State> SymbolTable::parse(
    std::string kallsyms, std::string_view blacklist) {
  auto state = std::make_shared<State>();
  state->text = std::make_shared<const std::string>(std::move(kallsyms));
  state->symbols = detail::parse_kallsyms(*state->text);
  if (state->symbols.hidden) {
    throw UnsupportedError(
        "read", "/proc/kallsyms", 0, "the kernel hides its addresses",
        "run as root with CAP_SYSLOG, and with kernel.kptr_restrict below 2: "
        "sysctl kernel.kptr_restrict=1");
  }
  state->blacklist = detail::parse_blacklist(blacklist);
  return state;
}

SymbolTable::SymbolTable(std::shared_ptr<const State> state) noexcept
    : state_(std::move(state)) {}

SymbolTable::SymbolTable(std::string kallsyms,
                         std::string_view filter_functions,
                         std::string_view blacklist) {
  const std::shared_ptr<State> state = parse(std::move(kallsyms), blacklist);
  state->listed =
      match_locations(state->symbols.functions,
                      detail::parse_filter_functions(filter_functions));
  state_ = state;
}

std::span<const Function> SymbolTable::functions() const noexcept {
  return state_->symbols.functions;
}

std::vector<Function> SymbolTable::find(std::string_view name) const {
  std::vector<Function> found;
  for (const Function& function : functions()) {
    if (function.name == name) found.push_back(function);
  }
  return found;
}

std::span<const Function> SymbolTable::aliases(
    std::uint64_t address) const noexcept {
  const std::vector<Function>& all = state_->symbols.functions;
  const auto after =
      std::upper_bound(all.begin(), all.end(), address, address_greater);
  if (after == all.begin()) return {};
  const Function& last = *(after - 1);
  if (last.address != address && last.location != address) return {};
  const auto first =
      std::lower_bound(all.begin(), after, last.address, address_less);
  return {first, after};
}

const Function& SymbolTable::preferred(
    std::span<const Function> aliases) const noexcept {
  const auto base = static_cast<std::size_t>(aliases.data() -
                                             state_->symbols.functions.data());
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    if (state_->listed[base + i]) return aliases[i];
  }
  return aliases.front();
}

std::optional<Place> SymbolTable::place_of(
    std::uint64_t address) const noexcept {
  const std::vector<Function>& all = state_->symbols.functions;
  const std::vector<Function>& others = state_->symbols.others;
  const auto function =
      std::upper_bound(all.begin(), all.end(), address, address_greater);
  const auto other =
      std::upper_bound(others.begin(), others.end(), address, address_greater);
  const Function* found = nullptr;
  if (function != all.begin()) {
    found = &preferred(aliases((function - 1)->address));
  }
  if (other != others.begin() &&
      (found == nullptr || (other - 1)->address > found->address)) {
    found = &*(other - 1);
  }
  if (found == nullptr) return std::nullopt;
  return Place{found->name, found->module, address - found->address};
}

Refusal SymbolTable::refusal(const Function& function) const noexcept {
  if (function.location != 0) return Refusal::none;
  return is_discarded(state_->symbols, function.address)
             ? Refusal::init
             : Refusal::not_traceable;
}

bool SymbolTable::blacklisted(std::uint64_t address) const noexcept {
  const std::vector<detail::Range>& ranges = state_->blacklist;
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](std::uint64_t value, const detail::Range& range) {
                         return value < range.begin;
                       });
  // Sections on the list enclose functions on it, so look at all before.
  return std::any_of(
      ranges.begin(), after,
      [address](const detail::Range& range) { return address < range.end; });
}

std::string_view SymbolTable::closest(std::string_view name) const {
  std::string_view best;
  bool best_traceable = false;
  std::size_t least = detail::believable_mistakes(name.size());
  for (const Function& function : functions()) {
    const bool traceable = function.location != 0;
    const std::size_t distance =
        detail::typing_distance(name, function.name, least);
    if (distance > least || function.name == name) continue;
    if (!best.empty() && distance == least && (best_traceable || !traceable)) {
      continue;
    }
    best = function.name;
    best_traceable = traceable;
    least = distance;
  }
  return best;
}

}  // namespace probekit
