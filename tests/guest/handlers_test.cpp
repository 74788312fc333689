// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Handlers run once per call, and are told the truth.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <set>

#include "support.hpp"

namespace probekit::test {
namespace {

using HandlersTest = EngineTest;

/// Where functions that the test module's dispatcher calls return to.
bool is_in(std::uint64_t address, std::string_view function) {
  const std::uint64_t begin = address_of(function);
  return address > begin && address < begin + 4096;
}

TEST_F(HandlersTest, EntryOnly) {
  Probe probe = make_probe(elf::record(), "entries", {at("target_leaf")});
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_LEAF, 100), 0);
  probe.detach();

  const auto events = events_of(probe.object);
  EXPECT_EQ(events.size(), 100u);
  EXPECT_EQ(exits_of(events).size(), 0u);
  EXPECT_EQ(probe.stats().entries, 100u);
  EXPECT_EQ(probe.stats().handled, 100u);
  EXPECT_EQ(probe.stats().exits, 0u);
  EXPECT_EQ(probe.stats().in_flight, 0u);
}

TEST_F(HandlersTest, EntryAndExit) {
  Probe probe = make_probe(elf::record(), "pairs", {at("target_leaf")});
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_LEAF, 100), 0);
  probe.detach();

  const auto events = events_of(probe.object);
  ASSERT_EQ(events.size(), 200u);
  // One thread and no recursion: entries and exits take turns.
  for (std::size_t i = 0; i < events.size(); i += 2) {
    EXPECT_FALSE(events[i].is_exit);
    EXPECT_TRUE(events[i + 1].is_exit);
    EXPECT_EQ(events[i + 1].entry, events[i].number);
  }
  EXPECT_EQ(probe.stats().entries, 100u);
  EXPECT_EQ(probe.stats().exits, 100u);
  EXPECT_EQ(probe.stats().in_flight, 0u);
  expect_balance(probe.stats());
}

TEST_F(HandlersTest, ExitOnly) {
  const probekit_target target = at("target_sum", 5);
  Probe probe = make_probe(elf::record(), "exits", {target});
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_SUM, 100, {1, 1, 1, 1, 1, 1}), 21);
  probe.detach();

  const auto events = events_of(probe.object);
  EXPECT_EQ(events.size(), 100u);
  EXPECT_EQ(entries_of(events).size(), 0u);
  for (const event& e : events) {
    EXPECT_EQ(e.result, 21u);
    EXPECT_EQ(e.cookie, target.cookie);
    EXPECT_EQ(e.entry_ip, target.address);
  }
  EXPECT_EQ(probe.stats().exits, 100u);
}

TEST_F(HandlersTest, NothingBeforeAttachNorAfterDetach) {
  Probe probe = make_probe(elf::record(), "pairs", {at("target_leaf")});
  probe.object.load();
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(probe.stats().state, unsigned{PROBEKIT_STATE_IDLE});
  probe.link = probe.object.attach("pairs");
  EXPECT_EQ(probe.stats().state, unsigned{PROBEKIT_STATE_LIVE});
  EXPECT_EQ(probe.stats().attached, 1u);
  target_.run(TARGET_LEAF, 3);
  probe.detach();
  EXPECT_EQ(probe.stats().state, unsigned{PROBEKIT_STATE_DETACHED});
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(events_of(probe.object).size(), 6u);
  EXPECT_EQ(probe.stats().entries, 3u);
}

TEST_F(HandlersTest, ArgumentsAtEntryResultAtExit) {
  Probe probe = make_probe(elf::record(), "pairs", {at("target_sum")});
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_SUM, 1, {11, 22, 33, 44, 55, 66}), 1001);
  EXPECT_EQ(target_.run(TARGET_SUM, 1, {~0ULL, 0, 0, 0, 0, 0}), -1);
  probe.detach();

  const auto events = events_of(probe.object);
  ASSERT_EQ(events.size(), 4u);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(events[0].args[i], 11 * (i + 1));
  EXPECT_EQ(events[1].result, 1001u);
  EXPECT_EQ(events[2].args[0], ~0ULL);
  EXPECT_EQ(static_cast<std::int64_t>(events[3].result), -1);
}

TEST_F(HandlersTest, OverwrittenArgumentIsRightAtEntry) {
  Probe probe = make_probe(elf::record(), "pairs",
                           {at("target_clobber"), at("target_sink")});
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_CLOBBER, 1, {0x1234}), ~0x1234LL);
  probe.detach();

  const auto events = events_of(probe.object);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].target, 0u);
  EXPECT_EQ(events[0].args[0], 0x1234u);
  EXPECT_EQ(events[1].target, 1u);
  EXPECT_EQ(events[1].args[0], ~0x1234ULL);
  // The register holds another's argument when the first one returns, which
  // is why handlers hand over what they need.
  EXPECT_EQ(events[3].target, 0u);
  EXPECT_NE(events[3].args[0], 0x1234u);
  EXPECT_EQ(events[3].result, ~0x1234ULL);
}

TEST_F(HandlersTest, CookieTargetAndAddressOfEachFunction) {
  const std::vector<probekit_target> targets{
      at("target_inner", 0x1111'2222'3333'4444), at("target_middle", 0),
      at("target_outer", ~0ULL)};
  Probe probe = make_probe(elf::record(), "pairs", targets);
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_CHAIN, 1, {1}), 112);
  probe.detach();

  const auto events = events_of(probe.object);
  ASSERT_EQ(events.size(), 6u);
  const std::array<std::uint32_t, 6> order{2, 1, 0, 0, 1, 2};
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(events[i].target, order[i]);
    EXPECT_EQ(events[i].is_exit, i >= 3);
    EXPECT_EQ(events[i].cookie, targets[order[i]].cookie);
    EXPECT_EQ(events[i].entry_ip, targets[order[i]].address);
    EXPECT_EQ(events[i].entry_data_size, 8u);
  }
}

TEST_F(HandlersTest, TargetNamedByItsFtraceLocation) {
  // With IBT the location follows an endbr64; without it is the function.
  const std::uint64_t function = address_of("target_leaf");
  for (const std::uint64_t address : {function, function + 4}) {
    TargetSet set = engine_.make_targets(
        std::vector<probekit_target>{{.address = address, .cookie = 0}});
    if (!set.accepted()) continue;
    Probe probe = make_probe(elf::record(), "entries", {{address, 0}});
    probe.attach();
    target_.run(TARGET_LEAF);
    const auto events = events_of(probe.object);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].entry_ip, address);
  }
}

TEST_F(HandlersTest, ReturnAddressAndRegisters) {
  Probe probe = make_probe(elf::record(), "pairs", {at("target_middle")});
  probe.attach();
  target_.run(TARGET_CHAIN, 1, {1});
  probe.detach();

  const auto events = events_of(probe.object);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(is_in(events[0].ret_ip, "target_outer"));
  EXPECT_EQ(events[1].ret_ip, events[0].ret_ip);
  // At entry the instruction pointer is in the function, past its first call.
  EXPECT_GE(events[0].ip, events[0].entry_ip);
  EXPECT_LE(events[0].ip, events[0].entry_ip + 16);
  EXPECT_EQ(events[1].ip, events[1].ret_ip);
  // The return address has been popped.
  EXPECT_EQ(events[1].sp, events[0].sp + 8);
  EXPECT_EQ(events[0].tgid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(events[1].tid, static_cast<unsigned>(gettid()));
}

TEST_F(HandlersTest, ReturnAddressAfterATailCall) {
  // target_tail() jumps to target_tail_end(): both return to one caller. The
  // engine's own trampoline stands in its place on the stack.
  Probe probe = make_probe(elf::record(), "pairs",
                           {at("target_tail"), at("target_tail_end")});
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_TAIL, 1, {1}), 3);
  probe.detach();

  const auto events = events_of(probe.object);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[1].target, 1u);
  EXPECT_EQ(events[1].ret_ip, events[0].ret_ip)
      << "at entry of the function that was jumped to";
  EXPECT_EQ(events[2].target, 1u);
  EXPECT_EQ(events[2].ret_ip, events[0].ret_ip);
  EXPECT_EQ(events[3].target, 0u);
  EXPECT_EQ(events[3].ret_ip, events[0].ret_ip);
  EXPECT_EQ(events[2].result, 3u);
  EXPECT_EQ(events[3].result, 3u);
}

TEST_F(HandlersTest, FunctionsOfTheSameName) {
  const auto twins = addresses_of("target_twin");
  ASSERT_EQ(twins.size(), 2u);
  Probe probe =
      make_probe(elf::record(), "pairs", {{twins[0], 100}, {twins[1], 200}});
  probe.attach();
  EXPECT_EQ(target_.run(TARGET_TWINS, 1, {10}), 11 + 12);
  probe.detach();

  const auto exits = exits_of(events_of(probe.object));
  ASSERT_EQ(exits.size(), 2u);
  std::set<std::uint64_t> results;
  for (const event& e : exits) {
    EXPECT_EQ(e.entry_ip, twins[e.target]);
    EXPECT_EQ(e.cookie, e.target == 0 ? 100u : 200u);
    results.insert(e.result);
  }
  EXPECT_EQ(results, (std::set<std::uint64_t>{11, 12}));
}

/// A probe of data.bpf.c, and the bytes that its handlers write.
struct DataCase {
  const char* probe;
  std::uint32_t size;
};

class EntryDataTest : public EngineTest,
                      public testing::WithParamInterface<DataCase> {
 protected:
  data_checks read(const Probe& probe) const {
    data_checks sum{};
    for (const auto& cpu : probe.object.read_percpu<data_checks>("checks", 0)) {
      sum.entries += cpu.entries;
      sum.exits += cpu.exits;
      sum.none += cpu.none;
      sum.torn += cpu.torn;
      sum.seeds_written += cpu.seeds_written;
      sum.seeds_read += cpu.seeds_read;
    }
    return sum;
  }
};

TEST_P(EntryDataTest, BelongsToTheCall) {
  constexpr std::uint64_t kThreads = 4, kTimes = 20, kDepth = 20;
  Probe probe =
      make_probe(elf::data(), GetParam().probe, {at("target_recurse")});
  probe.attach();
  Threads(kThreads, [&] {
    EXPECT_EQ(target_.run(TARGET_RECURSE, kTimes, {kDepth, 0}), int{kDepth});
  }).join();
  probe.detach();

  const data_checks checks = read(probe);
  EXPECT_EQ(checks.entries, kThreads * kTimes * kDepth);
  EXPECT_EQ(checks.exits, checks.entries);
  EXPECT_EQ(checks.none, 0u);
  EXPECT_EQ(checks.torn, 0u);
  EXPECT_EQ(checks.seeds_read, checks.seeds_written);
  EXPECT_EQ(probe.stats().missed_storage, 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, EntryDataTest,
                         testing::Values(DataCase{"bytes_8", 8},
                                         DataCase{"bytes_64", 64},
                                         DataCase{"bytes_120", 120},
                                         DataCase{"bytes_1024", 1024},
                                         DataCase{"bytes_4096", 4096}),
                         [](const auto& test) { return test.param.probe; });

using NoEntryDataTest = EntryDataTest;

TEST_P(NoEntryDataTest, IsRefusedToBothHandlers) {
  Probe probe = make_probe(elf::data(), GetParam().probe, {at("target_leaf")});
  probe.attach();
  target_.run(TARGET_LEAF, 10);
  probe.detach();

  const data_checks checks = read(probe);
  EXPECT_EQ(checks.entries, 10u);
  EXPECT_EQ(checks.exits, 10u);
  EXPECT_EQ(checks.none, 20u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, NoEntryDataTest,
                         testing::Values(DataCase{"too_many", 72},
                                         DataCase{"none_there", 8},
                                         DataCase{"negative", ~0u}),
                         [](const auto& test) { return test.param.probe; });

}  // namespace
}  // namespace probekit::test
