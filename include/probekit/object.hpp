// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_OBJECT_HPP
#define PROBEKIT_OBJECT_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <probekit/engine.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace probekit {

/// Receives what libbpf and the verifier have to say, a line or more at a time.
using LogSink = std::function<void(std::string_view)>;

/// Sets where the library's log goes, for the whole process; an empty sink
/// drops it, which is the default. Set it before anything else.
void set_log_sink(LogSink sink);

namespace detail {
struct ObjectState;
struct LinkState;
}  // namespace detail

/// An attached probe. Destroying it detaches: when the destructor returns no
/// handler runs any more and the counters of the target set are final. Keeps
/// its object alive.
class Link {
 public:
  Link(Link&&) noexcept;
  Link& operator=(Link&&) noexcept;
  ~Link();

  int fd() const noexcept;

 private:
  friend class Object;
  explicit Link(std::unique_ptr<detail::LinkState> state);

  std::unique_ptr<detail::LinkState> state_;
};

/// A BPF object with probekit handlers: open, set up, load, attach, read.
/// Not thread-safe, but for read_percpu(), which may run beside anything.
class Object {
 public:
  /// Parses an object file that the caller holds in memory; nothing is in the
  /// kernel yet. `name` is what errors call it.
  Object(std::string name, std::span<const std::byte> elf);
  Object(Object&&) noexcept;
  Object& operator=(Object&&) noexcept;
  ~Object();

  /// Sets a `const volatile` global of the handlers, before load(). Throws
  /// when there is none of that name and size.
  template <typename T>
  void set_constant(std::string_view variable, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    set_constant_bytes(variable, std::as_bytes(std::span(&value, 1)));
  }

  /// Number of entries of a map, before load().
  void set_max_entries(std::string_view map, std::uint32_t entries);

  /// Leaves out all other probes of the object and their programs, before
  /// load(). Without that everything is loaded, whatever is attached.
  void keep_only(std::string_view probe);

  /// Aims the probe (a struct_ops map) at a target set, before load(). The
  /// set must outlive attach().
  void set_targets(std::string_view probe, const TargetSet& targets);

  /// Limits the calls in flight of a probe, for a kretprobe of each function,
  /// before load(); zero: the engine's default.
  void set_maxactive(std::string_view probe, std::uint32_t calls);

  /// Sets PROBEKIT_FLAG_* of a probe, before load().
  void set_flags(std::string_view probe, std::uint32_t flags);

  /// Verifies and loads the programs. Throws with the verifier's last words.
  void load();

  /// Attaches a probe. Blocks until every target is attached; a signal that is
  /// handled without SA_RESTART interrupts it (Error with EINTR).
  Link attach(std::string_view probe);

  /// Replaces the handlers of a live probe by those of `probe` of this object,
  /// at once and without a gap. The new handlers serve the storage that is
  /// there: an exit handler if and only if there was one, and no more entry
  /// data. The link keeps this object alive from now on, too.
  void swap(Link& link, std::string_view probe);

  /// One entry of a per-CPU map: the value of every possible CPU.
  template <typename T>
  std::vector<T> read_percpu(std::string_view map, std::uint32_t key) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values(possible_cpus());
    read_percpu_bytes(map, key, sizeof(T),
                      std::as_writable_bytes(std::span(values)));
    return values;
  }

  static std::size_t possible_cpus();

 private:
  void set_constant_bytes(std::string_view variable,
                          std::span<const std::byte> value);
  void read_percpu_bytes(std::string_view map, std::uint32_t key,
                         std::size_t size, std::span<std::byte> values) const;

  std::shared_ptr<detail::ObjectState> state_;
};

}  // namespace probekit

#endif  // PROBEKIT_OBJECT_HPP
