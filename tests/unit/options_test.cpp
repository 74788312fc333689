// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <probekit/error.hpp>
#include <sstream>

#include "commands.hpp"
#include "help.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

Options parse(std::vector<std::string> words) {
  const CommandSpec& command = find_command(words.front());
  words.erase(words.begin());
  return parse_options(command, words);
}

std::string complaint(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Options, Defaults) {
  const Options options = parse({"count", "vfs_read"});
  EXPECT_EQ(options.command, Command::count);
  EXPECT_THAT(options.patterns, ElementsAre("vfs_read"));
  EXPECT_EQ(options.filter, FilterOptions{});
  EXPECT_FALSE(options.duration);
  EXPECT_FALSE(options.interval);
  EXPECT_FALSE(options.json);
  EXPECT_EQ(options.maxactive, 0u);
  EXPECT_EQ(options.histogram, HistogramChoice::top);
  EXPECT_THAT(options.program, IsEmpty());
}

TEST(Options, EverythingAtOnceAndMixedWithPatterns) {
  const Options options =
      parse({"latency", "a*",          "-x",       "ab*",        "--exclude",
             "ac*",     "b",           "-p",       "12",         "--tid=34",
             "--comm",  "my name",     "--cgroup", "/x",         "--min",
             "1.5us",   "-d0.25",      "-i",       "2",          "--maxactive",
             "77",      "--histogram", "all",      "--json",     "-o",
             "file",    "-v",          "--force",  "--with-arg", "struct file",
             "c"});
  EXPECT_THAT(options.patterns, ElementsAre("a*", "b", "c"));
  EXPECT_THAT(options.excludes, ElementsAre("ab*", "ac*"));
  EXPECT_EQ(options.filter.pid, 12u);
  EXPECT_EQ(options.filter.tid, 34u);
  EXPECT_EQ(options.filter.comm, "my name");
  EXPECT_EQ(options.filter.cgroup, "/x");
  EXPECT_EQ(options.min, 1500ns);
  EXPECT_EQ(options.duration, nanoseconds(250ms));
  EXPECT_EQ(options.interval, nanoseconds(2s));
  EXPECT_EQ(options.maxactive, 77u);
  EXPECT_EQ(options.histogram, HistogramChoice::all);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.output, "file");
  EXPECT_TRUE(options.verbose);
  EXPECT_TRUE(options.force);
  EXPECT_EQ(options.with_arg, "struct file");
}

TEST(Options, ProgramKeepsItsOwnOptions) {
  const Options options =
      parse({"count", "f", "-a", "--", "ls", "-l", "--", "--json"});
  EXPECT_THAT(options.patterns, ElementsAre("f"));
  EXPECT_THAT(options.program, ElementsAre("ls", "-l", "--", "--json"));
  EXPECT_TRUE(options.filter.all_processes);
  EXPECT_FALSE(options.json);
}

TEST(Options, TypeOfArgumentReplacesPattern) {
  EXPECT_THAT(parse({"list", "--with-arg", "file"}).patterns, IsEmpty());
}

TEST(Options, HelpNeedsNoPattern) {
  EXPECT_TRUE(parse({"count", "--help"}).help);
  EXPECT_TRUE(parse({"latency", "-h"}).help);
}

TEST(Options, FlagsMayRepeat) {
  EXPECT_TRUE(parse({"count", "f", "-v", "-v"}).verbose);
}

TEST(Options, CommandsThatDoNotExist) {
  EXPECT_THAT(complaint({"cuont", "f"}), HasSubstr("did you mean count?"));
  EXPECT_THAT(complaint({"lat", "f"}), HasSubstr("did you mean latency?"));
  EXPECT_THAT(complaint({"frobnicate"}), HasSubstr("see probekit --help"));
  EXPECT_THAT(complaint({"--json"}), HasSubstr("the command comes first"));
  EXPECT_THAT(complaint({"\x1b[31m"}), HasSubstr("'\\x1b[31m'"));
}

TEST(Options, OptionsThatDoNotExist) {
  EXPECT_THAT(complaint({"count", "f", "--jsn"}),
              HasSubstr("did you mean --json?"));
  EXPECT_THAT(complaint({"count", "f", "--inter", "5"}),
              HasSubstr("did you mean --interval?"));
  EXPECT_THAT(complaint({"count", "f", "-z"}),
              HasSubstr("there is no such option"));
  EXPECT_THAT(complaint({"count", "f", "--zzzzzzzzzz"}),
              HasSubstr("see probekit count --help"));
}

TEST(Options, OptionsOfOtherCommandsAreNamed) {
  EXPECT_THAT(complaint({"count", "f", "--maxactive", "5"}),
              HasSubstr("--maxactive with count"));
  EXPECT_THAT(complaint({"count", "f", "--min", "5us"}), HasSubstr("latency"));
  EXPECT_THAT(complaint({"list", "f", "-p", "5"}), HasSubstr("--pid"));
  EXPECT_THAT(complaint({"list", "f", "-d", "5"}), HasSubstr("--duration"));
  EXPECT_THAT(complaint({"latency", "f", "--why"}), HasSubstr("--why"));
  EXPECT_THAT(complaint({"check", "--force"}), HasSubstr("--force"));
}

TEST(Options, ValuesThatAreMissingOrTooMany) {
  EXPECT_THAT(complaint({"count", "f", "-d"}),
              HasSubstr("--duration: its value is missing"));
  EXPECT_THAT(complaint({"count", "f", "--comm="}), HasSubstr("--comm"));
  EXPECT_THAT(complaint({"count", "f", "--comm", ""}), HasSubstr("empty"));
  EXPECT_THAT(complaint({"count", "f", "-o", ""}), HasSubstr("empty"));
  EXPECT_THAT(complaint({"count", "f", "--json=yes"}),
              HasSubstr("it takes no value"));
  EXPECT_THAT(complaint({"count", "f", "-d", "1", "-d", "2"}),
              HasSubstr("--duration: it is given twice"));
}

TEST(Options, NumbersAreStrict) {
  for (const char* bad :
       {"0", "-1", "+1", "1x", "x", "1.0", " 1", "1 ", "0x10", "2147483648",
        "4294967297", "99999999999999999999999999"}) {
    EXPECT_THAT(complaint({"count", "f", "-p", bad}), HasSubstr("--pid"))
        << bad;
    EXPECT_THAT(complaint({"count", "f", "-t", bad}), HasSubstr("--tid"))
        << bad;
  }
  EXPECT_EQ(parse({"count", "f", "-p", "2147483647"}).filter.pid, 2147483647u);
  EXPECT_THAT(complaint({"latency", "f", "--maxactive", "0"}),
              HasSubstr("--maxactive"));
  EXPECT_THAT(complaint({"latency", "f", "--maxactive", "1048577"}),
              HasSubstr("not between 1 and 1048576"));
}

TEST(Options, SecondsAreStrict) {
  for (const char* bad : {"0", "0.0", "-1", "5s", "1e3", ".", "1.", ".5", "inf",
                          "nan", "9223372037", "1.5x", "1.-5", "1..2"}) {
    EXPECT_THAT(complaint({"count", "f", "-d", bad}), HasSubstr("--duration"))
        << bad;
    EXPECT_THAT(complaint({"count", "f", "-i", bad}), HasSubstr("--interval"))
        << bad;
  }
}

TEST(Options, CommIsAsLongAsTheKernelKeepsIt) {
  EXPECT_EQ(parse({"count", "f", "--comm", "123456789012345"}).filter.comm,
            "123456789012345");
  EXPECT_THAT(complaint({"count", "f", "--comm", "1234567890123456"}),
              HasSubstr("15 bytes"));
}

TEST(Options, Kinds) {
  EXPECT_EQ(parse({"count", "f"}).kind, unsigned{PROBEKIT_KIND_FPROBE});
  EXPECT_EQ(parse({"count", "f", "--kind", "kprobe"}).kind,
            unsigned{PROBEKIT_KIND_KPROBE});
  EXPECT_EQ(parse({"latency", "f", "--kind=kretprobe"}).kind,
            unsigned{PROBEKIT_KIND_KRETPROBE});
  EXPECT_THAT(complaint({"count", "f", "--kind", "uprobe"}),
              HasSubstr("not one of fprobe, kprobe, kretprobe"));
  EXPECT_THAT(complaint({"latency", "f", "--kind", "kprobe"}),
              HasSubstr("sees no return"));
}

TEST(Options, InjectedValues) {
  const auto value = [](const char* text) {
    return parse({"inject", "f", "--return", text}).injection.value;
  };
  EXPECT_EQ(value("0"), 0u);
  EXPECT_EQ(value("-ENOMEM"), -12ull);
  EXPECT_EQ(value("EPERM"), 1u);
  EXPECT_EQ(value("-5"), -5ull);
  EXPECT_EQ(value("0xffffffffffffffff"), ~0ull);
  for (const char* bad : {"", "-", "-E", "-ENOSUCH", "ENOMEMx", "1x", "0x",
                          "+1", "--1", "18446744073709551616"}) {
    EXPECT_THAT(complaint({"inject", "f", "--return", bad}),
                HasSubstr("--return"))
        << bad;
  }
  EXPECT_THAT(complaint({"inject", "f"}), HasSubstr("--return is missing"));
}

TEST(Options, InjectedCalls) {
  const auto parsed = [](const char* option, const char* text) {
    return parse({"inject", "f", "--return", "0", option, text}).injection;
  };
  EXPECT_EQ(parsed("--every", "10").every, 10u);
  EXPECT_EQ(parsed("--times", "3").times, 3u);
  EXPECT_DOUBLE_EQ(parsed("--probability", "0.25").probability, 0.25);
  EXPECT_DOUBLE_EQ(parsed("--probability", "1%").probability, 0.01);
  EXPECT_DOUBLE_EQ(parsed("--probability", "100%").probability, 1);
  for (const char* bad : {"0", "-0.1", "1.1", "101%", "%", "nan", "inf", "x"}) {
    EXPECT_THAT(
        complaint({"inject", "f", "--return", "0", "--probability", bad}),
        HasSubstr("--probability"))
        << bad;
  }
  EXPECT_THAT(complaint({"inject", "f", "--return", "0", "--every", "2",
                         "--times", "3"}),
              HasSubstr("exclude one another"));
}

TEST(Options, HistogramChoices) {
  EXPECT_EQ(parse({"latency", "f", "--histogram", "none"}).histogram,
            HistogramChoice::none);
  EXPECT_THAT(complaint({"latency", "f", "--histogram", "some"}),
              HasSubstr("top, all, none"));
}

TEST(Options, PatternsThatAreMissingOrTooMany) {
  EXPECT_THAT(complaint({"count"}), HasSubstr("no PATTERN"));
  EXPECT_THAT(complaint({"list", "--json"}), HasSubstr("no PATTERN"));
  EXPECT_THAT(complaint({"check", "vfs_read"}), HasSubstr("takes no PATTERN"));
}

TEST(Options, ProgramsThatMakeNoSense) {
  EXPECT_THAT(complaint({"count", "f", "--"}), HasSubstr("no PROGRAM"));
  EXPECT_THAT(complaint({"count", "f", "--", ""}), HasSubstr("no PROGRAM"));
  EXPECT_THAT(complaint({"list", "f", "--", "ls"}), HasSubstr("runs none"));
  EXPECT_THAT(complaint({"check", "--", "ls"}), HasSubstr("runs none"));
}

TEST(Options, FiltersThatContradict) {
  EXPECT_THAT(complaint({"count", "f", "-p", "1", "--", "ls"}),
              HasSubstr("--all-processes"));
  EXPECT_THAT(complaint({"count", "f", "--cgroup", "/", "--", "ls"}),
              HasSubstr("--all-processes"));
  EXPECT_THAT(complaint({"count", "f", "-a", "-t", "1"}),
              HasSubstr("--all-processes"));
  EXPECT_EQ(parse({"count", "f", "-a", "-p", "1", "--", "ls"}).filter.pid, 1u);
  EXPECT_EQ(parse({"count", "f", "--comm", "ls", "--", "ls"}).filter.comm,
            "ls");
}

void expect_one_screen(const std::string& text) {
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 24) << text;
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    if (!line.empty()) last = line;
  }
  EXPECT_THAT(last, HasSubstr("example: probekit "));
}

TEST(Help, FitsOnAScreenAndEndsWithAnExample) {
  expect_one_screen(general_help());
  for (const CommandSpec& command : commands()) {
    const std::string text = command_help(command);
    expect_one_screen(text);
    for (const OptionSpec& spec : option_specs()) {
      const bool shown =
          text.find("--" + std::string(spec.name) + ' ') != text.npos;
      const bool suits =
          (spec.commands & static_cast<unsigned>(command.command)) != 0;
      EXPECT_TRUE(shown || !suits) << command.name << ' ' << spec.name;
    }
  }
}

TEST(Help, ExamplesAreRight) {
  EXPECT_NO_THROW(parse({"list", "--why", "vfs_*", "re:^ext4_.*write"}));
  EXPECT_NO_THROW(parse({"count", "vfs_*", "--", "ls", "-l", "/tmp"}));
  EXPECT_NO_THROW(
      parse({"latency", "-d", "5", "--min", "10us", "vfs_read", "vfs_write"}));
}

int status_of(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run(arguments);
  const std::string out = testing::internal::GetCapturedStdout();
  const std::string err = testing::internal::GetCapturedStderr();
  // Either an answer, or one line that says why there is none.
  EXPECT_NE(out.empty(), err.empty());
  if (!err.empty()) {
    EXPECT_THAT(err, testing::StartsWith("probekit: "));
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  }
  return status;
}

TEST(Status, TellsUsageFromFailure) {
  EXPECT_EQ(status_of({"--help"}), kDone);
  EXPECT_EQ(status_of({"-h"}), kDone);
  EXPECT_EQ(status_of({"--version"}), kDone);
  EXPECT_EQ(status_of({"latency", "--help"}), kDone);
  EXPECT_EQ(status_of({}), kWrongUsage);
  EXPECT_EQ(status_of({"frobnicate"}), kWrongUsage);
  EXPECT_EQ(status_of({"count"}), kWrongUsage);
  EXPECT_EQ(status_of({"count", "re:("}), kWrongUsage);
  EXPECT_EQ(status_of({"count", "f\n\n", "--x\ny"}), kWrongUsage);
  EXPECT_EQ(status_of({"count", "f", "-o", "/nonexistent/file"}), kFailed);
  EXPECT_EQ(status_of({"count", "f", "-p", "2147483647"}), kFailed);
  EXPECT_EQ(status_of({"count", "@/nonexistent"}), kFailed);
}

TEST(Durations, AreParsed) {
  EXPECT_EQ(parse_duration("0ns"), 0ns);
  EXPECT_EQ(parse_duration("250ns"), 250ns);
  EXPECT_EQ(parse_duration("10us"), 10us);
  EXPECT_EQ(parse_duration("1.5ms"), 1500us);
  EXPECT_EQ(parse_duration("2s"), 2s);
  EXPECT_EQ(parse_duration("0.000000001s"), 1ns);
  EXPECT_EQ(parse_duration("1.9ns"), 1ns);
  EXPECT_EQ(parse_duration("9223372036s"), 9223372036s);
}

TEST(Durations, ThatAreWrongAreRefused) {
  for (const char* bad :
       {"", "10", "us", "10 us", "10xs", "10usx", "-1us", "+1us", "1e3us",
        ".us", "1.us", ".5us", "1.2.3us", "10US", "99999999999s",
        "99999999999999999999ns", "9223372036.9s"}) {
    EXPECT_THROW(parse_duration(bad), BadValue) << bad;
  }
}

}  // namespace
}  // namespace probekit::tools
