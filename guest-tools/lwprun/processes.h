/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that lwprun profiles: their coming, their mappings, their end. */
#ifndef LWPRUN_PROCESSES_H
#define LWPRUN_PROCESSES_H

#include "supervisor.h"

/*
 * A program has started in, or a process was forked as, `pid`; it asks through slot i, which it keeps.
 * NULL if it cannot be looked at (another PID name space).
 */
struct process *process_attach(struct supervisor *s, pid_t pid, bool by_exec, uint32_t i);

/* Empty the process's rings, then note how its mappings changed. */
enum mappings_owner process_rescan(struct supervisor *s, struct process *process);

/* Records were taken: look at the process's mappings in this round, if that was not just done. */
void process_look_soon(struct process *process);

/* Note processes that ended and look at mappings whose turn it is. */
void processes_check(struct supervisor *s);

/* Is there a process with this assignment ("NAME=value") in its environment? */
bool processes_with(const char *assignment);

/* The profile ends now. */
void processes_end_all(struct supervisor *s);

/* First line of a file in /proc, without its end. */
void process_read_line(const char *path, char *line, size_t size);

#endif
