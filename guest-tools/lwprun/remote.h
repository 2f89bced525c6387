/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that a thread, stopped by ptrace(2), executes for its tracer. 64-bit programs only. */
#ifndef LWPRUN_REMOTE_H
#define LWPRUN_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define REMOTE_CS_64 0x33 /* code segment of 64-bit programs */

struct remote {
	pid_t tid;
	uint64_t code; /* our page in its address space, 0: none yet */
	struct user_regs_struct regs; /* its own */
	uint64_t signals; /* its own mask: nothing is delivered meanwhile */
};

/* False with errno set: it is not stopped, or gone. */
bool remote_begin(struct remote *remote, pid_t tid);

/* All is again as it was. */
void remote_end(struct remote *remote);

/*
 * Map the page, while no other thread runs: the thread's own code is overwritten for a moment. Returns 0 or a
 * negative errno.
 */
int64_t remote_map_code(struct remote *remote, uint64_t *code);

/* The result of a system call. */
int64_t remote_syscall(struct remote *remote, long number, uint64_t a, uint64_t b, uint64_t c,
		       uint64_t d, uint64_t e);
int64_t remote_open(struct remote *remote, const char *path, int flags);

/* SLWPCB and LLWPCB. */
uint64_t remote_slwpcb(struct remote *remote);
void remote_llwpcb(struct remote *remote, uint64_t block);

#endif
