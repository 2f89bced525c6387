/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -steady: less of the host is seen.
 */
#ifndef LINUX_USER_STEADY_H
#define LINUX_USER_STEADY_H

extern bool steady;

/* Before the CPU is made; returns the default of -seed. */
const char *steady_init(void);
/* New mappings leave the heap room to grow from here. */
void steady_leave_room(abi_ulong brk);
/* What the program sees of a file's st_blksize. */
uint32_t steady_blksize(uint32_t blksize);
/* getrandom(), by -seed; returns the size. */
size_t steady_getrandom(void *buf, size_t size);
/* /proc/filesystems, into an open file.  Returns 0. */
int steady_filesystems(CPUArchState *env, int fd);

#endif
