/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of threads that wait in LWP's store of a record: by DWARF's or .eh_frame's rules, and by frame pointers where
 * there are none.
 */
#ifndef LWPRUN_UNWIND_H
#define LWPRUN_UNWIND_H

#include "supervisor.h"

/*
 * Write where the thread of slot i is, for all records since its last stack. True: it is stopped and traced until
 * stack_release(). False: it cannot be traced, or it ends.
 */
bool stack_take(struct supervisor *s, uint32_t i);

/* It goes on. */
void stack_release(struct supervisor *s, uint32_t i);

/* What is known of a process for its stacks is not needed any more. */
void stacks_forget(struct process *process);

#endif
