/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting in user mode: a file has what each thread has executed.
 */
#ifndef USER_COUNT_H
#define USER_COUNT_H

#include "cpu.h"

/* Why a thread counts no more. */
typedef enum X86UserEnd {
    X86_USER_RUNS,      /* it does; or it was killed, and at most a budget lacks */
    X86_USER_EXITED,    /* it has ended by itself */
    X86_USER_PROCESS,   /* its process has ended */
    X86_USER_EXEC,      /* its process runs another program, in other rows */
} X86UserEnd;

/* A thread while it runs one program. */
typedef struct X86UserRow {
    uint64_t insns;
    uint64_t branches;
    uint32_t pid;
    uint32_t tid;
    uint32_t parent;    /* the process that has started this one */
    uint32_t end;       /* X86UserEnd */
    char name[16];      /* of the thread when it began */
} X86UserRow;

/*
 * The file: this, then rows.  All processes map it, so what a killed one has
 * counted is not lost.
 */
typedef struct X86UserCounts {
    char magic[8];      /* "vlwpcnt1" */
    uint32_t rows;      /* that are used; above X86_USER_ROWS: not there */
    uint32_t zero[9];
    X86UserRow row[];
} X86UserCounts;

#define X86_USER_ROWS 65536

/* What is counted; NULL: nothing is. */
extern X86UserCounts *x86_user_counts;

/* Count from now on into a file, which is made if it is not there. */
void x86_user_count_init(const char *file);
/* The thread may begin to count; one that is a copy has not begun. */
void x86_user_count_enter(CPUX86State *env);
void x86_user_count_new_thread(CPUX86State *env);
/* SYSCALL or INT, with which the program has left, is an instruction, too. */
void x86_user_count_syscall(CPUX86State *env);
/* A thread ends; or all of them, of which no other may run (exclusive context). */
void x86_user_count_end(CPUX86State *env);
void x86_user_count_end_all(X86UserEnd end);

#endif
