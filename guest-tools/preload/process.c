// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwprun.so: how processes come and go without exec. fork gives an address space in which LWP is
 * off; exit should leave exact counters and a last look at the mappings behind. A crash or a kill
 * loses neither records nor MissedEvents: they are in memory that lwprun has too.
 */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

static pid_t (*real_fork_no_handlers)(void);
static int (*real_clone)(int (*)(void *), void *, int, void *, pid_t *, void *, pid_t *);

static void exits(int status, void *arg)
{
	preload_process_end();
}

/*
 * Runs before main and before the run-time loader's own exit handler is registered, so that exits()
 * is called after all destructors.
 */
void preload_process_init(void)
{
	real_fork_no_handlers = preload_next("_Fork");
	real_clone = preload_next("clone");
	pthread_atfork(NULL, NULL, preload_forked);
	on_exit(exits, NULL);
	at_quick_exit(preload_process_end);
}

/* fork without handlers, for signal handlers. */
INTERPOSED pid_t _Fork(void)
{
	pid_t pid;

	preload_init();
	pid = real_fork_no_handlers();
	if (pid == 0)
		preload_forked();
	return pid;
}

/* What a clone that copies its memory is to do; the copy is in the child's. */
struct child {
	int (*function)(void *);
	void *arg;
};

static int child_starts(void *arg)
{
	const struct child *child = arg;

	preload_forked();
	return child->function(child->arg);
}

/* A clone that shares its memory is the program's own business: LWP knows a thread by its FS base. */
INTERPOSED int clone(int (*function)(void *), void *stack, int flags, void *arg, ...)
{
	struct child child = { function, arg };
	pid_t *parent_tid, *child_tid;
	va_list args;
	void *tls;

	preload_init();
	/* Whether they are there or not: flags say so, and the callee looks only then. */
	va_start(args, arg);
	parent_tid = va_arg(args, pid_t *);
	tls = va_arg(args, void *);
	child_tid = va_arg(args, pid_t *);
	va_end(args);
	if (!function || flags & CLONE_VM)
		return real_clone(function, stack, flags, arg, parent_tid, tls, child_tid);
	return real_clone(child_starts, stack, flags, &child, parent_tid, tls, child_tid);
}

INTERPOSED void _exit(int status)
{
	preload_process_end();
	for (;;)
		syscall(SYS_exit_group, status);
}

INTERPOSED void _Exit(int status)
{
	_exit(status);
}
