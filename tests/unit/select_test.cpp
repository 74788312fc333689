// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <probekit/error.hpp>
#include <probekit/pattern.hpp>
#include <string>
#include <vector>

#include "detail/verdicts.hpp"
#include "recorded.hpp"

namespace probekit {
namespace {

using test::names;
using test::recorded_table;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Select : public ::testing::Test {
 protected:
  Selection select(const std::vector<std::string>& patterns,
                   const std::vector<std::string>& excludes = {},
                   const SelectOptions& options = {}) const {
    return probekit::select(table_, parse_patterns(patterns),
                            parse_patterns(excludes), options);
  }

  std::vector<std::string> targets(
      const std::vector<std::string>& patterns,
      const std::vector<std::string>& excludes = {}) const {
    return names(select(patterns, excludes).targets);
  }

  Refused refused(const std::string& pattern,
                  const SelectOptions& options = {}) const {
    const Selection selection = select({pattern}, {}, options);
    EXPECT_THAT(selection.targets, IsEmpty());
    EXPECT_THAT(selection.unmatched, IsEmpty());
    EXPECT_THAT(selection.refused, SizeIs(1));
    return selection.refused.empty() ? Refused{} : selection.refused.front();
  }

  Unmatched unmatched(const std::string& pattern) const {
    const Selection selection = select({pattern});
    EXPECT_THAT(selection.targets, IsEmpty());
    EXPECT_THAT(selection.unmatched, SizeIs(1));
    return selection.unmatched.empty() ? Unmatched{}
                                       : selection.unmatched.front();
  }

  SymbolTable table_ = recorded_table();
};

TEST_F(Select, InAddressOrderWithoutRepetition) {
  EXPECT_THAT(targets({"vfs_write", "vfs_read", "vfs_rea*", "re:vfs_read"}),
              ElementsAre("vfs_read", "vfs_write"));
}

TEST_F(Select, NothingForNothing) {
  const Selection selection = select({});
  EXPECT_THAT(selection.targets, IsEmpty());
  EXPECT_THAT(selection.refused, IsEmpty());
  EXPECT_THAT(selection.unmatched, IsEmpty());
}

TEST_F(Select, AnyAliasUnderTheNameAskedFor) {
  for (const char* name :
       {"__x64_sys_getppid", "__ia32_sys_getppid", "__do_sys_getppid"}) {
    EXPECT_THAT(targets({name}), ElementsAre(name));
  }
}

TEST_F(Select, AliasesOnceUnderTheNameOfFtrace) {
  EXPECT_THAT(targets({"*sys_getppid"}), ElementsAre("__do_sys_getppid"));
  EXPECT_THAT(targets({"0xffffffff810b0000"}), ElementsAre("__do_sys_getppid"));
}

TEST_F(Select, AliasesOnceUnderTheFirstThatMatches) {
  EXPECT_THAT(targets({"__*_sys_getppid"}), ElementsAre("__do_sys_getppid"));
  EXPECT_THAT(targets({"__[ix]*_sys_getppid"}),
              ElementsAre("__ia32_sys_getppid"));
}

TEST_F(Select, FullNamesWinOverGlobs) {
  EXPECT_THAT(targets({"*getppid", "__x64_sys_getppid"}),
              ElementsAre("__x64_sys_getppid"));
  EXPECT_THAT(targets({"__x64_sys_getppid", "__ia32_sys_getppid"}),
              ElementsAre("__x64_sys_getppid"));
}

TEST_F(Select, EveryFunctionOfARepeatedName) {
  EXPECT_THAT(targets({"show_stat"}),
              ElementsAre("show_stat", "show_stat", "ext4:show_stat"));
  EXPECT_THAT(targets({"vmlinux:show_stat"}),
              ElementsAre("show_stat", "show_stat"));
  EXPECT_THAT(targets({"ext4:show_stat"}), ElementsAre("ext4:show_stat"));
}

TEST_F(Select, FunctionsOfAModule) {
  EXPECT_THAT(targets({"nf_tables:*"}),
              ElementsAre("nf_tables:nft_do_chain", "nf_tables:nft_reg_load"));
}

TEST_F(Select, ClonesWhereTheOriginalIsGone) {
  EXPECT_THAT(
      targets({"compute_score"}),
      ElementsAre("compute_score.isra.0", "compute_score.constprop.0.isra.0"));
  EXPECT_THAT(targets({"vmlinux:compute_score", "vfs_read"}),
              ElementsAre("compute_score.isra.0",
                          "compute_score.constprop.0.isra.0", "vfs_read"));
  EXPECT_THAT(targets({"merge_two"}), ElementsAre("merge_two"));
}

TEST_F(Select, ClonesOnceBesideAGlob) {
  EXPECT_THAT(targets({"compute_*", "compute_score", "vfs_write"}),
              ElementsAre("compute_score.isra.0",
                          "compute_score.constprop.0.isra.0", "vfs_write"));
}

TEST_F(Select, Addresses) {
  EXPECT_THAT(targets({"0xffffffff81300400"}), ElementsAre("vfs_write"));
  EXPECT_THAT(targets({"0xffffffff81300404"}), ElementsAre("vfs_write"));
}

TEST_F(Select, ExcludesByAnyAlias) {
  EXPECT_THAT(targets({"vfs_*"}, {"*write"}),
              ElementsAre("vfs_read", "vfs_fsync_range", "vfs_weak_hook"));
  EXPECT_THAT(targets({"__do_sys_*"}, {"__x64_sys_getppid"}),
              ElementsAre("__do_sys_getuid"));
  EXPECT_THAT(targets({"*"}, {"*"}), IsEmpty());
}

TEST_F(Select, ExcludesThatMatchNothingAreReported) {
  const Selection selection = select({"vfs_read"}, {"vfs_wriet"});
  ASSERT_THAT(selection.unmatched, SizeIs(1));
  EXPECT_EQ(selection.unmatched[0].pattern, "vfs_wriet");
  EXPECT_EQ(selection.unmatched[0].suggestion, "vfs_write");
  EXPECT_THAT(select({"vfs_read"}, {"show_stat"}).unmatched, IsEmpty());
}

TEST_F(Select, RefusesWhatFtraceCannotAttachTo) {
  const Refused asm_code = refused("entry_SYSCALL_64");
  EXPECT_EQ(asm_code.refusal, Refusal::not_traceable);
  EXPECT_EQ(asm_code.reason, to_string(Refusal::not_traceable));
  EXPECT_TRUE(asm_code.named);
  EXPECT_EQ(refused("start_kernel").refusal, Refusal::init);
}

TEST_F(Select, RefusalsByGlobAreMarked) {
  const Selection selection = select({"vfs_read", "vfs_*"});
  std::vector<std::string> list;
  for (const Refused& refused : selection.refused) {
    EXPECT_FALSE(refused.named);
    EXPECT_EQ(refused.pattern, 1U);
    list.emplace_back(refused.function.name);
  }
  EXPECT_THAT(
      list, ElementsAre("vfs_weak_other", "vfs_statx_path", "vfs_caches_init"));
}

TEST_F(Select, RefusesWhatHandlersRunOn) {
  const Refused lock = refused("__rcu_read_lock");
  EXPECT_EQ(lock.refusal, Refusal::excluded);
  EXPECT_TRUE(lock.named);
  EXPECT_THAT(lock.reason, Not(IsEmpty()));
  EXPECT_EQ(refused("probekit:probekit_device_open").refusal,
            Refusal::excluded);
  EXPECT_THAT(targets({"*"}), Not(Contains("rcu_is_watching")));
}

TEST_F(Select, ForcedSelectsWhatHandlersRunOn) {
  const Selection selection =
      select({"__rcu_read_lock"}, {}, {.include_excluded = true});
  EXPECT_THAT(names(selection.targets), ElementsAre("__rcu_read_lock"));
}

TEST_F(Select, BlacklistBindsKprobesOnly) {
  EXPECT_THAT(
      names(select({"notify_die"}, {}, {.include_excluded = true}).targets),
      ElementsAre("notify_die"));
  constexpr std::uint32_t kprobe = PROBEKIT_KIND_FPROBE + 1;
  EXPECT_EQ(refused("notify_die", {.kind = kprobe}).refusal,
            Refusal::blacklisted);
  EXPECT_THAT(
      names(select({"nft_notrace_helper"}, {}, {.kind = kprobe}).targets),
      ElementsAre("nf_tables:nft_notrace_helper"));
  EXPECT_EQ(refused("start_kernel", {.kind = kprobe}).refusal, Refusal::init);
}

TEST_F(Select, OnlyTheseFunctions) {
  SelectOptions options;
  options.only = {
      {"compute_score", ""}, {"show_stat", "ext4"}, {"vfs_read", ""}};
  EXPECT_THAT(
      names(select({"*"}, {}, options).targets),
      ElementsAre("compute_score.isra.0", "compute_score.constprop.0.isra.0",
                  "vfs_read", "ext4:show_stat"));
  options.only->clear();
  EXPECT_THAT(select({"*"}, {}, options).targets, IsEmpty());
}

TEST_F(Select, SuggestsForMisspeltNames) {
  const Unmatched misspelt = unmatched("vfs_raed");
  EXPECT_EQ(misspelt.pattern, "vfs_raed");
  EXPECT_EQ(misspelt.suggestion, "vfs_read");
  EXPECT_EQ(unmatched("tcp_sendmsg").suggestion, "");
  EXPECT_EQ(unmatched("ext4:vfs_read").suggestion, "vmlinux:vfs_read");
  EXPECT_THAT(unmatched("btrfs:*").reason, HasSubstr("no such module"));
  EXPECT_EQ(unmatched("try_charge").suggestion, "try_charge.part.0");
  EXPECT_EQ(unmatched("ffffffff81300400").suggestion, "0xffffffff81300400");
  EXPECT_EQ(unmatched("zzz*").suggestion, "");
}

TEST_F(Select, SaysWhereAnAddressLies) {
  EXPECT_THAT(unmatched("0xffffffff81300110").reason,
              HasSubstr("vfs_read+0x10"));
  EXPECT_THAT(unmatched("0xffffffffc0210007").reason,
              HasSubstr("ext4:ext4_alloc_inode+0x7"));
  EXPECT_THAT(unmatched("0x10").reason, HasSubstr("no function"));
}

TEST_F(Select, OneBadNameDoesNotFailTheRest) {
  const Selection selection = select({"vfs_read", "nonsense", "do_int3"});
  EXPECT_THAT(names(selection.targets), ElementsAre("vfs_read"));
  EXPECT_THAT(selection.unmatched, SizeIs(1));
  EXPECT_THAT(selection.refused, SizeIs(1));
}

TEST_F(Select, InstructionsNeedAKprobe) {
  try {
    select({"vfs_read+4"});
    FAIL() << "no exception";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("vfs_read+4"));
    EXPECT_THAT(error.what(), HasSubstr("kprobe"));
  }
}

TEST_F(Select, EngineHasTheLastWord) {
  const std::vector<std::string> texts = {"vfs_[rw][er]*[de]", "compute_score",
                                          "entry_SYSCALL_64"};
  const std::vector<Pattern> patterns = parse_patterns(texts);
  Selection selection = probekit::select(table_, patterns);
  ASSERT_THAT(
      names(selection.targets),
      ElementsAre("compute_score.isra.0", "compute_score.constprop.0.isra.0",
                  "vfs_read", "vfs_write"));
  detail::refuse(selection, patterns,
                 std::vector<std::uint32_t>{
                     PROBEKIT_TARGET_OK, PROBEKIT_TARGET_NOT_TRACEABLE,
                     PROBEKIT_TARGET_NOT_TRACEABLE, PROBEKIT_TARGET_OK});
  EXPECT_THAT(names(selection.targets),
              ElementsAre("compute_score.isra.0", "vfs_write"));
  ASSERT_THAT(selection.refused, SizeIs(3));
  EXPECT_EQ(selection.refused[0].function.name, "entry_SYSCALL_64");
  EXPECT_EQ(selection.refused[1].function.name,
            "compute_score.constprop.0.isra.0");
  EXPECT_TRUE(selection.refused[1].named);
  EXPECT_EQ(selection.refused[1].pattern, 1U);
  EXPECT_EQ(selection.refused[2].function.name, "vfs_read");
  EXPECT_FALSE(selection.refused[2].named);
  EXPECT_EQ(selection.refused[2].refusal, Refusal::not_traceable);
}

TEST(Exclusions, AreWellFormedAndHaveReasons) {
  EXPECT_THAT(exclusions(), Not(IsEmpty()));
  for (const Exclusion& exclusion : exclusions()) {
    EXPECT_NO_THROW(Pattern{exclusion.pattern}) << exclusion.pattern;
    EXPECT_THAT(exclusion.reason, Not(IsEmpty())) << exclusion.pattern;
  }
}

}  // namespace
}  // namespace probekit
