// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A program whose system calls are known to the last one. No library makes
 * any before main() or after it: there is none.
 *
 *	probekit_workload WORD...
 *
 *	stop		sends itself SIGSTOP
 *	reads=N		read() from a file, N times
 *	marks=N		sched_get_priority_max(), which nobody else calls
 *	naps=N		nanosleep() for 20 ms
 *	exit=N		ends with status N
 */
#include <fcntl.h>
#include <linux/time_types.h>
#include <signal.h>
#include <sys/syscall.h>

static long call(long number, long a, long b, long c)
{
	long result;

	asm volatile("syscall" : "=a"(result)
		     : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

/* The number behind "NAME=", or -1 where @word is another one. */
static long value_of(const char *word, const char *name)
{
	long value = 0;

	while (*name && *word == *name) {
		word++;
		name++;
	}
	if (*name || *word != '=')
		return -1;
	for (word++; *word; word++)
		value = 10 * value + *word - '0';
	return value;
}

static void do_reads(long n)
{
	long file = call(SYS_open, (long)"/dev/zero", O_RDONLY, 0);
	char byte;

	while (n-- > 0)
		call(SYS_read, file, (long)&byte, 1);
	call(SYS_close, file, 0, 0);
}

static void do_naps(long n)
{
	struct __kernel_timespec nap = { .tv_nsec = 20 * 1000 * 1000 };

	while (n-- > 0)
		call(SYS_nanosleep, (long)&nap, 0, 0);
}

static void work(const char *word)
{
	long n;

	if (*word == 's')
		call(SYS_kill, call(SYS_getpid, 0, 0, 0), SIGSTOP, 0);
	n = value_of(word, "reads");
	if (n >= 0)
		do_reads(n);
	for (n = value_of(word, "marks"); n > 0; n--)
		call(SYS_sched_get_priority_max, 0, 0, 0);
	do_naps(value_of(word, "naps"));
	n = value_of(word, "exit");
	if (n >= 0)
		call(SYS_exit_group, n, 0, 0);
}

/* What the kernel leaves on the stack: the number of words, then the words. */
__attribute__((used)) static void run(long *stack)
{
	char **words = (char **)(stack + 1);
	long i;

	for (i = 1; i < stack[0]; i++)
		work(words[i]);
	call(SYS_exit_group, 0, 0, 0);
}

asm(".globl _start; _start: mov %rsp, %rdi; and $-16, %rsp; call run");
