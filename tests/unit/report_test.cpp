// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "table.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();

Row counted_row(const std::string& name, std::string module,
                std::uint64_t address, std::uint64_t calls) {
  return {name, name, std::move(module), address, {calls, {}}};
}

Row timed_row(const std::string& name,
              const std::vector<std::uint64_t>& durations) {
  Distribution times;
  for (const auto duration : durations) times.add(duration);
  return {name, name, "", 0x1000, {times.count(), times}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<json> parse_lines(const std::string& text) {
  std::vector<json> records;
  for (const auto& line : lines_of(text)) records.push_back(json::parse(line));
  return records;
}

TEST(Format, Durations) {
  EXPECT_EQ(format_duration(0), "0 ns");
  EXPECT_EQ(format_duration(999), "999 ns");
  EXPECT_EQ(format_duration(1000), "1.00 us");
  EXPECT_EQ(format_duration(1234), "1.23 us");
  EXPECT_EQ(format_duration(12345), "12.3 us");
  EXPECT_EQ(format_duration(123456), "123 us");
  EXPECT_EQ(format_duration(1234567), "1.23 ms");
  EXPECT_EQ(format_duration(1234567890), "1.23 s");
  EXPECT_EQ(format_duration(3600'000'000'000), "3600 s");
  EXPECT_EQ(format_duration(kMax), "18446744074 s");
}

TEST(Format, DurationsRoundIntoTheNextUnit) {
  EXPECT_EQ(format_duration(9'994), "9.99 us");
  EXPECT_EQ(format_duration(9'996), "10.0 us");
  EXPECT_EQ(format_duration(99'960), "100 us");
  EXPECT_EQ(format_duration(999'499), "999 us");
  EXPECT_EQ(format_duration(999'600), "1.00 ms");
  EXPECT_EQ(format_duration(999'999'999), "1.00 s");
}

TEST(Format, Plurals) {
  EXPECT_EQ(counted(0, "call"), "0 calls");
  EXPECT_EQ(counted(1, "call"), "1 call");
  EXPECT_EQ(counted(2, "call"), "2 calls");
}

TEST(Format, NothingConfusesATerminal) {
  EXPECT_EQ(printable("vfs_read.isra.0"), "vfs_read.isra.0");
  EXPECT_EQ(printable("a\nb\t\x1b[31m\x7f"), "a\\x0ab\\x09\\x1b[31m\\x7f");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // C1 control
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // bidi
  EXPECT_EQ(printable("\xf0\x9f\x90\xa7"), "\xf0\x9f\x90\xa7");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Format, Distances) {
  EXPECT_EQ(distance("", ""), 0u);
  EXPECT_EQ(distance("count", "count"), 0u);
  EXPECT_EQ(distance("cuont", "count"), 2u);
  EXPECT_EQ(distance("", "abc"), 3u);
  EXPECT_EQ(distance("list", "lists"), 1u);
}

TEST(TextTable, AlignsTheColumns) {
  Table table({"FUNCTION", "CALLS"});
  table.add({"f", "12345678"});
  table.add({"a_longer_name", "1"});
  EXPECT_EQ(table.text(),
            "FUNCTION          CALLS\n"
            "f              12345678\n"
            "a_longer_name         1\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  Table table({"F", "C"});
  table.add({"\xc3\xbc", "1"});
  EXPECT_EQ(table.text(), "F  C\n\xc3\xbc  1\n");
}

TEST(TextTable, BarsShowEvenLittle) {
  EXPECT_EQ(bar(0, 100, 10), "");
  EXPECT_EQ(bar(1, 1'000'000, 10), "*");
  EXPECT_EQ(bar(50, 100, 10), "*****");
  EXPECT_EQ(bar(100, 100, 10), "**********");
  EXPECT_EQ(bar(kMax, kMax, 10), "**********");
  EXPECT_EQ(bar(0, 0, 10), "");
}

TEST(TextReport, CountsAreSorted) {
  std::vector<Row> rows{counted_row("b", "", 3, 5), counted_row("a", "", 2, 5),
                        counted_row("c", "", 1, 50)};
  sort_rows(rows);
  EXPECT_THAT(lines_of(text_rows(rows, HistogramChoice::top)),
              ElementsAre("FUNCTION  CALLS", "c            50",
                          "a             5", "b             5"));
}

TEST(TextReport, NoRowsNoText) {
  EXPECT_EQ(text_rows({}, HistogramChoice::all), "");
}

TEST(TextReport, LatenciesHaveAHistogram) {
  const std::vector<Row> rows{timed_row("f", {300, 400, 900})};
  EXPECT_THAT(
      lines_of(text_rows(rows, HistogramChoice::top)),
      ElementsAre("FUNCTION  CALLS    TOTAL     MIN    MEAN     MAX     "
                  "P50     P90     P99",
                  "f             3  1.60 us  300 ns  533 ns  900 ns  "
                  "458 ns  784 ns  888 ns",
                  "", "f",
                  "    256 ns .. 512 ns             2  "
                  "|****************************************|",
                  "    512 ns .. 1.02 us            1  "
                  "|********************                    |"));
}

TEST(TextReport, HistogramsShowGapsAndTheOpenEnd) {
  const std::vector<Row> rows{timed_row("f", {1, kMax})};
  const auto lines = lines_of(text_rows(rows, HistogramChoice::top));
  EXPECT_EQ(lines.size(), 4 + Log2Histogram::kSlots);
  EXPECT_THAT(lines[5], HasSubstr(" 0  |     "));
  EXPECT_THAT(lines.back(), HasSubstr(".. "));
}

TEST(TextReport, HistogramsAreLimitedUnlessAsked) {
  const std::vector<Row> rows(12, timed_row("f", {5}));
  const auto top = text_rows(rows, HistogramChoice::top);
  EXPECT_THAT(top, HasSubstr("2 more histograms not shown"));
  const auto all = text_rows(rows, HistogramChoice::all);
  EXPECT_THAT(all, Not(HasSubstr("not shown")));
  EXPECT_GT(all.size(), top.size());
  EXPECT_THAT(text_rows(rows, HistogramChoice::none), Not(HasSubstr("|")));
}

TEST(TextSummary, IsOneLineWhenAllIsWell) {
  Summary summary;
  summary.targets = 3;
  summary.called = 1;
  summary.calls = 12;
  EXPECT_EQ(text_summary(summary), "3 functions probed, 1 called, 12 calls\n");
}

TEST(TextSummary, EveryMissHasACauseAndARemedy) {
  Summary summary;
  summary.stats.maxactive = 16384;
  summary.stats.missed_storage = 12;
  summary.stats.missed_recursion = 1;
  summary.stats.missed_exit = 2;
  summary.stats.missed_swapped = 3;
  summary.stats.in_flight = 4;
  const std::string text = text_summary(summary);
  EXPECT_THAT(text, HasSubstr("12 calls missed: more than 16384 in flight at "
                              "once; raise --maxactive\n"));
  EXPECT_THAT(text, HasSubstr("1 call missed: "));
  EXPECT_THAT(text, HasSubstr("2 returns missed: "));
  EXPECT_THAT(text, HasSubstr("3 returns missed: "));
  EXPECT_THAT(text, HasSubstr("4 calls had not returned"));
  EXPECT_EQ(lines_of(text).size(), 6u);
}

TEST(TextSummary, CancelledIsNoProblemWithAFilter) {
  Summary summary;
  summary.stats.cancelled = 7;
  EXPECT_THAT(text_summary(summary), HasSubstr("7 calls not wanted"));
  summary.filtered = true;
  EXPECT_THAT(text_summary(summary), Not(HasSubstr("not wanted")));
}

TEST(TextSummary, SaysWhoseCallsWereMissed) {
  Summary summary;
  summary.filtered = true;
  EXPECT_THAT(text_summary(summary), Not(HasSubstr("all processes")));
  summary.stats.missed_storage = 1;
  EXPECT_THAT(text_summary(summary), HasSubstr("all processes"));
}

TEST(JsonReport, CountRecord) {
  const std::vector<Row> rows{
      counted_row("vfs_read", "", 0xffffffff81234560, 9),
      counted_row("xfs_read", "xfs", 0xffffffffc0000010, kMax)};
  const auto records = parse_lines(json_rows(rows, std::nullopt));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0], json::parse(R"({"type":"function",
      "function":"vfs_read","module":null,"address":"0xffffffff81234560",
      "calls":9})"));
  EXPECT_EQ(records[1]["module"], "xfs");
  EXPECT_EQ(records[1]["calls"].get<std::uint64_t>(), kMax);
}

TEST(JsonReport, TypeComesFirst) {
  const std::vector<Row> rows{counted_row("f", "", 1, 1)};
  EXPECT_TRUE(json_rows(rows, std::nullopt).starts_with("{\"type\":"));
  EXPECT_TRUE(json_summary({}).starts_with("{\"type\":"));
}

TEST(JsonReport, LatencyRecord) {
  const std::vector<Row> rows{timed_row("f", {300, 400, 900})};
  const auto record = parse_lines(json_rows(rows, std::nullopt)).at(0);
  EXPECT_EQ(record["calls"], 3);
  EXPECT_EQ(record["total_ns"], 1600);
  EXPECT_EQ(record["min_ns"], 300);
  EXPECT_EQ(record["mean_ns"], 533);
  EXPECT_EQ(record["max_ns"], 900);
  EXPECT_LE(record["p50_ns"], record["p90_ns"]);
  EXPECT_LE(record["p90_ns"], record["p99_ns"]);
  EXPECT_LE(record["p99_ns"], record["max_ns"]);
  EXPECT_EQ(record["histogram"], json::parse(R"([
      {"low_ns":256,"high_ns":512,"count":2},
      {"low_ns":512,"high_ns":1024,"count":1}])"));
}

TEST(JsonReport, LastSlotEndsAtTheLongestCall) {
  const std::uint64_t days = std::uint64_t{1} << 50;
  const std::vector<Row> rows{timed_row("f", {days})};
  const auto slots =
      parse_lines(json_rows(rows, std::nullopt)).at(0)["histogram"];
  EXPECT_EQ(slots.at(0)["low_ns"].get<std::uint64_t>(), std::uint64_t{1} << 47);
  EXPECT_EQ(slots.at(0)["high_ns"].get<std::uint64_t>(), days + 1);
}

TEST(JsonReport, IntervalsAreNumbered) {
  const std::vector<Row> rows{counted_row("f", "", 1, 1)};
  EXPECT_EQ(parse_lines(json_rows(rows, 7)).at(0)["interval"], 7);
}

TEST(JsonReport, StrangeNamesStayOneParsableLine) {
  const std::vector<Row> rows{counted_row("a\n\"\\\xff\x1b", "", 1, 1)};
  const std::string text = json_rows(rows, std::nullopt);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(json::parse(text)["function"], "a\n\"\\\xef\xbf\xbd\x1b");
}

TEST(JsonReport, Summary) {
  Summary summary;
  summary.targets = 3;
  summary.calls = 12;
  summary.stats.entries = 20;
  summary.stats.handled = 17;
  summary.stats.exits = 11;
  summary.stats.in_flight = 1;
  summary.stats.cancelled = 2;
  summary.stats.missed_recursion = 1;
  summary.stats.missed_storage = 2;
  summary.stats.missed_swapped = 3;
  summary.stats.missed_exit = 4;
  EXPECT_EQ(json::parse(json_summary(summary)), json::parse(R"({
      "type":"summary","targets":3,"calls":12,
      "missed":{"recursion":1,"storage":2,"swapped":3,"exit":4},"lost":0,
      "entries":20,"handled":17,"exits":11,"in_flight":1,"cancelled":2})"));
}

TEST(Readings, Differences) {
  const Reading earlier{5, {}};
  EXPECT_EQ((Reading{7, {}}).since(earlier).calls, 2u);
  EXPECT_EQ((Reading{3, {}}).since(earlier).calls, 0u);
  const Reading timed = timed_row("f", {5, 6}).reading;
  EXPECT_EQ(timed.since(timed_row("f", {5}).reading).times->total, 6u);
  EXPECT_EQ(timed.since({}).times->total, 11u);
}

}  // namespace
}  // namespace probekit::tools
