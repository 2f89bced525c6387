/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP and counting in user mode: declarations for linux-user.
 */
#ifndef X86_USER_H
#define X86_USER_H

#include "cpu.h"
#include "user/user-count.h"

/* Before the program runs, and when it has left: a system call, a signal. */
void x86_user_enter(CPUX86State *env);

/*
 * A new thread, whose state is a copy, with the LWP of its own CPU; or the child
 * of fork().  It begins with LWP off, and nothing counted.
 */
void x86_user_new_thread(CPUX86State *env, X86LWP *lwp);

#endif
