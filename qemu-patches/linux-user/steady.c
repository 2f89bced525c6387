/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -steady: what the program sees is the same on hosts that differ in what is
 * cheap to hide: where the host's kernel places mappings, random numbers, the
 * size of blocks, the list of file systems.  The clock, files, process numbers
 * and the order of threads stay the host's.
 */
#include "qemu/osdep.h"
#include "qemu/guest-random.h"
#include "qemu/units.h"
#include "qemu.h"
#include "user-internals.h"
#include "loader.h"
#include "user-mmap.h"
#include "steady.h"

#define STEADY_VA    0x3fffffffffffull /* as much as any host has */
#define STEADY_STACK (8 * MiB)
#define STEADY_HEAP  (4 * GiB)
#define STEADY_BLOCK 4096

bool steady;

const char *steady_init(void)
{
    steady = true;
    reserved_va = STEADY_VA;
    guest_stack_size = STEADY_STACK;
    return "1";
}

void steady_leave_room(abi_ulong brk)
{
    task_unmapped_base = TARGET_PAGE_ALIGN(brk + STEADY_HEAP);
    mmap_next_start = task_unmapped_base;
}

uint32_t steady_blksize(uint32_t blksize)
{
    return steady ? STEADY_BLOCK : blksize;
}

size_t steady_getrandom(void *buf, size_t size)
{
    qemu_guest_getrandom_nofail(buf, size);
    return size;
}

int steady_filesystems(CPUArchState *env, int fd)
{
    dprintf(fd, "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tdevtmpfs\n"
                "nodev\tdevpts\n\text4\n");
    return 0;
}
