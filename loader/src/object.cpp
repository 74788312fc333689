// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "probekit/object.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include "probekit/error.hpp"

namespace probekit {
namespace detail {

struct ObjectCloser {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct LinkDestroyer {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

struct ObjectState {
  std::string name;
  std::unique_ptr<bpf_object, ObjectCloser> object;
};

/// Members die in reverse order: the link before the objects that it runs.
struct LinkState {
  std::vector<std::shared_ptr<ObjectState>> objects;
  std::unique_ptr<bpf_link, LinkDestroyer> link;
};

}  // namespace detail

namespace {

LogSink& log_sink() {
  static LogSink sink;
  return sink;
}

/// What libbpf said last on this thread: the reason of a failure.
thread_local std::string last_words;

int on_libbpf_print(libbpf_print_level level, const char* format,
                    va_list args) {
  std::va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length <= 0) return 0;
  std::string text(static_cast<std::size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, args);
  if (log_sink()) log_sink()(text);
  if (level == LIBBPF_WARN) last_words += text;
  return length;
}

void listen_to_libbpf() {
  static const auto previous = libbpf_set_print(on_libbpf_print);
  static_cast<void>(previous);
  last_words.clear();
}

/// The line of a log that tells most: the verifier's verdict stands before the
/// line that counts its work, libbpf's own is the first.
std::string verdict_of(std::string_view log) {
  std::vector<std::string_view> lines;
  while (!log.empty()) {
    const auto end = log.find('\n');
    if (const auto line = log.substr(0, end); !line.empty())
      lines.push_back(line);
    log.remove_prefix(end == log.npos ? log.size() : end + 1);
  }
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (lines[i].starts_with("processed ")) return std::string(lines[i - 1]);
  if (lines.empty()) return {};
  auto line = lines.front();
  if (line.starts_with("libbpf: ")) line.remove_prefix(8);
  return std::string(line);
}

bpf_map& map_of(const detail::ObjectState& state, std::string_view name) {
  bpf_map* map = bpf_object__find_map_by_name(state.object.get(),
                                              std::string(name).c_str());
  if (!map)
    throw Error("find", fmt::format("map {} of {}", name, state.name), ENOENT);
  return *map;
}

bpf_map& probe_of(const detail::ObjectState& state, std::string_view name) {
  bpf_map& map = map_of(state, name);
  if (bpf_map__type(&map) != BPF_MAP_TYPE_STRUCT_OPS)
    throw Error("use", fmt::format("map {} of {}", name, state.name), EINVAL,
                "it is not a probe");
  return map;
}

/// Where a named member of a struct_ops map lies, by the object's own BTF: it
/// may have been built with another version of the header. Empty: nowhere.
std::span<std::byte> find_member(const detail::ObjectState& state,
                                 std::string_view probe, const char* member) {
  bpf_map& map = probe_of(state, probe);
  const btf* types = bpf_object__btf(state.object.get());
  std::size_t size = 0;
  auto* data = static_cast<std::byte*>(bpf_map__initial_value(&map, &size));
  const btf_type* type =
      btf__type_by_id(types, bpf_map__btf_value_type_id(&map));
  if (!data || !type || !btf_is_struct(type))
    throw Error("read the type of", fmt::format("{} of {}", probe, state.name),
                EINVAL);
  const btf_member* members = btf_members(type);
  for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
    if (std::strcmp(btf__name_by_offset(types, members[i].name_off), member))
      continue;
    const auto offset = btf_member_bit_offset(type, i) / 8;
    const auto length = btf__resolve_size(types, members[i].type);
    return {data + offset, static_cast<std::size_t>(length)};
  }
  return {};
}

void set_member(const detail::ObjectState& state, std::string_view probe,
                const char* member, std::uint32_t value) {
  const std::span<std::byte> place = find_member(state, probe, member);
  if (place.empty())
    throw Error("set", fmt::format("{} of {} of {}", member, probe, state.name),
                ENOENT);
  if (place.size() != sizeof(value))
    throw Error("set", fmt::format("{} of {} of {}", member, probe, state.name),
                EINVAL, "its size is not 4 bytes");
  std::memcpy(place.data(), &value, sizeof(value));
}

/// The value of a member that may not be there: then zero.
template <typename T>
T value_of(const detail::ObjectState& state, std::string_view probe,
           const char* member) {
  T value{};
  const auto place = find_member(state, probe, member);
  if (place.size() == sizeof(value))
    std::memcpy(&value, place.data(), sizeof(value));
  return value;
}

/// What the engine has against the members of a probe. It says no more than
/// EINVAL or E2BIG; these are its rules. Empty: none of these.
std::string complaint_about(const detail::ObjectState& state,
                            std::string_view probe) {
  struct Limit {
    const char* member;
    std::uint32_t most;
  };
  static constexpr std::array<Limit, 4> kLimits{
      {{"entry_data_size", PROBEKIT_MAX_ENTRY_DATA},
       {"data_size", PROBEKIT_MAX_KRETPROBE_DATA},
       {"nr_maxactive", PROBEKIT_MAX_ACTIVE},
       {"maxactive", PROBEKIT_MAX_ACTIVE}}};
  const bool has_exit =
      value_of<std::uint64_t>(state, probe, "exit_handler") != 0 ||
      value_of<std::uint64_t>(state, probe, "post_handler") != 0 ||
      value_of<std::uint64_t>(state, probe, "handler") != 0;
  for (const auto& [member, most] : kLimits) {
    const auto value = value_of<std::uint32_t>(state, probe, member);
    if (value > most)
      return fmt::format("{} is {}, the most is {}", member, value, most);
    if (value != 0 && !has_exit)
      return fmt::format("{} is {}, but there is no handler of the exit",
                         member, value);
  }
  constexpr std::uint32_t kKnown = PROBEKIT_FLAG_DISABLED |
                                   PROBEKIT_FLAG_KPROBE_SHARED |
                                   PROBEKIT_FLAG_OUTCOME;
  const auto flags = value_of<std::uint32_t>(state, probe, "flags");
  if ((flags & ~kKnown) != 0)
    return fmt::format("flags has unknown bits: {:#x}", flags & ~kKnown);
  if ((flags & PROBEKIT_FLAG_KPROBE_SHARED) != 0 &&
      find_member(state, probe, "nr_maxactive").empty())
    return "flags has PROBEKIT_FLAG_KPROBE_SHARED, which is for fprobes";
  return {};
}

/// The bytes of a variable in the read-only data that goes with the programs.
std::span<std::byte> constant_of(const detail::ObjectState& state,
                                 std::string_view variable) {
  const btf* types = bpf_object__btf(state.object.get());
  const int id = btf__find_by_name_kind(types, ".rodata", BTF_KIND_DATASEC);
  if (id < 0) return {};
  std::size_t size = 0;
  auto* data = static_cast<std::byte*>(
      bpf_map__initial_value(&map_of(state, ".rodata"), &size));
  const btf_type* section = btf__type_by_id(types, static_cast<__u32>(id));
  const btf_var_secinfo* infos = btf_var_secinfos(section);
  for (std::uint32_t i = 0; data && i < btf_vlen(section); ++i) {
    const btf_type* type = btf__type_by_id(types, infos[i].type);
    if (variable == btf__name_by_offset(types, type->name_off))
      return {data + infos[i].offset, infos[i].size};
  }
  return {};
}

std::size_t round_up_8(std::size_t size) {
  return (size + 7) & ~std::size_t{7};
}

[[noreturn]] void throw_attach_error(const detail::ObjectState& state,
                                     const std::string& probe, int error) {
  if (error == EINVAL || error == E2BIG)
    if (auto complaint = complaint_about(state, probe); !complaint.empty())
      throw Error("attach", probe, error, std::move(complaint),
                  "correct it in the probe's definition");
  switch (error) {
    case EPERM:
      throw UnsupportedError(
          "attach", probe, error, {},
          "run as root; lockdown=confidentiality forbids every kind of probe");
    case EINTR:
      throw Error("attach", probe, error, "interrupted");
    case ENOENT:
      throw Error("attach", probe, error, "no target of it can be probed");
    case EBADF:
      throw Error("attach", probe, error, "it is aimed at no target set",
                  "call set_targets() before load()");
    case E2BIG:
      throw Error("attach", probe, error,
                  "storage for so many calls in flight is over 256 MiB, or an "
                  "eighth of all memory",
                  "lower maxactive, or the size of entry data");
    case EOPNOTSUPP:
      throw Error("attach", probe, error,
                  "no post handler at the entry of a function, no change of "
                  "the outcome elsewhere, or not by this module",
                  "use a probekit_fprobe there; to change the outcome, load "
                  "the module with change_outcome=1");
    case EMEDIUMTYPE:
      throw Error("attach", probe, error,
                  "its target set is for another kind of probe",
                  "make the set with the kind of the probe");
    case EBUSY:
      throw Error("attach", probe, error,
                  "another probe is over its target set, or ftrace is off",
                  "make a target set for each probe; see sysctl "
                  "kernel.ftrace_enabled");
    default:
      throw Error("attach", probe, error, {},
                  "the kernel log (dmesg) may say more");
  }
}

}  // namespace

void set_log_sink(LogSink sink) { log_sink() = std::move(sink); }

Link::Link(std::unique_ptr<detail::LinkState> state)
    : state_(std::move(state)) {}
Link::Link(Link&&) noexcept = default;
Link& Link::operator=(Link&&) noexcept = default;
Link::~Link() = default;

int Link::fd() const noexcept { return bpf_link__fd(state_->link.get()); }

Object::Object(std::string name, std::span<const std::byte> elf)
    : state_(std::make_shared<detail::ObjectState>()) {
  state_->name = std::move(name);
  listen_to_libbpf();
  LIBBPF_OPTS(bpf_object_open_opts, options,
              .object_name = state_->name.c_str());
  state_->object.reset(bpf_object__open_mem(elf.data(), elf.size(), &options));
  if (!state_->object)
    throw Error("open", "the BPF object " + state_->name, errno,
                verdict_of(last_words));
}

Object::Object(Object&&) noexcept = default;
Object& Object::operator=(Object&&) noexcept = default;
Object::~Object() = default;

void Object::set_constant_bytes(std::string_view variable,
                                std::span<const std::byte> value) {
  const std::span<std::byte> place = constant_of(*state_, variable);
  if (place.size() != value.size())
    throw Error("set", fmt::format("constant {} of {}", variable, state_->name),
                place.empty() ? ENOENT : EINVAL);
  std::memcpy(place.data(), value.data(), value.size());
}

void Object::set_max_entries(std::string_view map, std::uint32_t entries) {
  if (const int err = bpf_map__set_max_entries(&map_of(*state_, map), entries))
    throw Error("resize", fmt::format("map {} of {}", map, state_->name), -err);
}

void Object::keep_only(std::string_view probe) {
  const bpf_map* kept = &probe_of(*state_, probe);
  bpf_map* map = nullptr;
  // libbpf leaves programs out that no map is left for.
  bpf_object__for_each_map(map, state_->object.get()) {
    if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS && map != kept)
      bpf_map__set_autocreate(map, false);
  }
}

void Object::set_targets(std::string_view probe, const TargetSet& targets) {
  set_member(*state_, probe, "targets_fd",
             static_cast<std::uint32_t>(targets.fd()));
}

void Object::set_maxactive(std::string_view probe, std::uint32_t calls) {
  const bool fprobe = !find_member(*state_, probe, "nr_maxactive").empty();
  set_member(*state_, probe, fprobe ? "nr_maxactive" : "maxactive", calls);
}

void Object::set_flags(std::string_view probe, std::uint32_t flags) {
  set_member(*state_, probe, "flags", flags);
}

void Object::load() {
  listen_to_libbpf();
  const int err = bpf_object__load(state_->object.get());
  if (!err) return;
  const std::string object = "the BPF object " + state_->name;
  if (err == -EPERM)
    throw UnsupportedError("load", object, EPERM, {},
                           "run as root (CAP_BPF and CAP_PERFMON are needed)");
  if (err == -ENOMEM)
    throw Error("load", object, ENOMEM, "out of memory for its maps",
                "use a narrower pattern");
  throw Error("load", object, -err, verdict_of(last_words),
              "run with -v for the whole log");
}

Link Object::attach(std::string_view probe) {
  bpf_map& map = probe_of(*state_, probe);
  listen_to_libbpf();
  auto state = std::make_unique<detail::LinkState>();
  state->objects.push_back(state_);
  state->link.reset(bpf_map__attach_struct_ops(&map));
  if (!state->link) throw_attach_error(*state_, std::string(probe), errno);
  return Link(std::move(state));
}

void Object::swap(Link& link, std::string_view probe) {
  bpf_map& map = probe_of(*state_, probe);
  listen_to_libbpf();
  if (const int err = bpf_link__update_map(link.state_->link.get(), &map))
    throw Error("swap the handlers for", std::string(probe), -err,
                err == -EINVAL ? "their shape differs from the live ones" : "");
  link.state_->objects.push_back(state_);
}

std::size_t Object::possible_cpus() {
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 0) throw Error("count", "the possible CPUs", -cpus);
  return static_cast<std::size_t>(cpus);
}

void Object::read_percpu_bytes(std::string_view map, std::uint32_t key,
                               std::size_t size,
                               std::span<std::byte> values) const {
  const std::size_t cpus = values.size() / size;
  const std::size_t stride = round_up_8(size);
  std::vector<std::byte> raw(stride * cpus);
  if (const int err = bpf_map__lookup_elem(
          &map_of(*state_, map), &key, sizeof(key), raw.data(), raw.size(), 0))
    throw Error("read", fmt::format("map {} of {}", map, state_->name), -err);
  for (std::size_t cpu = 0; cpu < cpus; ++cpu)
    std::memcpy(&values[cpu * size], &raw[cpu * stride], size);
}

}  // namespace probekit
