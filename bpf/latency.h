/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the latency handlers gather per target and CPU; read by the command. */
#ifndef PROBEKIT_LATENCY_H
#define PROBEKIT_LATENCY_H

/*
 * Slot 0 holds calls of 0 and 1 ns, slot i those of [2^i, 2^(i+1)) ns, and the
 * last everything from 2^47 ns (39 hours) on.
 */
#define LATENCY_SLOTS	48

struct latency_stats {
	__u64 total_ns;
	__u64 min_inverted;	/* ~min: zero means no call yet, larger means shorter */
	__u64 max_ns;
	__u64 slots[LATENCY_SLOTS];	/* their sum is the number of calls */
};

#endif /* PROBEKIT_LATENCY_H */
