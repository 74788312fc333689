// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// Probes as no library makes them: bad values, bad programs, descriptors that
// lead elsewhere between two calls.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/types.h>
#include <probekit/ops.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "counters.skel.h"
#include "refused.skel.h"
#include "support.hpp"

namespace probekit::test {
namespace {

using Counters =
    std::unique_ptr<counters_bpf, decltype(&counters_bpf::destroy)>;

class HostileTest : public EngineTest {
 protected:
  static Counters open_counters(std::uint64_t generation = 1) {
    Counters object(counters_bpf::open(), counters_bpf::destroy);
    if (!object) throw std::runtime_error("no object");
    object->rodata->generation = generation;
    return object;
  }

  static hits counted(const Counters& object) {
    const auto cpus = Object::possible_cpus();
    std::vector<hits> values(cpus);
    const __u32 key = 0;
    bpf_map__lookup_elem(object->maps.counters, &key, sizeof(key),
                         values.data(), cpus * sizeof(hits), 0);
    hits sum{};
    for (const hits& cpu : values) {
      sum.entries += cpu.entries;
      sum.exits += cpu.exits;
      sum.foreign += cpu.foreign;
    }
    return sum;
  }

  unsigned targets_fd() const { return static_cast<unsigned>(set_.fd()); }

  const TargetSet set_ = engine_.make_targets(std::vector{at("target_leaf")});
};

/// The errno of attaching `both` or another probe of counters.bpf.c after
/// `change` was applied to its values; zero: it worked.
class ValuesTest : public HostileTest {
 protected:
  using Change = std::function<void(probekit_fprobe&)>;

  int errno_with(const Change& change, bool entry_only = false) {
    Counters object = open_counters();
    bpf_map* map = entry_only ? object->maps.entry_only : object->maps.both;
    std::size_t size = 0;
    auto* values =
        static_cast<probekit_fprobe*>(bpf_map__initial_value(map, &size));
    EXPECT_EQ(size, sizeof(*values));
    values->targets_fd = targets_fd();
    change(*values);
    if (const int err = counters_bpf::load(object.get())) return -err;
    bpf_link* link = bpf_map__attach_struct_ops(map);
    const int error = link ? 0 : errno;
    bpf_link__destroy(link);
    return error;
  }
};

TEST_F(ValuesTest, Good) {
  EXPECT_EQ(errno_with([](auto&) {}), 0);
  EXPECT_EQ(errno_with([](auto&) {}, true), 0);
  EXPECT_EQ(
      errno_with([](auto& v) { v.entry_data_size = PROBEKIT_MAX_ENTRY_DATA; }),
      0);
}

TEST_F(ValuesTest, OutOfRange) {
  for (const __u32 size : {PROBEKIT_MAX_ENTRY_DATA + 1, 0x8000'0000u, ~0u})
    EXPECT_EQ(errno_with([=](auto& v) { v.entry_data_size = size; }), E2BIG);
  for (const __u32 calls : {PROBEKIT_MAX_ACTIVE + 1, 0x8000'0000u, ~0u})
    EXPECT_EQ(errno_with([=](auto& v) { v.nr_maxactive = calls; }), E2BIG);
}

TEST_F(ValuesTest, Reserved) {
  for (const __u32 flags : {8u, 0x8000'0000u, ~0u})
    EXPECT_EQ(errno_with([=](auto& v) { v.flags = flags; }), EINVAL);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(errno_with([=](auto& v) { v.engine[i] = 1; }), EINVAL);
}

TEST_F(ValuesTest, StorageThatNobodyReads) {
  EXPECT_EQ(errno_with([](auto& v) { v.entry_data_size = 8; }, true), EINVAL);
  EXPECT_EQ(errno_with([](auto& v) { v.nr_maxactive = 8; }, true), EINVAL);
}

TEST_F(ValuesTest, NoHandlers) {
  Counters object = open_counters();
  object->struct_ops.both->entry_handler = nullptr;
  object->struct_ops.both->exit_handler = nullptr;
  object->struct_ops.both->targets_fd = targets_fd();
  ASSERT_EQ(counters_bpf::load(object.get()), 0);
  EXPECT_EQ(bpf_map__attach_struct_ops(object->maps.both), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ValuesTest, NoTargetSet) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const FileDescriptor device(open(PROBEKIT_DEVICE, O_RDWR | O_CLOEXEC));
  const FileDescriptor root(open("/", O_PATH | O_CLOEXEC));
  const Counters other = open_counters();
  ASSERT_EQ(counters_bpf::load(other.get()), 0);
  for (const int fd :
       {-1, 0, 1, ends[0], ends[1], device.get(), root.get(), 1000, 0x7fffffff,
        bpf_map__fd(other->maps.counters), bpf_map__fd(other->maps.both),
        bpf_program__fd(other->progs.plain_entry)})
    EXPECT_EQ(
        errno_with([=](auto& v) { v.targets_fd = static_cast<unsigned>(fd); }),
        EBADF)
        << fd;
  for (const int fd : ends) close(fd);
}

TEST_F(ValuesTest, AMillionCallsOfFourKilobytes) {
  // Four gigabytes, which the kernel's own arithmetic would not survive.
  const int error = errno_with([](auto& v) {
    v.entry_data_size = PROBEKIT_MAX_ENTRY_DATA;
    v.nr_maxactive = PROBEKIT_MAX_ACTIVE;
  });
  EXPECT_TRUE(error == E2BIG || error == ENOMEM) << error;
}

class RefusedTest : public EngineTest,
                    public testing::WithParamInterface<const char*> {
 protected:
  /// Loads one probe of refused.bpf.c: zero, or the errno.
  static int load(const std::string& wanted) {
    refused_bpf* object = refused_bpf::open();
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object->obj) {
      if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
        bpf_map__set_autocreate(map, bpf_map__name(map) == wanted);
    }
    const int err = refused_bpf::load(object);
    refused_bpf::destroy(object);
    return -err;
  }
};

TEST_P(RefusedTest, DoesNotLoad) { EXPECT_NE(load(GetParam()), 0); }

TEST_F(RefusedTest, ButWhatIsGoodDoes) { EXPECT_EQ(load("good"), 0); }

INSTANTIATE_TEST_SUITE_P(Programs, RefusedTest,
                         testing::Values("sleeps", "writes_call",
                                         "unchecked_data", "beyond_data",
                                         "before_data", "unknown_data",
                                         "wrong_call", "no_call", "writes_regs",
                                         "second_argument"),
                         [](const auto& test) { return test.param; });

/// Links made by hand, so that something can happen between the two steps.
class DescriptorTest : public HostileTest {
 protected:
  DescriptorTest() {
    for (const Counters* object : {&mine_, &other_})
      EXPECT_EQ(counters_bpf::load(object->get()), 0);
  }

  /// A map for the handlers, such as libbpf makes it.
  FileDescriptor make_map() const {
    bpf_map_info info{};
    __u32 length = sizeof(info);
    bpf_obj_get_info_by_fd(bpf_map__fd(mine_->maps.both), &info, &length);
    const FileDescriptor types(bpf_btf_get_fd_by_id(info.btf_vmlinux_id));
    LIBBPF_OPTS(bpf_map_create_opts, options,
                .btf_fd = static_cast<__u32>(bpf_object__btf_fd(mine_->obj)),
                .btf_vmlinux_value_type_id = info.btf_vmlinux_value_type_id,
                .map_flags = BPF_F_LINK | BPF_F_VTYPE_BTF_OBJ_FD,
                .value_type_btf_obj_fd = types.get());
    FileDescriptor map(bpf_map_create(BPF_MAP_TYPE_STRUCT_OPS, "by_hand", 4,
                                      info.value_size, 1, &options));
    EXPECT_TRUE(bool{map}) << strerror(errno);
    return map;
  }

  /// Names the programs, by descriptor: zero, or the errno.
  int fill_map(const FileDescriptor& map, int entry, int exit) const {
    // The kernel's own state fills a cache line before the values.
    struct alignas(64) Value {
      std::array<std::uint8_t, 64> state;
      probekit_fprobe ops;
    } value{};
    value.ops.entry_handler =
        reinterpret_cast<decltype(value.ops.entry_handler)>(
            static_cast<std::uintptr_t>(entry));
    value.ops.exit_handler = reinterpret_cast<decltype(value.ops.exit_handler)>(
        static_cast<std::uintptr_t>(exit));
    value.ops.entry_data_size = 8;
    value.ops.targets_fd = targets_fd();
    const __u32 key = 0;
    return bpf_map_update_elem(map.get(), &key, &value, 0) ? errno : 0;
  }

  static FileDescriptor make_link(const FileDescriptor& map) {
    return FileDescriptor(
        bpf_link_create(map.get(), 0, BPF_STRUCT_OPS, nullptr));
  }

  static FileDescriptor copy(const bpf_program* program) {
    return FileDescriptor(
        fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 100));
  }

  const Counters mine_ = open_counters(1);
  const Counters other_ = open_counters(2);
};

TEST_F(DescriptorTest, NothingHappensBetweenTheSteps) {
  const FileDescriptor map = make_map();
  ASSERT_EQ(fill_map(map, bpf_program__fd(mine_->progs.marked_entry),
                     bpf_program__fd(mine_->progs.marked_exit)),
            0);
  const FileDescriptor link = make_link(map);
  ASSERT_TRUE(bool{link}) << strerror(errno);
  target_.run(TARGET_LEAF, 10);
  EXPECT_EQ(counted(mine_).entries, 10u);
  EXPECT_EQ(counted(mine_).exits, 10u);
}

TEST_F(DescriptorTest, LeadsToAnotherProgramWhenTheLinkIsMade) {
  const FileDescriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto& programs = other_->progs;
  for (const int trap : {bpf_program__fd(programs.marked_entry),
                         bpf_program__fd(programs.choosy_entry),
                         bpf_program__fd(programs.marked_exit),
                         bpf_map__fd(other_->maps.counters), null.get(), -1}) {
    const FileDescriptor entry = copy(mine_->progs.marked_entry);
    const FileDescriptor exit = copy(mine_->progs.marked_exit);
    const FileDescriptor map = make_map();
    ASSERT_EQ(fill_map(map, entry.get(), exit.get()), 0);
    if (trap < 0) {
      close(entry.get());
    } else {
      ASSERT_EQ(dup2(trap, entry.get()), entry.get());
    }
    const auto before = counted(mine_);
    const FileDescriptor link = make_link(map);
    ASSERT_TRUE(bool{link}) << strerror(errno);
    target_.run(TARGET_LEAF, 10);
    EXPECT_EQ(counted(mine_).entries, before.entries + 10);
    EXPECT_EQ(counted(mine_).exits, before.exits + 10);
    EXPECT_EQ(counted(mine_).foreign, 0u);
  }
  EXPECT_EQ(counted(other_).entries + counted(other_).exits, 0u);
}

TEST_F(DescriptorTest, HandlersTakeEachOthersPlace) {
  const int entry = bpf_program__fd(mine_->progs.marked_entry);
  const int exit = bpf_program__fd(mine_->progs.marked_exit);
  EXPECT_EQ(fill_map(make_map(), exit, entry), EINVAL);
  EXPECT_EQ(fill_map(make_map(), entry, entry), EINVAL);
  EXPECT_EQ(fill_map(make_map(), exit, exit), EINVAL);
  EXPECT_NE(fill_map(make_map(), entry, 1000), 0);
  EXPECT_NE(fill_map(make_map(), bpf_map__fd(mine_->maps.both), exit), 0);
}

TEST_F(DescriptorTest, LeadsElsewhereAgainAndAgain) {
  const FileDescriptor entry = copy(mine_->progs.marked_entry);
  const FileDescriptor exit = copy(mine_->progs.marked_exit);
  const auto& progs = other_->progs;
  std::atomic<bool> stop = false;
  Threads juggler(1, [&] {
    while (!stop)
      for (const bpf_program* program :
           {progs.marked_exit, mine_->progs.marked_entry, progs.marked_entry,
            progs.marked_exit, mine_->progs.marked_entry})
        dup2(bpf_program__fd(program), entry.get());
  });
  std::uint64_t links = 0;
  for (int i = 0; i < 200; ++i) {
    const FileDescriptor map = make_map();
    if (fill_map(map, entry.get(), exit.get())) continue;
    const FileDescriptor link = make_link(map);
    if (!link) continue;
    ++links;
    target_.run(TARGET_LEAF, 10);
  }
  stop = true;
  juggler.join();
  // Whichever entry handler it was, it ran as one, and no exit handler did.
  EXPECT_GT(links, 0u);
  EXPECT_EQ(counted(mine_).entries + counted(other_).entries, 10 * links);
  EXPECT_EQ(counted(mine_).exits, 10 * links);
  EXPECT_EQ(counted(other_).exits, 0u);
}

TEST_F(DescriptorTest, MapIsFilledTwice) {
  const FileDescriptor map = make_map();
  const int entry = bpf_program__fd(mine_->progs.marked_entry);
  const int exit = bpf_program__fd(mine_->progs.marked_exit);
  ASSERT_EQ(fill_map(map, entry, exit), 0);
  EXPECT_EQ(fill_map(map, entry, exit), EBUSY);
  EXPECT_FALSE(bool{make_link(make_map())}) << "of a map that is not filled in";
}

}  // namespace
}  // namespace probekit::test
