// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <probekit/error.hpp>
#include <probekit/pattern.hpp>
#include <string>
#include <vector>

#include "recorded.hpp"

namespace probekit {
namespace {

using test::data_path;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Kind = Pattern::Kind;

bool matches(std::string_view pattern, std::string_view name,
             std::string_view module = {}) {
  return Pattern(pattern).matches(
      Function{name, module, 0xffffffff81000000, 0xffffffff81000004});
}

std::string error_of(std::string_view pattern) {
  try {
    const Pattern parsed(pattern);
  } catch (const UsageError& error) {
    EXPECT_FALSE(error.remedy().empty()) << pattern;
    EXPECT_THAT(error.what(), HasSubstr("'" + std::string(pattern) + "'"));
    return error.what();
  }
  ADD_FAILURE() << "no error for " << pattern;
  return {};
}

TEST(Pattern, Kinds) {
  EXPECT_EQ(Pattern("vfs_read").kind(), Kind::name);
  EXPECT_EQ(Pattern("foo.isra.0").kind(), Kind::name);
  EXPECT_EQ(Pattern("vfs_*").kind(), Kind::glob);
  EXPECT_EQ(Pattern("vfs_rea?").kind(), Kind::glob);
  EXPECT_EQ(Pattern("vfs_[rw]*").kind(), Kind::glob);
  EXPECT_EQ(Pattern("vfs\\_read").kind(), Kind::glob);
  EXPECT_EQ(Pattern("re:^vfs_").kind(), Kind::regex);
  EXPECT_EQ(Pattern("ext4:re:a|b").kind(), Kind::regex);
  EXPECT_EQ(Pattern("0xffffffff81000000").kind(), Kind::address);
  EXPECT_EQ(Pattern("vfs_read+0x10").kind(), Kind::offset);
}

TEST(Pattern, Globs) {
  EXPECT_TRUE(matches("*", "vfs_read"));
  EXPECT_TRUE(matches("vfs_*", "vfs_read"));
  EXPECT_TRUE(matches("vfs_*", "vfs_"));
  EXPECT_FALSE(matches("vfs_*", "xvfs_read"));
  EXPECT_TRUE(matches("*read", "vfs_read"));
  EXPECT_FALSE(matches("*read", "vfs_readv"));
  EXPECT_TRUE(matches("vfs_?ead", "vfs_read"));
  EXPECT_FALSE(matches("ab*ba", "aba"));
  EXPECT_TRUE(matches("a*b*c", "aXbYc"));
  EXPECT_FALSE(matches("a*b*c", "aXYc"));
  EXPECT_TRUE(matches("*\\*", "star*"));
  EXPECT_TRUE(matches("*[?]", "mark?"));
  EXPECT_TRUE(matches("vfs_[rw]*", "vfs_write"));
  EXPECT_FALSE(matches("vfs_[!rw]*", "vfs_write"));
  EXPECT_TRUE(matches("[[:alpha:]]*", "vfs_write"));
  EXPECT_TRUE(matches("[]x]fs", "xfs"));
  EXPECT_TRUE(matches("vfs\\_read", "vfs_read"));
  EXPECT_FALSE(matches("vfs_\\*", "vfs_read"));
  EXPECT_TRUE(matches("*", std::string(1000, 'x')));
}

TEST(Pattern, ModulesAreGlobsToo) {
  EXPECT_TRUE(matches("ext4:*", "show_stat", "ext4"));
  EXPECT_FALSE(matches("ext4:*", "show_stat", "ext2"));
  EXPECT_FALSE(matches("ext4:*", "show_stat"));
  EXPECT_TRUE(matches("vmlinux:*", "show_stat"));
  EXPECT_FALSE(matches("vmlinux:*", "show_stat", "ext4"));
  EXPECT_TRUE(matches("show_stat", "show_stat", "ext4"));
  EXPECT_TRUE(matches("nf-tables:nft_*", "nft_do_chain", "nf_tables"));
  EXPECT_TRUE(matches("ext?:show_*", "show_stat", "ext4"));
  EXPECT_TRUE(matches("ext4:re:stat$", "show_stat", "ext4"));
  EXPECT_FALSE(matches("ext4:re:stat$", "show_stat"));
}

TEST(Pattern, RegexesSearch) {
  EXPECT_TRUE(matches("re:read", "vfs_readv"));
  EXPECT_FALSE(matches("re:^read", "vfs_readv"));
  EXPECT_TRUE(matches("re:^vfs_(read|write)v?$", "vfs_readv"));
  EXPECT_TRUE(matches("re:a:b|stat", "show_stat"));
}

TEST(Pattern, RegexesThatWouldTakeAllMemoryOrStack) {
  EXPECT_THAT(error_of("re:((a{1,200}){1,200}){1,200}"),
              HasSubstr("too large"));
  EXPECT_THAT(error_of("re:(a{,2000}){1,2000}"), HasSubstr("too large"));
  EXPECT_THAT(error_of("re:((a{99,}){99,}){99,}"), HasSubstr("too large"));
  EXPECT_THAT(
      error_of("re:" + std::string(20000, '(') + std::string(20000, ')')),
      HasSubstr("too large"));
  EXPECT_TRUE(
      matches("re:" + std::string(1023, '(') + "v" + std::string(1023, ')'),
              "vfs_read"));
  EXPECT_TRUE(matches("re:^[a-z]{2,3}_.{3,5}$", "vfs_read"));
  EXPECT_TRUE(matches("re:s{1}", "vfs_read"));
}

TEST(Pattern, Addresses) {
  EXPECT_TRUE(matches("0xffffffff81000000", "f"));
  EXPECT_TRUE(matches("0XFFFFFFFF81000004", "f"));
  EXPECT_FALSE(matches("0xffffffff81000001", "f"));
  EXPECT_FALSE(Pattern("0x0").matches(Function{"f", {}, 1, 0}));
}

TEST(Pattern, Offsets) {
  const Pattern pattern("ext4:ext4_alloc_inode+0x1f");
  EXPECT_EQ(pattern.module(), "ext4");
  EXPECT_EQ(pattern.name(), "ext4_alloc_inode");
  EXPECT_EQ(pattern.number(), 0x1fU);
  EXPECT_EQ(Pattern("vfs_read+31").number(), 31U);
}

TEST(Pattern, MalformedOnesAreNamedWithARemedy) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("vfs_[ab"), HasSubstr("never closed"));
  EXPECT_THAT(error_of("vfs_[]"), HasSubstr("never closed"));
  EXPECT_THAT(error_of("vfs_[[:alpha"), HasSubstr("never closed"));
  EXPECT_THAT(error_of("vfs_\\"), HasSubstr("nothing follows"));
  EXPECT_THAT(error_of("vfs_read()"), HasSubstr("no function name has a ("));
  EXPECT_THAT(error_of("vfs_read vfs_write"), HasSubstr("such characters"));
  EXPECT_THAT(error_of("vfs_r\xc3\xa9"), HasSubstr("such characters"));
  EXPECT_THAT(error_of(":vfs_read"), HasSubstr("vmlinux:"));
  EXPECT_THAT(error_of("ext4:"), HasSubstr("no function"));
  EXPECT_THAT(error_of("a:b:c"), HasSubstr("has a :"));
  error_of("re:");
  error_of("re:(");
  error_of("re:[");
  error_of("re:*{2,1}");
  EXPECT_THROW(Pattern(std::string_view("re:a\0b", 6)), UsageError);
  error_of("0x");
  error_of("0xg");
  error_of("0x11112222333344445");
  error_of("ext4:0xffffffff81000000");
  error_of("vfs_read+");
  error_of("vfs_read+x");
  error_of("vfs_*+4");
  error_of("+4");
  error_of("@file");
}

TEST(ParsePatterns, ReadsFiles) {
  const std::vector<std::string> texts = {"a", "@" + data_path("patterns.txt"),
                                          "b"};
  std::vector<std::string> parsed;
  for (const Pattern& pattern : parse_patterns(texts)) {
    parsed.push_back(pattern.text());
  }
  EXPECT_THAT(parsed, ElementsAre("a", "vfs_read", "nf_tables:*",
                                  "re:^ext4_.*inode$", "b"));
}

TEST(ParsePatterns, NamesTheLineOfAMalformedOne) {
  const std::vector<std::string> texts = {"@" + data_path("malformed.txt")};
  try {
    parse_patterns(texts);
    FAIL() << "no exception";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 3 of"));
    EXPECT_THAT(error.what(), HasSubstr("malformed.txt"));
    EXPECT_THAT(error.what(), HasSubstr("'vfs_['"));
  }
}

TEST(ParsePatterns, SaysWhyAFileCannotBeRead) {
  const std::vector<std::string> missing = {"@/nonexistent/patterns"};
  try {
    parse_patterns(missing);
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/patterns"));
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  }
  const std::vector<std::string> folder = {"@/"};
  EXPECT_THROW(parse_patterns(folder), Error);
  const std::vector<std::string> unnamed = {"@"};
  EXPECT_THROW(parse_patterns(unnamed), UsageError);
}

}  // namespace
}  // namespace probekit
