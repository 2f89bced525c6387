/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting in user mode: all instructions and near branches of each thread, from
 * the first one.  The counts are folded into a row of a file that the processes
 * share.
 */
#include "qemu/osdep.h"
#include <sys/prctl.h>
#include "qemu/error-report.h"
#include "qemu/thread.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "hw/core/cpu.h"
#include "user/x86-user.h"

#define FILE_SIZE (sizeof(X86UserCounts) + X86_USER_ROWS * sizeof(X86UserRow))

QEMU_BUILD_BUG_ON(sizeof(X86UserCounts) != 48);
QEMU_BUILD_BUG_ON(sizeof(X86UserRow) != 48);

X86UserCounts *x86_user_counts;

/* A row for this thread; NULL: there are no more. */
static X86UserRow *user_row(void)
{
    uint32_t n = qatomic_fetch_inc(&x86_user_counts->rows);
    X86UserRow *row;

    if (n >= X86_USER_ROWS) {
        return NULL;
    }
    row = &x86_user_counts->row[n];
    row->pid = getpid();
    row->tid = qemu_get_thread_id();
    row->parent = getppid();
    prctl(PR_GET_NAME, row->name);
    return row;
}

static uint32_t user_wants(CPUX86State *env, uint64_t *insns,
                           uint64_t *branches)
{
    return X86_CNT_WANTS_COUNT | X86_CNT_WANTS_BRANCHES;
}

static void user_fold(CPUX86State *env, int32_t insns, int32_t branches)
{
    X86UserRow *row = env->user_row;

    if (row) {
        row->insns += insns;
        row->branches += branches;
    }
}

static void user_retire(CPUX86State *env, const X86CntInsn *insn)
{
    user_fold(env, 1, !!(insn->info & X86_CNT_BRANCH_CLASS));
}

static const X86CntUser user_counter = {
    .wants = user_wants,
    .fold = user_fold,
    .retire = user_retire,
};

void x86_user_count_init(const char *file)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || ftruncate(fd, FILE_SIZE)) {
        error_report("-count %s: %s", file, strerror(errno));
        exit(EXIT_FAILURE);
    }
    x86_user_counts = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
                           fd, 0);
    if (x86_user_counts == MAP_FAILED) {
        error_report("-count %s: cannot be mapped: %s", file, strerror(errno));
        exit(EXIT_FAILURE);
    }
    close(fd);
    memcpy(x86_user_counts->magic, "vlwpcnt1", sizeof(x86_user_counts->magic));
    x86_cnt_register(&user_counter);
}

void x86_user_count_syscall(CPUX86State *env)
{
    user_fold(env, 1, 0);
}

static void user_end(CPUX86State *env, X86UserEnd end)
{
    if (env->user_row) {
        x86_cnt_fold(env);
        env->user_row->end = end;
    }
}

void x86_user_count_end(CPUX86State *env)
{
    user_end(env, X86_USER_EXITED);
}

void x86_user_count_end_all(X86UserEnd end)
{
    CPUState *cs;

    CPU_FOREACH(cs) {
        user_end(cpu_env(cs), end);
    }
}

/*
 * Who counts everything is asked of each instruction, so it is as if someone
 * counted below CPL 3.
 */
void x86_user_count_enter(CPUX86State *env)
{
    if (unlikely(x86_user_counts && !env->x86_count.kernel)) {
        env->x86_count.kernel = true;
        env->user_row = user_row();
        x86_cnt_update(env);
    }
}

void x86_user_count_new_thread(CPUX86State *env)
{
    env->user_row = NULL;
    env->x86_count.kernel = false;
}
