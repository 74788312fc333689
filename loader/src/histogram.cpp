// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>
#include <cmath>
#include <probekit/histogram.hpp>
#include <utility>

namespace probekit {
namespace {

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum < a ? std::numeric_limits<std::uint64_t>::max() : sum;
}

std::uint64_t saturating_subtract(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

std::uint64_t interpolate(std::uint64_t low, std::uint64_t high,
                          double fraction) {
  const double offset = static_cast<double>(high - low) * fraction;
  // A double may round up beyond what fits into the range.
  if (offset >= static_cast<double>(high - low)) return high;
  return low + static_cast<std::uint64_t>(std::llround(offset));
}

}  // namespace

Log2Histogram::Log2Histogram(std::span<const std::uint64_t, kSlots> slots) {
  std::copy(slots.begin(), slots.end(), slots_.begin());
}

void Log2Histogram::add(std::uint64_t value, std::uint64_t times) {
  auto& slot = slots_[slot_of(value)];
  slot = saturating_add(slot, times);
}

Log2Histogram& Log2Histogram::operator+=(const Log2Histogram& other) {
  for (std::size_t i = 0; i < kSlots; ++i) {
    slots_[i] = saturating_add(slots_[i], other.slots_[i]);
  }
  return *this;
}

Log2Histogram Log2Histogram::since(const Log2Histogram& earlier) const {
  Log2Histogram result;
  for (std::size_t i = 0; i < kSlots; ++i) {
    result.slots_[i] = saturating_subtract(slots_[i], earlier.slots_[i]);
  }
  return result;
}

std::uint64_t Log2Histogram::count() const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t slot : slots_) sum = saturating_add(sum, slot);
  return sum;
}

std::uint64_t Distribution::mean() const noexcept {
  const std::uint64_t n = count();
  if (n == 0) return 0;
  // Rounded without adding to the total, which could overflow.
  const std::uint64_t mean = total / n + (total % n >= n - n / 2 ? 1 : 0);
  return min <= max ? std::clamp(mean, min, max) : mean;
}

std::uint64_t Distribution::percentile(double percent) const noexcept {
  const std::uint64_t n = count();
  if (n == 0) return 0;
  const double rank =
      std::clamp(percent, 0.0, 100.0) / 100.0 * static_cast<double>(n);
  if (rank <= 0) return min;

  double before = 0;
  for (std::size_t i = 0; i < Log2Histogram::kSlots; ++i) {
    const auto here = static_cast<double>(histogram[i]);
    if (here > 0 && before + here >= rank) {
      const auto high = std::min(Log2Histogram::last(i), max);
      const auto low = std::min(std::max(Log2Histogram::low(i), min), high);
      return interpolate(low, high, (rank - before) / here);
    }
    before += here;
  }
  return max;
}

void Distribution::add(std::uint64_t value) {
  min = count() == 0 ? value : std::min(min, value);
  max = std::max(max, value);
  total = saturating_add(total, value);
  histogram.add(value);
}

void Distribution::settle() {
  if (count() == 0) {
    *this = {};
    return;
  }
  std::size_t lowest = 0;
  while (histogram[lowest] == 0) ++lowest;
  std::size_t highest = Log2Histogram::kSlots - 1;
  while (histogram[highest] == 0) --highest;
  min =
      std::clamp(min, Log2Histogram::low(lowest), Log2Histogram::last(lowest));
  max = std::clamp(max, Log2Histogram::low(highest),
                   Log2Histogram::last(highest));
  // A first value that is in neither: its slot is all that is known.
  if (min > max) std::swap(min, max);
}

Distribution& Distribution::operator+=(const Distribution& other) {
  if (other.count() == 0) return *this;
  min = count() == 0 ? other.min : std::min(min, other.min);
  max = std::max(max, other.max);
  total = saturating_add(total, other.total);
  histogram += other.histogram;
  return *this;
}

Distribution Distribution::since(const Distribution& earlier) const {
  if (earlier.count() == 0) return *this;
  Distribution result;
  result.total = saturating_subtract(total, earlier.total);
  result.histogram = histogram.since(earlier.histogram);
  // What is no new extreme is unknown: as far out as the rest allows.
  result.min = min < earlier.min ? min : 0;
  result.max =
      max > earlier.max ? max : std::numeric_limits<std::uint64_t>::max();
  result.settle();
  if (result.count() == 0) return result;
  result.min = std::max(result.min, min);
  result.max = std::min(result.max, max);
  return result;
}

}  // namespace probekit
