// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <gtest/gtest.h>

#include <limits>
#include <probekit/histogram.hpp>
#include <vector>

namespace probekit {
namespace {

constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();

Distribution of(const std::vector<std::uint64_t>& values) {
  Distribution distribution;
  for (const auto value : values) distribution.add(value);
  return distribution;
}

TEST(Log2Histogram, SlotsMeetWithoutGapOrOverlap) {
  EXPECT_EQ(Log2Histogram::low(0), 0u);
  for (std::size_t i = 0; i + 1 < Log2Histogram::kSlots; ++i) {
    EXPECT_EQ(Log2Histogram::last(i) + 1, Log2Histogram::low(i + 1)) << i;
  }
  EXPECT_EQ(Log2Histogram::last(Log2Histogram::kSlots - 1), kMax);
}

TEST(Log2Histogram, ValuesFallIntoTheSlotThatHoldsThem) {
  for (std::size_t i = 0; i < Log2Histogram::kSlots; ++i) {
    EXPECT_EQ(Log2Histogram::slot_of(Log2Histogram::low(i)), i);
    EXPECT_EQ(Log2Histogram::slot_of(Log2Histogram::last(i)), i);
  }
  EXPECT_EQ(Log2Histogram::slot_of(1), 0u);
  EXPECT_EQ(Log2Histogram::slot_of(2), 1u);
}

TEST(Log2Histogram, CountsSaturate) {
  Log2Histogram histogram;
  histogram.add(5, kMax);
  histogram.add(5);
  EXPECT_EQ(histogram[2], kMax);
  histogram.add(100);
  EXPECT_EQ(histogram.count(), kMax);
}

TEST(Log2Histogram, SumsAndDifferences) {
  Log2Histogram a;
  a.add(1, 3);
  a.add(1000, 2);
  Log2Histogram b = a;
  b.add(1000, 5);
  b.add(kMax);
  Log2Histogram difference = b.since(a);
  EXPECT_EQ(difference.count(), 6u);
  EXPECT_EQ(difference[9], 5u);
  difference += a;
  EXPECT_EQ(difference, b);
}

TEST(Log2Histogram, DifferenceNeverWraps) {
  Log2Histogram more;
  more.add(7, 2);
  EXPECT_EQ(Log2Histogram().since(more).count(), 0u);
}

TEST(Log2Histogram, TakesRawSlots) {
  std::vector<std::uint64_t> raw(Log2Histogram::kSlots, 0);
  raw[0] = 2;
  raw[47] = 1;
  const Log2Histogram histogram(
      std::span<const std::uint64_t, Log2Histogram::kSlots>(raw.data(), 48));
  EXPECT_EQ(histogram[0], 2u);
  EXPECT_EQ(histogram[47], 1u);
  EXPECT_EQ(histogram.count(), 3u);
}

TEST(Distribution, EmptyIsAllZero) {
  const Distribution empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.mean(), 0u);
  EXPECT_EQ(empty.percentile(50), 0u);
  EXPECT_EQ(empty.percentile(100), 0u);
}

TEST(Distribution, OneValueIsEveryPercentile) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{777}, kMax}) {
    const Distribution one = of({value});
    for (const double percent : {0.0, 1.0, 50.0, 99.9, 100.0}) {
      EXPECT_EQ(one.percentile(percent), value) << value << ' ' << percent;
    }
    EXPECT_EQ(one.mean(), value);
  }
}

TEST(Distribution, EqualValuesAreExact) {
  const Distribution equal = of(std::vector<std::uint64_t>(1000, 1500));
  EXPECT_EQ(equal.percentile(50), 1500u);
  EXPECT_EQ(equal.percentile(99), 1500u);
  EXPECT_EQ(equal.mean(), 1500u);
}

TEST(Distribution, PercentilesAreWithinAFactorOfTwoAndOrdered) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 1; i <= 10000; ++i) values.push_back(i * i);
  const Distribution squares = of(values);
  std::uint64_t previous = 0;
  for (int percent = 1; percent <= 100; ++percent) {
    const auto truth = values[static_cast<std::size_t>(percent) * 100 - 1];
    const auto estimate = squares.percentile(percent);
    EXPECT_GE(estimate, truth / 2) << percent;
    EXPECT_LE(estimate, truth * 2) << percent;
    EXPECT_GE(estimate, previous) << percent;
    previous = estimate;
  }
  EXPECT_EQ(squares.percentile(100), squares.max);
  EXPECT_EQ(squares.percentile(0), squares.min);
}

TEST(Distribution, EvenSpreadInterpolatesClosely) {
  Distribution even;
  for (std::uint64_t i = 1024; i < 2048; ++i) even.add(i);
  EXPECT_NEAR(static_cast<double>(even.percentile(50)), 1536, 2);
  EXPECT_NEAR(static_cast<double>(even.percentile(90)), 1945, 2);
}

TEST(Distribution, PercentileStaysWithinMinAndMax) {
  const Distribution narrow = of({1030, 1031, 1032});
  for (int percent = 0; percent <= 100; percent += 5) {
    EXPECT_GE(narrow.percentile(percent), 1030u);
    EXPECT_LE(narrow.percentile(percent), 1032u);
  }
}

TEST(Distribution, OutOfRangePercentIsClamped) {
  const Distribution two = of({10, 1000});
  EXPECT_EQ(two.percentile(-5), 10u);
  EXPECT_EQ(two.percentile(500), 1000u);
}

TEST(Distribution, LastSlotIsBoundedByMax) {
  const std::uint64_t days = std::uint64_t{1} << 49;
  const Distribution rare = of({100, days, days});
  EXPECT_LE(rare.percentile(99), days);
  EXPECT_GE(rare.percentile(99), days / 4);
}

TEST(Distribution, MeanRoundsToNearest) {
  EXPECT_EQ(of({1, 2}).mean(), 2u);
  EXPECT_EQ(of({1, 1, 2}).mean(), 1u);
  EXPECT_EQ(of({1, 2, 2}).mean(), 2u);
}

TEST(Distribution, TotalSaturates) {
  const Distribution huge = of({kMax, kMax});
  EXPECT_EQ(huge.total, kMax);
  EXPECT_EQ(huge.max, kMax);
}

TEST(Distribution, MergesTakingTheExtremes) {
  Distribution merged = of({10, 20});
  merged += Distribution{};
  EXPECT_EQ(merged.min, 10u);
  merged += of({5, 500});
  EXPECT_EQ(merged.min, 5u);
  EXPECT_EQ(merged.max, 500u);
  EXPECT_EQ(merged.total, 535u);
  EXPECT_EQ(merged.count(), 4u);

  Distribution empty;
  empty += of({7});
  EXPECT_EQ(empty.min, 7u);
}

TEST(Distribution, SettlesWhatWasReadTooEarly) {
  Distribution torn;
  torn.histogram.add(1500);
  torn.min = kMax;  // as if no value had come yet
  torn.max = 0;
  torn.settle();
  EXPECT_EQ(torn.min, 1024u);
  EXPECT_EQ(torn.max, 2047u);
  torn.histogram.add(9);
  torn.settle();
  EXPECT_EQ(torn.min, 15u);
  EXPECT_EQ(torn.max, 2047u);

  Distribution sound = of({9, 1500});
  sound.settle();
  EXPECT_EQ(sound.min, 9u);
  EXPECT_EQ(sound.max, 1500u);

  Distribution empty;
  empty.min = kMax;
  empty.settle();
  EXPECT_EQ(empty.min, 0u);
}

TEST(Distribution, MeanStaysWithinMinAndMax) {
  Distribution torn = of({1000, 1000});
  torn.total = 1000;
  EXPECT_EQ(torn.mean(), 1000u);
}

TEST(Distribution, SinceNothingIsAll) {
  const Distribution all = of({3, 9}).since({});
  EXPECT_EQ(all.min, 3u);
  EXPECT_EQ(all.max, 9u);
  EXPECT_EQ(all.count(), 2u);
}

TEST(Distribution, SinceSelfIsEmpty) {
  const Distribution some = of({3, 9});
  EXPECT_EQ(some.since(some).count(), 0u);
  EXPECT_EQ(some.since(some).max, 0u);
}

TEST(Distribution, SinceKnowsNewExtremes) {
  const Distribution earlier = of({100, 200});
  Distribution later = earlier;
  later.add(7);
  later.add(9000);
  const Distribution interval = later.since(earlier);
  EXPECT_EQ(interval.min, 7u);
  EXPECT_EQ(interval.max, 9000u);
  EXPECT_EQ(interval.total, 9007u);
}

TEST(Distribution, SinceBoundsOtherExtremesBySlot) {
  const Distribution earlier = of({1, 100000});
  Distribution later = earlier;
  later.add(1500);
  const Distribution interval = later.since(earlier);
  EXPECT_EQ(interval.min, 1024u);
  EXPECT_EQ(interval.max, 2047u);
  EXPECT_EQ(interval.mean(), 1500u);
}

}  // namespace
}  // namespace probekit
