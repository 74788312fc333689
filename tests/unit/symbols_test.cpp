// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <probekit/error.hpp>
#include <probekit/symbols.hpp>
#include <random>
#include <string>

#include "recorded.hpp"

namespace probekit {
namespace {

using test::names;
using test::recorded;
using test::recorded_table;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::uint64_t getppid = 0xffffffff810b0000;
constexpr std::uint64_t vfs_read = 0xffffffff81300100;

TEST(SymbolTable, IsSortedThoughModulesAreNot) {
  const SymbolTable table = recorded_table();
  EXPECT_TRUE(
      std::is_sorted(table.functions().begin(), table.functions().end(),
                     [](auto& a, auto& b) { return a.address < b.address; }));
}

TEST(SymbolTable, HasFunctionsOnly) {
  const auto all = names(recorded_table().functions());
  EXPECT_THAT(all, Contains("vfs_read"));
  EXPECT_THAT(all, Contains("vfs_weak_hook"));
  EXPECT_THAT(all, Contains("ext4:ext4_alloc_inode"));
  for (const char* no_function :
       {"init_task", "vfs_data", "cpu_debug_store", "vfs_read.cold",
        "vfs_write.cold.3", "ext4:ext4_alloc_inode.cold", "ext4:ext4_sops",
        "__pfx___do_sys_getuid", "__builtin__ftrace:ftrace_trampoline",
        "__builtin__kprobes:kprobe_insn_page",
        "bpf:bpf_prog_6deef7357e7b4530"}) {
    EXPECT_THAT(all, Not(Contains(no_function)));
  }
}

TEST(SymbolTable, FindsRepeatedNames) {
  const SymbolTable table = recorded_table();
  EXPECT_THAT(names(table.find("show_stat")),
              ElementsAre("show_stat", "show_stat", "ext4:show_stat"));
  EXPECT_THAT(table.find("show_sta"), IsEmpty());
}

TEST(SymbolTable, MatchesLocationsBehindALandingPad) {
  const SymbolTable table = recorded_table();
  const Function pad = table.find("vfs_write").at(0);
  EXPECT_EQ(pad.location, pad.address + 4);
  const Function no_pad = table.find("vfs_read").at(0);
  EXPECT_EQ(no_pad.location, no_pad.address);
}

TEST(SymbolTable, LocationOfTheNextFunctionIsNotOfThisOne) {
  const SymbolTable table("ffffffff81000000 T stub\nffffffff81000008 T next\n",
                          "ffffffff81000008 next\n", "");
  EXPECT_EQ(table.find("stub").at(0).location, 0U);
  EXPECT_EQ(table.find("next").at(0).location, 0xffffffff81000008U);
}

TEST(SymbolTable, LocationFarInsideIsNotTheEntry) {
  const SymbolTable table("ffffffff81000000 T big\n",
                          "ffffffff81000040 other\n", "");
  EXPECT_EQ(table.refusal(table.functions().front()), Refusal::not_traceable);
}

TEST(SymbolTable, DeadWeakFunctionsLendNoLocation) {
  const SymbolTable table("ffffffff81000000 T alive\n",
                          "ffffffff81000004 __ftrace_invalid_address___4\n",
                          "");
  EXPECT_EQ(table.functions().front().location, 0U);
}

TEST(SymbolTable, AliasesShareTheLocation) {
  const SymbolTable table = recorded_table();
  const auto aliases = table.aliases(getppid);
  EXPECT_THAT(names(aliases),
              ElementsAre("__ia32_sys_getppid", "__x64_sys_getppid",
                          "__do_sys_getppid"));
  for (const Function& alias : aliases) {
    EXPECT_EQ(alias.location, getppid + 4);
    EXPECT_EQ(table.refusal(alias), Refusal::none);
  }
  EXPECT_EQ(table.preferred(aliases).name, "__do_sys_getppid");
}

TEST(SymbolTable, AliasesByLocationAndNowhereElse) {
  const SymbolTable table = recorded_table();
  EXPECT_THAT(table.aliases(getppid + 4), SizeIs(3));
  EXPECT_THAT(table.aliases(getppid + 2), IsEmpty());
  EXPECT_THAT(table.aliases(0), IsEmpty());
  EXPECT_THAT(table.aliases(~std::uint64_t{0}), IsEmpty());
}

TEST(SymbolTable, FirstAliasIsPreferredWhereFtraceKnowsNone) {
  const SymbolTable table = recorded_table();
  const auto aliases = table.aliases(0xffffffff81000000);
  EXPECT_EQ(table.preferred(aliases).name, "_stext");
}

TEST(SymbolTable, PlacesOfAddresses) {
  const SymbolTable table = recorded_table();
  const auto inside = table.place_of(vfs_read + 0x12);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->name, "vfs_read");
  EXPECT_EQ(inside->offset, 0x12U);
  EXPECT_EQ(table.place_of(getppid)->name, "__do_sys_getppid");
  EXPECT_EQ(table.place_of(0xffffffff81300e08)->name, "vfs_read.cold");
  EXPECT_EQ(table.place_of(0xffffffffc0402010)->module, "bpf");
  EXPECT_FALSE(table.place_of(0x1000));
}

TEST(SymbolTable, TellsWhyAFunctionCannotBeProbed) {
  const SymbolTable table = recorded_table();
  EXPECT_EQ(table.refusal(table.find("vfs_read").at(0)), Refusal::none);
  EXPECT_EQ(table.refusal(table.find("entry_SYSCALL_64").at(0)),
            Refusal::not_traceable);
  EXPECT_EQ(table.refusal(table.find("start_kernel").at(0)), Refusal::init);
  EXPECT_EQ(table.refusal(table.find("nft_notrace_helper").at(0)),
            Refusal::not_traceable);
}

TEST(SymbolTable, EveryRefusalHasASentence) {
  for (const Refusal refusal :
       {Refusal::none, Refusal::not_traceable, Refusal::init,
        Refusal::blacklisted, Refusal::excluded}) {
    EXPECT_THAT(to_string(refusal), Not(IsEmpty()));
    EXPECT_NE(to_string(refusal), "unknown");
  }
}

TEST(SymbolTable, KnowsTheBlacklist) {
  const SymbolTable table = recorded_table();
  EXPECT_TRUE(table.blacklisted(0xffffffff81300c00));   // notify_die
  EXPECT_TRUE(table.blacklisted(0xffffffff81300c8f));   // its last byte
  EXPECT_FALSE(table.blacklisted(0xffffffff81300c90));  // behind it
  EXPECT_FALSE(table.blacklisted(vfs_read));
  // in a section that encloses another entry of the list
  EXPECT_TRUE(table.blacklisted(0xffffffff81000100));
}

TEST(SymbolTable, SuggestsTheClosestName) {
  const SymbolTable table = recorded_table();
  EXPECT_EQ(table.closest("vfs_raed"), "vfs_read");
  EXPECT_EQ(table.closest("vfs_writ"), "vfs_write");
  EXPECT_EQ(table.closest("nft_do_chains"), "nft_do_chain");
  EXPECT_EQ(table.closest("tcp_sendmsg"), "");
  EXPECT_EQ(table.closest(""), "");
  EXPECT_EQ(table.closest("x"), "");
}

TEST(SymbolTable, SuggestsWhatCanBeProbedFirst) {
  const SymbolTable table(
      "ffffffff81000000 T vfs_reada\nffffffff81000100 T vfs_readb\n",
      "ffffffff81000100 vfs_readb\n", "");
  EXPECT_EQ(table.closest("vfs_readx"), "vfs_readb");
}

TEST(SymbolTable, HiddenAddressesAreUnsupported) {
  const std::string text =
      "0000000000000000 T vfs_read\n0000000000000000 t show_stat\t[ext4]\n";
  try {
    const SymbolTable table(text, "", "");
    FAIL() << "no exception";
  } catch (const UnsupportedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc/kallsyms"));
    EXPECT_THAT(error.remedy(), HasSubstr("kernel.kptr_restrict"));
    EXPECT_THAT(error.remedy(), HasSubstr("CAP_SYSLOG"));
  }
}

TEST(SymbolTable, HiddenBlacklistIsEmpty) {
  const SymbolTable table(recorded("kallsyms.txt"), "",
                          "0x0000000000000000-0x0000000000000000\tdo_int3\n");
  EXPECT_FALSE(table.blacklisted(0));
}

TEST(SymbolTable, EmptyFilesMakeAnEmptyTable) {
  const SymbolTable table("", "", "");
  EXPECT_THAT(table.functions(), IsEmpty());
  EXPECT_THAT(table.find("vfs_read"), IsEmpty());
  EXPECT_THAT(table.aliases(vfs_read), IsEmpty());
  EXPECT_FALSE(table.place_of(vfs_read));
  EXPECT_EQ(table.closest("vfs_read"), "");
}

TEST(SymbolTable, SkipsLinesOfAnotherFormat) {
  const SymbolTable table(
      "\n"
      "ffffffff81000000\n"
      "ffffffff81000000 \n"
      "ffffffff81000000 T\n"
      "ffffffff81000000 T \n"
      "ffffffff81000000 TT name\n"
      "ffffffff8100000g T no_hex\n"
      "fffffffff81000000 T too_long\n"
      " ffffffff81000000 T blank_first\n"
      "ffffffff81000000 T two words\n"
      "ffffffff81000000 T control\x01\n"
      "ffffffff81000000 T good\n"
      "ffffffff81000100 t in_module\t[m]\n"
      "ffffffff81000200 t odd_module\t[]\n"
      "ffffffff81000300 T no_newline",
      "garbage\nffffffff81000004 good\nffffffff8100", "0x-0x\n0x12\n-\n");
  EXPECT_THAT(names(table.functions()),
              ElementsAre("good", "m:in_module", "no_newline"));
  EXPECT_NE(table.functions().front().location, 0U);
}

TEST(SymbolTable, ShortAddressesAreOfA32BitKernel) {
  const SymbolTable table("c0100000 T vfs_read\nc0100100 D data\n",
                          "c0100000 vfs_read\n", "");
  EXPECT_THAT(names(table.functions()), ElementsAre("vfs_read"));
  EXPECT_EQ(table.refusal(table.functions().front()), Refusal::none);
}

TEST(SymbolTable, SurvivesNoise) {
  std::mt19937 random(20240229);
  const std::string clean = recorded("kallsyms.txt");
  for (int round = 0; round < 200; ++round) {
    std::string text = clean.substr(0, random() % clean.size());
    for (int i = 0; i < 50 && !text.empty(); ++i) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    std::string functions = recorded("filter_functions.txt");
    functions[random() % functions.size()] = static_cast<char>(random());
    const SymbolTable table(text, functions, text);
    EXPECT_LE(table.functions().size(), 100U);
    for (const Function& function : table.functions()) {
      EXPECT_FALSE(table.aliases(function.address).empty());
    }
  }
}

TEST(SymbolTable, CopiesOutliveTheOriginal) {
  SymbolTable copy("", "", "");
  {
    const SymbolTable table = recorded_table();
    copy = table;
  }
  EXPECT_THAT(names(copy.functions()), Contains("vfs_read"));
}

TEST(SymbolTable, LargeTables) {
  std::string kallsyms;
  std::string functions;
  constexpr std::uint64_t base = 0xffffffff81000000;
  constexpr std::size_t count = 60000;
  char line[128];
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned long address = base + i * 64;
    std::snprintf(line, sizeof(line), "%016lx t function_%zu\n", address, i);
    kallsyms += line;
    std::snprintf(line, sizeof(line), "%016lx D data_%zu\n", address, i);
    kallsyms += line;
    std::snprintf(line, sizeof(line), "%lx function_%zu\n", address + 4, i);
    functions += line;
  }
  const SymbolTable table(std::move(kallsyms), functions, "");
  EXPECT_THAT(table.functions(), SizeIs(count));
  EXPECT_EQ(table.find("function_59999").at(0).location, base + 59999 * 64 + 4);
  EXPECT_EQ(table.closest("fucntion_59998"), "function_59998");
}

TEST(Error, SaysWhatOnWhatWhyAndTheRemedyInOneLine) {
  const Error error("load", "module.ko", ENOENT, {}, "build it");
  EXPECT_STREQ(error.what(),
               "cannot load module.ko: No such file or directory; build it");
  EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
  const Error reason("load", "module.ko", ENOENT, "two\nlines\n");
  EXPECT_STREQ(reason.what(), "cannot load module.ko: two lines");
  EXPECT_STREQ(Error("start", "", 0).what(), "cannot start");
}

}  // namespace
}  // namespace probekit
