// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwprun.so: how processes come and go without exec. fork gives an address space in which LWP is
 * off; exit should leave exact counters and a last look at the mappings behind. A crash or a kill
 * loses neither records nor MissedEvents: they are in memory that lwprun has too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

static pid_t (*real_fork_no_handlers)(void);

static void exits(int status, void *arg)
{
	preload_process_end();
}

static void exits_quickly(void)
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
	pthread_atfork(NULL, NULL, preload_forked);
	on_exit(exits, NULL);
	at_quick_exit(exits_quickly);
}

/* fork without handlers, for signal handlers. */
EXPORT pid_t _Fork(void)
{
	pid_t pid;

	preload_init();
	pid = real_fork_no_handlers();
	if (pid == 0)
		preload_forked();
	return pid;
}

EXPORT void _exit(int status)
{
	preload_process_end();
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}
