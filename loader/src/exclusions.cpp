// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "detail/exclusions.hpp"

#include <array>
#include <probekit/pattern.hpp>
#include <vector>

#include "detail/pattern_index.hpp"

namespace probekit {
namespace {

// A function that runs within a hit cannot be measured: the hit on it is
// missed as recursion, and counted, each time. Probing it only makes every
// other hit dearer. That is a fact about the kernel and about what handlers
// call, so the list follows both: names of 6.12 and of later kernels, and of
// debug kernels. Names that ftrace cannot attach to anyway are here where
// other kernels or configurations can.
//
// Not on it: functions that a hit may use, and that are worth probing for what
// everybody else does with them (handle_mm_fault, _raw_spin_lock, vsnprintf).
//
// No pattern begins with a wildcard: each would be tried on every function.
constexpr std::string_view engine = "it is the engine's own";
constexpr std::string_view hook = "every hit of a probe goes through it";
constexpr std::string_view program = "it starts and ends handlers";
constexpr std::string_view rcu =
    "every hit relies on RCU, which may not be watching there";
constexpr std::string_view idle = "RCU is not watching there: the CPU is idle";
constexpr std::string_view entry =
    "RCU is not watching there: the kernel is being entered or left";
constexpr std::string_view preempt = "every hit changes the preempt count";
constexpr std::string_view clock = "handlers read the clock through it";
constexpr std::string_view current = "handlers ask it who is running";
constexpr std::string_view memory = "handlers read memory through it";
constexpr std::string_view fault =
    "faults of handlers that read bad addresses end there";
constexpr std::string_view map = "handlers look up and update maps through it";
constexpr std::string_view ring = "handlers report events through it";
constexpr std::string_view helper = "it is a helper that handlers call";
constexpr std::string_view stack = "handlers walk stacks with it";
constexpr std::string_view patch =
    "it changes the code of the kernel while probes come and go";

constexpr std::array list = {
    Exclusion{"probekit:*", engine},

    // From the patched instruction to the engine, and back.
    Exclusion{"ftrace_*", hook},
    Exclusion{"__ftrace_*", hook},
    Exclusion{"arch_ftrace_*", hook},
    Exclusion{"fprobe_*", hook},
    Exclusion{"rethook_*", hook},
    Exclusion{"arch_rethook_*", hook},
    Exclusion{"objpool_*", hook},
    Exclusion{"function_graph_*", hook},
    Exclusion{"fgraph_*", hook},
    Exclusion{"prepare_ftrace_return", hook},
    Exclusion{"kprobe_ftrace_handler", hook},
    Exclusion{"opt_pre_handler", hook},
    Exclusion{"optimized_callback", hook},

    // Around a program; the dispatchers are stubs that are patched all along.
    Exclusion{"__bpf_prog_enter*", program},
    Exclusion{"__bpf_prog_exit*", program},
    Exclusion{"__bpf_prog_run*", program},
    Exclusion{"__bpf_tramp_enter", program},
    Exclusion{"__bpf_tramp_exit", program},
    Exclusion{"bpf_dispatcher_*_func", program},
    Exclusion{"migrate_disable", program},
    Exclusion{"migrate_enable", program},

    Exclusion{"rcu_*", rcu},
    Exclusion{"__rcu_*", rcu},
    Exclusion{"srcu_*", rcu},
    Exclusion{"__srcu_*", rcu},
    Exclusion{"preempt_count_add", preempt},
    Exclusion{"preempt_count_sub", preempt},
    Exclusion{"preempt_schedule*", preempt},

    // The innermost part of the idle loop; what calls it is fine.
    Exclusion{"arch_cpu_idle", idle},
    Exclusion{"default_idle*", idle},
    Exclusion{"default_enter_idle", idle},
    Exclusion{"amd_e400_idle", idle},
    Exclusion{"mwait_idle*", idle},
    Exclusion{"intel_idle", idle},
    Exclusion{"intel_idle_*", idle},
    Exclusion{"acpi_idle_*", idle},
    Exclusion{"acpi_processor_ffh_*", idle},
    Exclusion{"acpi_safe_halt", idle},
    Exclusion{"poll_idle", idle},
    Exclusion{"cpuidle_enter_state", idle},
    Exclusion{"native_safe_halt", idle},
    Exclusion{"pv_native_safe_halt", idle},
    Exclusion{"xen_safe_halt", idle},
    Exclusion{"tdx_safe_halt", idle},
    Exclusion{"ct_*", entry},
    Exclusion{"__ct_*", entry},
    Exclusion{"context_tracking_*", entry},
    Exclusion{"enter_from_user_mode*", entry},
    Exclusion{"exit_to_user_mode*", entry},
    Exclusion{"irqentry_*", entry},

    Exclusion{"bpf_ktime_get_*", clock},
    Exclusion{"bpf_jiffies64", clock},
    Exclusion{"bpf_cpu_time_counter*", clock},
    Exclusion{"ktime_get_*_fast_ns", clock},
    Exclusion{"read_tsc", clock},
    Exclusion{"read_hpet", clock},
    Exclusion{"acpi_pm_read*", clock},
    Exclusion{"read_hv_clock_*", clock},
    Exclusion{"read_hv_sched_clock_*", clock},
    Exclusion{"hv_get_tsc_*", clock},
    Exclusion{"kvm_clock_get_cycles", clock},
    Exclusion{"kvm_sched_clock_read", clock},
    Exclusion{"pvclock_clocksource_read*", clock},
    Exclusion{"xen_clocksource_*", clock},
    Exclusion{"xen_sched_clock", clock},
    Exclusion{"vmware_sched_clock", clock},
    Exclusion{"native_sched_clock", clock},
    Exclusion{"sched_clock", clock},
    Exclusion{"sched_clock_cpu", clock},
    Exclusion{"local_clock*", clock},

    Exclusion{"bpf_get_current_*", current},
    Exclusion{"bpf_get_ns_current_*", current},
    Exclusion{"bpf_current_task_*", current},
    Exclusion{"bpf_task_[!f]*", current},
    Exclusion{"bpf_cgroup_acquire", current},
    Exclusion{"bpf_cgroup_ancestor", current},
    Exclusion{"bpf_cgroup_from_id", current},
    Exclusion{"bpf_cgroup_release*", current},
    Exclusion{"bpf_get_cgroup_*", current},
    Exclusion{"bpf_get_smp_processor_id", current},
    Exclusion{"bpf_get_raw_cpu_id", current},
    Exclusion{"bpf_get_numa_node_id", current},

    Exclusion{"bpf_probe_read*", memory},
    Exclusion{"bpf_probe_write_user", memory},
    Exclusion{"copy_from_kernel_nofault*", memory},
    Exclusion{"strncpy_from_kernel_nofault*", memory},
    Exclusion{"copy_from_user_nofault", memory},
    Exclusion{"strncpy_from_user_nofault", memory},
    Exclusion{"strnlen_user_nofault", memory},
    Exclusion{"nmi_uaccess_okay", memory},
    Exclusion{"fixup_exception", fault},
    Exclusion{"ex_get_fixup_type", fault},
    Exclusion{"search_exception_tables", fault},
    Exclusion{"search_kernel_exception_table", fault},
    Exclusion{"search_module_extables", fault},
    Exclusion{"search_bpf_extables", fault},
    Exclusion{"search_extable", fault},
    Exclusion{"kernelmode_fixup_or_oops*", fault},

    // The calls of handlers, and what the kinds of maps do on them.
    Exclusion{"bpf_map_*_elem", map},
    Exclusion{"bpf_percpu_*", map},
    Exclusion{"bpf_for_each_*_elem", map},
    Exclusion{"array_map_*_elem", map},
    Exclusion{"percpu_array_map_*_elem", map},
    Exclusion{"array_of_map_*_elem", map},
    Exclusion{"htab_*_elem", map},
    Exclusion{"__htab_*_elem", map},
    Exclusion{"htab_lock_bucket", map},
    Exclusion{"htab_unlock_bucket", map},
    Exclusion{"htab_map_hash", map},
    Exclusion{"alloc_htab_elem", map},
    Exclusion{"lookup_elem_raw", map},
    Exclusion{"lookup_nulls_elem_raw", map},
    Exclusion{"pcpu_copy_value", map},
    Exclusion{"pcpu_init_value", map},
    Exclusion{"trie_*_elem", map},
    Exclusion{"longest_prefix_match*", map},
    Exclusion{"queue_stack_map_*_elem", map},
    Exclusion{"bloom_map_*_elem", map},
    Exclusion{"bpf_pid_task_storage_*_elem", map},
    Exclusion{"cgroup_storage_*_elem", map},
    Exclusion{"bpf_cgrp_storage_*_elem", map},
    Exclusion{"bpf_local_storage_*", map},
    Exclusion{"__bpf_local_storage_*", map},
    Exclusion{"bpf_lru_*", map},
    Exclusion{"__bpf_lru_*", map},
    Exclusion{"bpf_common_lru_*", map},
    Exclusion{"pcpu_freelist_*", map},
    Exclusion{"__pcpu_freelist_*", map},
    Exclusion{"___pcpu_freelist_*", map},
    Exclusion{"bpf_mem_*", map},
    Exclusion{"unit_alloc", map},
    Exclusion{"unit_free*", map},
    Exclusion{"bpf_obj_free_*", map},
    Exclusion{"bpf_obj_memcpy", map},
    Exclusion{"bpf_selem_*", map},

    Exclusion{"bpf_ringbuf_*", ring},
    Exclusion{"__bpf_ringbuf_*", ring},
    Exclusion{"bpf_user_ringbuf_*", ring},
    Exclusion{"__bpf_user_ringbuf_*", ring},
    Exclusion{"bpf_perf_event_output*", ring},
    Exclusion{"irq_work_*", ring},
    Exclusion{"__irq_work_*", ring},
    Exclusion{"arch_irq_work_*", ring},
    Exclusion{"_raw_spin_lock_irqsave", ring},
    Exclusion{"_raw_spin_unlock_irqrestore", ring},
    Exclusion{"queued_spin_lock_slowpath", ring},
    Exclusion{"native_queued_spin_lock_slowpath", ring},
    Exclusion{"__pv_queued_spin_lock_slowpath", ring},
    Exclusion{"bpf_res_spin_*lock*", ring},
    Exclusion{"resilient_queued_spin_*", ring},
    Exclusion{"resilient_tas_spin_*", ring},

    Exclusion{"bpf_loop", helper},
    Exclusion{"bpf_iter_num_*", helper},
    Exclusion{"bpf_snprintf*", helper},
    Exclusion{"bpf_trace_printk", helper},
    Exclusion{"bpf_trace_vprintk", helper},
    Exclusion{"bpf_bprintf_*", helper},
    Exclusion{"bpf_strncmp", helper},
    Exclusion{"bpf_strto*", helper},
    Exclusion{"__bpf_strto*", helper},
    Exclusion{"bpf_user_rnd_u32", helper},
    Exclusion{"bpf_get_prandom_u32", helper},
    Exclusion{"bpf_per_cpu_ptr", helper},
    Exclusion{"bpf_this_cpu_ptr", helper},
    Exclusion{"bpf_dynptr_*", helper},
    Exclusion{"__bpf_dynptr_*", helper},
    Exclusion{"bpf_spin_*lock", helper},
    Exclusion{"__bpf_spin_*", helper},
    Exclusion{"bpf_kptr_xchg", helper},
    Exclusion{"bpf_timer_*", helper},
    Exclusion{"bpf_rcu_read_*", helper},
    Exclusion{"bpf_preempt_*", helper},
    Exclusion{"bpf_rdonly_cast", helper},
    Exclusion{"bpf_cast_to_kern_ctx", helper},

    Exclusion{"stack_trace_*", stack},
    Exclusion{"arch_stack_walk*", stack},
    Exclusion{"unwind_*", stack},
    Exclusion{"__unwind_*", stack},
    Exclusion{"orc_find*", stack},
    Exclusion{"__orc_find*", stack},
    Exclusion{"get_stack_info*", stack},
    Exclusion{"in_task_stack", stack},
    Exclusion{"in_entry_stack", stack},
    Exclusion{"kernel_text_address", stack},
    Exclusion{"__kernel_text_address", stack},
    Exclusion{"core_kernel_text", stack},
    Exclusion{"is_module_text_address", stack},
    Exclusion{"__module_text_address", stack},
    Exclusion{"__module_address", stack},
    Exclusion{"is_bpf_text_address", stack},
    Exclusion{"bpf_ksym_find", stack},
    Exclusion{"bpf_get_stack*", stack},
    Exclusion{"bpf_get_task_stack*", stack},
    Exclusion{"__bpf_get_stack*", stack},
    Exclusion{"get_perf_callchain", stack},
    Exclusion{"perf_callchain*", stack},

    Exclusion{"text_poke*", patch},
    Exclusion{"__text_poke", patch},
    Exclusion{"smp_text_poke*", patch},
    Exclusion{"poke_int3_handler", patch},
    Exclusion{"do_sync_core", patch},
    Exclusion{"insn_decode*", patch},
    Exclusion{"insn_get_*", patch},
    Exclusion{"insn_init", patch},
    Exclusion{"inat_get_*", patch},
};

}  // namespace

std::span<const Exclusion> exclusions() noexcept { return list; }

std::string_view detail::exclusion_reason(std::span<const Function> aliases) {
  static const std::vector<Pattern> patterns = [] {
    std::vector<Pattern> compiled;
    compiled.reserve(list.size());
    for (const Exclusion& exclusion : list) {
      compiled.emplace_back(exclusion.pattern);
    }
    return compiled;
  }();
  static const PatternIndex index(patterns);
  for (const Function& alias : aliases) {
    const std::size_t found = index.first(alias);
    if (found != PatternIndex::none) return list[found].reason;
  }
  return {};
}

std::string_view exclusion_reason(const SymbolTable& table,
                                  const Function& function) {
  return detail::exclusion_reason(table.aliases(function.address));
}

}  // namespace probekit
