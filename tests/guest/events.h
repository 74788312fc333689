/* SPDX-License-Identifier: GPL-2.0-only */
/* What the test handlers leave for the tests to read. */
#ifndef EVENTS_H
#define EVENTS_H

/* Later ones are counted, but not kept. */
#define EVENTS_MAX	4096

/* What a handler was given. The CPU that it ran on keeps it, under its number. */
struct event {
	__u64 number;		/* from 1, in the order of all CPUs; zero: none */
	__u64 entry;		/* number of the entry, handed over in entry data */
	__u64 time_ns;
	__u64 entry_ip;
	__u64 ret_ip;
	__u64 cookie;
	__u64 args[6];		/* argument registers, whatever they hold */
	__u64 result;		/* register of the return value */
	__u64 ip;		/* instruction and stack pointer in regs */
	__u64 sp;
	__u32 target;
	__u32 entry_data_size;
	__u32 cpu;
	__u32 tid;
	__u32 tgid;
	__u32 preempt_count;
	__u32 is_exit;
	__u32 padding;
};

/* What data.bpf.c finds, per size of entry data. */
struct data_checks {
	__u64 entries;
	__u64 exits;
	__u64 none;		/* the engine handed no storage out */
	__u64 torn;		/* an exit found another pattern than an entry wrote */
	__u64 seeds_written;	/* sums: the same where each exit got its own entry's */
	__u64 seeds_read;
};

/* What counters.bpf.c counts, per target. */
struct hits {
	__u64 entries;
	__u64 exits;
	__u64 foreign;		/* exits with the entry data of other handlers */
};

/* What kinds.bpf.c keeps, per target: counts and sums, and the last of the rest. */
struct kind_hits {
	__u64 entries;
	__u64 exits;
	__u64 torn;		/* exits with another return address than the last entry */
	__u64 handed_over;	/* sum of the arguments, through entry data */
	__u64 entry_ip;
	__u64 ret_ip;
	__u64 cookie;
	__u64 arg;
	__u64 result;
	__u64 time_ns;
};

/* What enclosing.bpf.c keeps, per target. */
struct family {
	__u64 calls;
	__u64 children;		/* calls made directly by these, which exits added up */
	__u64 orphans;		/* handlers that saw no enclosing call */
	__u64 parents;		/* bit mask: targets that the enclosing calls were of */
};

/* What stack.bpf.c keeps, per handler. */
#define STACK_FPROBE_ENTRY	0U
#define STACK_FPROBE_EXIT	1U
#define STACK_KPROBE		2U
#define STACK_KRETPROBE_ENTRY	3U
#define STACK_KRETPROBE_EXIT	4U
#define STACKS			5U

struct stacks {
	__u64 count;
	__s64 kernel_bytes;
	__s64 user_bytes;
	__s64 small_bytes;
	__s64 odd_size;		/* what was answered for 12 bytes */
	__s64 bad_flags;	/* and for an unknown flag */
	__u64 kernel[32];
	__u64 user[32];
	__u64 small[2];
};

#endif /* EVENTS_H */
