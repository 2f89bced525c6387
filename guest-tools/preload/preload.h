/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * liblwprun.so: the functions that its parts share. The library is preloaded into every profiled
 * process. Nothing here may change errno, take locks of the program or allocate where the program
 * might be in the middle of a fork, an exec or a signal handler.
 */
#ifndef LWPRUN_PRELOAD_H
#define LWPRUN_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#define INTERPOSED __attribute__((visibility("default")))

/*
 * What a profiled child needs in its environment: the pool as "NAME=value" and, in LD_PRELOAD, the path
 * of this library. The first is NULL if children are not followed.
 */
extern const char *preload_pool_env, *preload_library;

/* The place of a variable in an environment, which may be NULL. `assignment` begins with "NAME=". */
char **preload_find_env(char *const *envp, const char *assignment);

/* Does this process take part? */
bool preload_active(void);

/* Start LWP in the first thread of a new program. */
void preload_program_begin(void);

/* Start LWP in this thread with a fresh slot; attaches the process first if that was not done. */
void preload_thread_begin(void);

/* Flush and stop LWP in this thread and give the slot back. */
void preload_thread_end(void);

/* The forked child's side of fork: it has a new address space, in which LWP is off. */
void preload_forked(void);

/* The process is about to exit: let lwprun see its mappings a last time, then as thread_end. */
void preload_process_end(void);

/*
 * Stop LWP around work of our own, so that it is not counted, and resume it. Signals are blocked between. False, and
 * nothing is to be resumed: this thread is not profiled, or it is a vfork child in its parent's memory.
 */
struct preload_pause {
	uint64_t signals;
	int saved_errno;
	bool was_on; /* false: LWP had gone off by itself and stays so */
};
bool preload_pause(struct preload_pause *pause);
void preload_resume(const struct preload_pause *pause);

/* Between pause and resume: have lwprun empty the rings and read the mappings; returns when done. */
void preload_rescan(void);

/* Before an exec: flush and stop LWP, and let lwprun see the mappings. False: there is nothing to do, in particular not ... */
bool preload_exec_begin(bool *was_on);
/* ... after an exec that failed: resume. */
void preload_exec_failed(bool was_on);

/* The next definition of a libc function, or NULL. */
void *preload_next(const char *name);

/*
 * The parts look up the functions that they stand in front of, and register their handlers. Called
 * once, before anything else of them: from our constructor, or from the first interposed function that
 * another library's constructor calls.
 */
void preload_init(void);
void preload_dl_init(void);
void preload_exec_init(void);
void preload_process_init(void);
void preload_thread_init(void);

/* From now on count dlopen calls there. */
void preload_dl_watch(uint32_t *counter);

#endif
