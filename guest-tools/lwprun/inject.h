/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiling what loads no library: static programs, other C libraries, processes that run already. Threads are
 * stopped with ptrace(2), execute a few instructions for lwprun, among them LLWPCB, and continue. New threads,
 * forked processes and exec'ed programs are followed in the same way. 64-bit programs only.
 */
#ifndef LWPRUN_INJECT_H
#define LWPRUN_INJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "supervisor.h"

struct injector;

/* NULL without memory. `pool_fd`: the pool's descriptor in lwprun. */
struct injector *inject_new(struct supervisor *s, int pool_fd, bool follow);
void inject_free(struct injector *injector);

/*
 * Follow `pid`, a child that is about to exec. LWP starts when the program has set its FS base, by which contexts
 * are known. False with errno set.
 */
bool inject_follow(struct injector *injector, pid_t pid);

/* Start LWP in all threads of a process. False with one sentence in `why`. */
bool inject_attach(struct injector *injector, pid_t pid, char *why, size_t size);

/*
 * Deal with all that threads have stopped for. True when `pid` has ended, or no thread is left; *status: its wait
 * status, if it was a child.
 */
bool inject_events(struct injector *injector, pid_t pid, int *status);

/* Stop LWP in all threads, whose counters are exact then; they stand still until ... */
void inject_stop(struct injector *injector);
/* ... they continue without lwprun. */
void inject_detach(struct injector *injector);

#endif
