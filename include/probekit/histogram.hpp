// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_HISTOGRAM_HPP
#define PROBEKIT_HISTOGRAM_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace probekit {

/// How many values fell between which powers of two: slot 0 holds 0 and 1,
/// slot i holds [2^i, 2^(i+1)), and the last slot everything from its low end
/// on. Handlers keep one per target and CPU. Sums saturate, they never wrap.
class Log2Histogram {
 public:
  static constexpr std::size_t kSlots = 48;

  Log2Histogram() = default;
  explicit Log2Histogram(std::span<const std::uint64_t, kSlots> slots);

  static constexpr std::size_t slot_of(std::uint64_t value) {
    const auto slot =
        value == 0 ? 0 : static_cast<std::size_t>(std::bit_width(value)) - 1;
    return slot < kSlots ? slot : kSlots - 1;
  }
  /// Smallest value of a slot.
  static constexpr std::uint64_t low(std::size_t slot) {
    return slot == 0 ? 0 : std::uint64_t{1} << slot;
  }
  /// Largest value of a slot.
  static constexpr std::uint64_t last(std::size_t slot) {
    return slot + 1 < kSlots ? (std::uint64_t{1} << (slot + 1)) - 1
                             : std::numeric_limits<std::uint64_t>::max();
  }

  void add(std::uint64_t value, std::uint64_t times = 1);
  Log2Histogram& operator+=(const Log2Histogram& other);
  /// What has come on top of an earlier state of the same histogram.
  Log2Histogram since(const Log2Histogram& earlier) const;

  std::uint64_t operator[](std::size_t slot) const { return slots_[slot]; }
  /// All values of all slots.
  std::uint64_t count() const noexcept;

  bool operator==(const Log2Histogram&) const = default;

 private:
  std::array<std::uint64_t, kSlots> slots_{};
};

/// What is kept of many values: enough for a mean that is exact, and for
/// percentiles that are not.
struct Distribution {
  std::uint64_t total = 0;
  std::uint64_t min = 0;  ///< of no meaning while count() is zero
  std::uint64_t max = 0;
  Log2Histogram histogram;

  std::uint64_t count() const noexcept { return histogram.count(); }
  /// Rounded to the nearest integer, within [min, max]; zero for no values.
  std::uint64_t mean() const noexcept;

  /// The value that `percent` of the values do not exceed, zero for no values.
  ///
  /// The slot that it falls into is certain; the place within the slot is
  /// interpolated, as if the values of a slot were spread evenly between its
  /// ends, or between min and max where those are nearer. So the answer is
  /// wrong by less than a factor of two, exact when all values are equal, and
  /// never outside of [min, max].
  std::uint64_t percentile(double percent) const noexcept;

  void add(std::uint64_t value);

  /// Brings min and max into the slots where they must be. Handlers on other
  /// CPUs write one field after the other: what is read meanwhile may have
  /// counted a value that is not yet in min and max.
  void settle();

  Distribution& operator+=(const Distribution& other);

  /// What has come on top of an earlier state of the same distribution. Its
  /// min and max are exact when they are the shortest and longest so far;
  /// otherwise they are the ends of the outermost slots that are not empty.
  Distribution since(const Distribution& earlier) const;
};

}  // namespace probekit

#endif  // PROBEKIT_HISTOGRAM_HPP
