// SPDX-License-Identifier: GPL-2.0-only
/* One of two functions of the same name. */
#include <linux/compiler.h>

#include "target.h"

static noinline long target_twin(long value)
{
	barrier();
	return value + 2;
}

long target_call_twin_b(long value)
{
	long result = target_twin(value);

	barrier();
	return result;
}
