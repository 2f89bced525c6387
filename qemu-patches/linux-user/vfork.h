/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vfork(): the parent waits until the child runs another program or ends.
 */
#ifndef LINUX_USER_VFORK_H
#define LINUX_USER_VFORK_H

/*
 * vfork() is fork(), after which the child's stores do not reach the parent.  But
 * posix_spawn() has the child store the error of its execve() on the parent's
 * stack, so what a child that ends has changed there is copied.
 */
#define VFORK_FRAME 8192

typedef struct VFork {
    int fds[2];
    abi_ulong sp;
    uint32_t size;              /* of the stack above sp that is looked at */
    uint8_t frame[VFORK_FRAME]; /* as it is before the fork */
} VFork;

/* Before fork_start(): what the child may change. */
VFork *vfork_new(CPUArchState *env);
/*
 * Around the fork, in exclusive context: no other child may have the pipe.
 * vfork_pipe() returns whether there is one.
 */
bool vfork_pipe(VFork *v);
/* By the child; NULL: that of another fork, for which nobody waits. */
void vfork_child(VFork *v);
void vfork_parent(VFork *v);
/* After it, by the parent; also if the fork has failed. */
void vfork_wait(VFork *v);
/* The process ends: if it is such a child, tell its parent. */
void vfork_exit(void);

#endif
