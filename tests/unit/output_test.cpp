// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "names.hpp"
#include "printer.hpp"
#include "selection.hpp"

namespace probekit::tools {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

TEST(NamesTest, ModulesAreNamedAndTwinsGetTheirAddress) {
  const Function first{"twin", "", 0xffffffff81000010, 0};
  const Function second{"twin", "", 0xffffffff81000020, 0};
  const Function other{"twin", "xfs", 0xffffffffc0000010, 0};
  const Function refused{"half", "", 0xffffffff81000030, 0};
  const Function half{"half", "", 0xffffffff81000040, 0};
  const Function single{"single", "", 0xffffffff81000050, 0};
  Selection selection;
  selection.targets = {first, second, other, half, single};
  selection.refused = {{refused, Refusal::not_traceable, "", 0, false}};
  const Names names(selection);
  EXPECT_EQ(names.of(first), "twin 0xffffffff81000010");
  EXPECT_EQ(names.of(second), "twin 0xffffffff81000020");
  EXPECT_EQ(names.of(other), "twin [xfs]");
  EXPECT_EQ(names.of(half), "half 0xffffffff81000040");
  EXPECT_EQ(names.of(single), "single");
}

TEST(NamesTest, StrangeNamesAreSpelledOut) {
  const Function strange{"bad\x1bname", "m\n", 1, 0};
  EXPECT_EQ(Names({}).of(strange), "bad\\x1bname [m\\x0a]");
}

Refused refused(std::string_view name, Refusal refusal, bool named) {
  return {Function{name, "", 1, 0}, refusal, "because", 0, named};
}

TEST(Diagnostics, MisspeltPatterns) {
  Selection selection;
  selection.unmatched = {{"vfs_raed", "no such function", "vfs_read"},
                         {"x\x1b*", "no function matches", ""}};
  EXPECT_THAT(
      unmatched_lines(selection, false),
      ElementsAre("'vfs_raed': no such function; did you mean vfs_read?",
                  "'x\\x1b*': no function matches"));
}

TEST(Diagnostics, LongListsAreCutShort) {
  Selection selection;
  for (int i = 0; i < 50; ++i) {
    selection.refused.push_back(refused("f", Refusal::not_traceable, true));
  }
  const auto lines = refused_lines(selection, false);
  ASSERT_EQ(lines.size(), 11u);
  EXPECT_THAT(lines[10], HasSubstr("40 functions"));
  EXPECT_EQ(refused_lines(selection, true).size(), 50u);
}

TEST(Diagnostics, RefusedByNameAreNamedOthersCounted) {
  Selection selection;
  selection.refused = {refused("a", Refusal::not_traceable, true),
                       refused("b", Refusal::not_traceable, false),
                       refused("c", Refusal::not_traceable, false),
                       refused("d", Refusal::excluded, false),
                       refused("e", Refusal::excluded, true)};
  const auto lines = refused_lines(selection, false);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "cannot probe a: because");
  EXPECT_EQ(lines[1], "not probing e: because; --force probes it");
  EXPECT_THAT(lines[2], HasSubstr("2 functions"));
  EXPECT_THAT(lines[3], HasSubstr("1 function "));

  const auto verbose = refused_lines(selection, true);
  ASSERT_EQ(verbose.size(), 3u);
  EXPECT_EQ(verbose[2], "cannot probe 3 functions: because; b, c, d");
  EXPECT_THAT(refused_lines({}, true), IsEmpty());
}

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class OutputFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = testing::TempDir() + "probekit_output_test";
};

TEST_F(OutputFile, HoldsWhatWasWritten) {
  Output output(path_);
  output.write("one\n");
  EXPECT_EQ(slurp(path_), "one\n");
  output.write("two\n");
  output.close();
  EXPECT_EQ(slurp(path_), "one\ntwo\n");
  EXPECT_FALSE(output.failed());
}

TEST_F(OutputFile, IsEmptiedFirst) {
  std::ofstream(path_) << "old";
  Output output(path_);
  EXPECT_EQ(slurp(path_), "");
}

class PrinterTest : public OutputFile {
 protected:
  std::vector<json> records() const { return parse_lines(slurp(path_)); }

  const Selection selection_{
      {{"f", "", 0x10, 0}, {"g", "", 0x20, 0}, {"h", "mod", 0x30, 0}}, {}, {}};
  Output output_{path_};
  Options options_;
};

TEST_F(PrinterTest, LeavesOutWhatWasNotCalledAndSumsUp) {
  options_.json = true;
  Printer printer(options_, output_, selection_);
  printer.finish({{2, {}}, {0, {}}, {5, {}}}, {.targets = 3});
  const auto lines = records();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["function"], "h");
  EXPECT_EQ(lines[1]["function"], "f");
  EXPECT_FALSE(lines[1].contains("interval"));
  EXPECT_EQ(lines[2]["type"], "summary");
  EXPECT_EQ(lines[2]["calls"], 7);
  EXPECT_EQ(lines[2]["targets"], 3);
}

TEST_F(PrinterTest, IntervalsAddUpToTheRun) {
  options_.json = true;
  options_.interval = std::chrono::seconds(1);
  Printer printer(options_, output_, selection_);
  printer.interval({{2, {}}, {0, {}}, {5, {}}});
  printer.interval({{2, {}}, {0, {}}, {5, {}}});
  printer.finish({{3, {}}, {1, {}}, {5, {}}}, {});
  std::uint64_t sum = 0;
  std::vector<std::uint64_t> intervals;
  for (const auto& record : records()) {
    if (record["type"] == "summary") {
      EXPECT_EQ(record["calls"].get<std::uint64_t>(), sum);
      continue;
    }
    sum += record["calls"].get<std::uint64_t>();
    intervals.push_back(record["interval"].get<std::uint64_t>());
  }
  EXPECT_THAT(intervals, ElementsAre(1, 1, 3, 3));
  EXPECT_EQ(sum, 9u);
}

TEST_F(PrinterTest, TextSaysWhenAnIntervalWasEmpty) {
  options_.interval = std::chrono::seconds(1);
  Printer printer(options_, output_, selection_);
  printer.interval({{0, {}}, {0, {}}, {0, {}}});
  printer.finish({{1, {}}, {0, {}}, {0, {}}}, {.targets = 3});
  const auto lines = lines_of(slurp(path_));
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_THAT(lines[0], HasSubstr(" interval 1: no calls"));
  EXPECT_THAT(lines[2], HasSubstr(" interval 2"));
  EXPECT_EQ(lines[4], "f             1");
  EXPECT_EQ(lines[6], "3 functions probed, 1 called, 1 call");
}

TEST(Output, FileThatCannotBeOpenedIsAnErrorAtOnce) {
  EXPECT_THROW(Output("/nonexistent/file"), Error);
  EXPECT_THROW(Output("/"), Error);
}

TEST(Output, FullFileFallsBackToStandardOutput) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  Output output("/dev/full");
  output.write("precious\n");
  output.write("more\n");
  output.close();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "precious\nmore\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("cannot write '/dev/full': No space left on device"));
  EXPECT_TRUE(output.failed());
}

TEST(Output, DiagnosticsAreOneLine) {
  testing::internal::CaptureStderr();
  say("{} and {}", 1, "two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "probekit: 1 and two\n");
}

}  // namespace
}  // namespace probekit::tools
