// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiling what loads no library, by ptrace(2). */
#include <asm/prctl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject.h"
#include "processes.h"
#include "remote.h"

#define NO_SLOT UINT32_MAX

enum task_state {
	TASK_NEW, /* stopped, and it is not known yet how it came to be */
	TASK_ANNOUNCED, /* known from its parent, not stopped yet */
	TASK_BEGINS, /* runs until it has set its FS base */
	TASK_RUNS,
	TASK_STOPPED, /* by inject_stop() */
};

struct task {
	pid_t tid, pid;
	enum task_state state;
	bool shares; /* its parent's memory, as vfork's child: only after exec it is looked at */
	uint32_t slot;
	int signal; /* to be delivered when it continues */
};

/* What was mapped into an address space; a forked child has it too. */
struct space {
	pid_t pid;
	uint64_t code, pool;
};

struct injector {
	struct supervisor *s;
	int pool_fd;
	long options;
	struct task *tasks;
	size_t nr_tasks;
	struct space *spaces;
	size_t nr_spaces;
};

struct injector *inject_new(struct supervisor *s, int pool_fd, bool follow)
{
	struct injector *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->s = s;
	in->pool_fd = pool_fd;
	in->options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	if (follow)
		in->options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	return in;
}

void inject_free(struct injector *in)
{
	if (!in)
		return;
	free(in->tasks);
	free(in->spaces);
	free(in);
}

/* ---- Tables --------------------------------------------------------------------------------- */

static struct task *find_task(struct injector *in, pid_t tid)
{
	for (size_t i = 0; i < in->nr_tasks; i++)
		if (in->tasks[i].tid == tid)
			return &in->tasks[i];
	return NULL;
}

static struct task *add_task(struct injector *in, pid_t tid, pid_t pid, enum task_state state)
{
	struct task *list = realloc(in->tasks, (in->nr_tasks + 1) * sizeof(*list));

	if (!list)
		return NULL;
	in->tasks = list;
	list[in->nr_tasks] =
		(struct task){ .tid = tid, .pid = pid, .state = state, .slot = NO_SLOT };
	return &list[in->nr_tasks++];
}

static struct space *find_space(struct injector *in, pid_t pid)
{
	for (size_t i = 0; i < in->nr_spaces; i++)
		if (in->spaces[i].pid == pid)
			return &in->spaces[i];
	return NULL;
}

static void forget_space(struct injector *in, pid_t pid)
{
	struct space *space = find_space(in, pid);

	if (space)
		*space = in->spaces[--in->nr_spaces];
}

static bool add_space(struct injector *in, struct space space)
{
	struct space *list;

	forget_space(in, space.pid);
	list = realloc(in->spaces, (in->nr_spaces + 1) * sizeof(*list));
	if (!list)
		return false;
	in->spaces = list;
	list[in->nr_spaces++] = space;
	return true;
}

/* The process of a thread, 0 if it is gone. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (file)
		fclose(file);
	return pid;
}

/* ---- Starting LWP in a thread --------------------------------------------------------------- */

/* Our code, and the pool, in the address space of a thread that is stopped while no other runs there. */
static int64_t map_all(struct injector *in, struct remote *r, struct space *space)
{
	char path[64];
	int64_t fd, result;

	result = remote_map_code(r, &space->code);
	if (result < 0)
		return result;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), in->pool_fd);
	fd = remote_open(r, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fd;
	result = remote_syscall(r, SYS_mmap, 0, in->s->pool->size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_NORESERVE, (uint64_t)fd);
	remote_syscall(r, SYS_close, (uint64_t)fd, 0, 0, 0, 0);
	space->pool = (uint64_t)result;
	return result < 0 && result > -4096 ? result : 0;
}

static int64_t want_space(struct injector *in, struct remote *r, pid_t pid)
{
	struct space space = { .pid = pid }, *known = find_space(in, pid);
	int64_t result;

	if (known) {
		r->code = known->code;
		return 0;
	}
	result = map_all(in, r, &space);
	if (!result && !add_space(in, space))
		result = -ENOMEM;
	return result;
}

static uint32_t claim_slot(struct pool *pool, pid_t pid)
{
	for (uint32_t i = 0; i < pool->nr_slots; i++)
		if (pool_claim(pool, i, (uint32_t)pid))
			return i;
	__atomic_fetch_add(&pool->threads_no_slot, 1, __ATOMIC_RELAXED);
	return NO_SLOT;
}

static void set_state(struct pool *pool, uint32_t i, pid_t pid, enum pool_state state)
{
	__atomic_store_n(&pool_slot(pool, i)->owner, pool_owner((uint32_t)pid, state),
			 __ATOMIC_RELEASE);
}

static void name_slot(struct pool_slot *slot, pid_t pid, pid_t tid)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	memset(slot->comm, 0, sizeof(slot->comm));
	process_read_line(path, slot->comm, sizeof(slot->comm));
}

/* Bytes from the pool's begin to a slot's area. */
static uint64_t area_offset(const struct pool *pool, uint32_t i)
{
	return pool->areas_offset + i * pool->area_size;
}

static void fill_slot(struct injector *in, const struct task *task, const struct space *space)
{
	struct pool *pool = in->s->pool;
	struct pool_slot *slot = pool_slot(pool, task->slot);

	slot->guard_fd = -1;
	name_slot(slot, task->pid, task->tid);
	pool_fill(pool, task->slot, (uint32_t)task->tid,
		  space->pool + area_offset(pool, task->slot) + POOL_PAGE);
}

/* LWP that runs already is the program's own. */
static bool start_on_slot(struct injector *in, struct remote *r, struct task *task, bool by_exec)
{
	struct pool *pool = in->s->pool;
	const struct space *space = find_space(in, task->pid);
	uint64_t area = space->pool + area_offset(pool, task->slot);

	if (remote_slwpcb(r)) {
		in->s->nr_others++;
		return false;
	}
	if (remote_syscall(r, SYS_madvise, area, pool->area_size, MADV_POPULATE_WRITE, 0, 0)) {
		__atomic_fetch_add(&pool->threads_no_memory, 1, __ATOMIC_RELAXED);
		return false;
	}
	fill_slot(in, task, space);
	if ((by_exec || !process_find(in->s, task->pid)) &&
	    !process_attach(in->s, task->pid, by_exec, task->slot))
		return false;
	set_state(pool, task->slot, task->pid, POOL_LIVE);
	remote_llwpcb(r, area);
	return true;
}

/* Returns 0 if it is profiled now, or a negative errno. */
static int64_t start_task(struct injector *in, struct task *task, bool by_exec)
{
	struct remote r;
	int64_t result;
	bool started;

	task->state = TASK_RUNS;
	if (!remote_begin(&r, task->tid))
		return -errno;
	result = want_space(in, &r, task->pid);
	if (!result) {
		task->slot = claim_slot(in->s->pool, task->pid);
		started = task->slot != NO_SLOT && start_on_slot(in, &r, task, by_exec);
		if (task->slot != NO_SLOT && !started) {
			pool_release(in->s->pool, task->slot);
			task->slot = NO_SLOT;
		}
	}
	remote_end(&r);
	return result;
}

/* LWP off and the counters in the block. */
static void stop_task(struct injector *in, struct task *task)
{
	const struct space *space = find_space(in, task->pid);
	struct pool_slot *slot;
	struct remote r;

	if (task->slot == NO_SLOT || !space || !remote_begin(&r, task->tid))
		return;
	r.code = space->code;
	slot = pool_slot(in->s->pool, task->slot);
	if (remote_slwpcb(&r) == space->pool + area_offset(in->s->pool, task->slot)) {
		remote_llwpcb(&r, 0);
		slot->flags |= POOL_SLOT_FLUSHED;
	} else {
		slot->flags |= POOL_SLOT_LOST;
	}
	remote_end(&r);
	set_state(in->s->pool, task->slot, task->pid, POOL_DONE);
	task->slot = NO_SLOT;
}

/* ---- Stops ---------------------------------------------------------------------------------- */

static void go_on(struct task *task, int signal)
{
	ptrace(task->state == TASK_BEGINS ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, NULL,
	       (void *)(intptr_t)signal);
}

static int event_of(int status)
{
	return status >> 16;
}

/* Has it just set its FS base? */
static bool has_set_fs(pid_t tid)
{
	struct user_regs_struct regs;

	return ptrace(PTRACE_GETREGS, tid, NULL, &regs) == 0 && regs.cs == REMOTE_CS_64 &&
	       regs.orig_rax == SYS_arch_prctl && regs.rdi == ARCH_SET_FS && regs.rax == 0;
}

/* A thread, or a process with memory of its own, has come and stands still. */
static void begin_task(struct injector *in, struct task *task, const struct task *parent)
{
	task->pid = process_of(task->tid);
	if (task->pid != parent->pid && !task->shares) {
		const struct space *space = find_space(in, parent->pid);

		if (space)
			add_space(in, (struct space){ task->pid, space->code, space->pool });
	}
	if (task->shares || (parent->slot == NO_SLOT && !find_space(in, task->pid)))
		task->state = parent->state == TASK_BEGINS && !task->shares ? TASK_BEGINS :
									      TASK_RUNS;
	else
		start_task(in, task, false);
	go_on(task, 0);
}

/* The parent says what came of it. */
static void announced(struct injector *in, pid_t parent_tid, int event)
{
	unsigned long tid = 0;
	struct task *task;
	bool was_there;

	ptrace(PTRACE_GETEVENTMSG, parent_tid, NULL, &tid);
	task = find_task(in, (pid_t)tid);
	was_there = task != NULL;
	if (!task)
		task = add_task(in, (pid_t)tid, 0, TASK_ANNOUNCED);
	if (!task)
		return;
	/* Whoever shares memory but is no thread has its parent's FS base too. */
	task->shares = event == PTRACE_EVENT_VFORK ||
		       (event == PTRACE_EVENT_CLONE &&
			process_of((pid_t)tid) != find_task(in, parent_tid)->pid);
	task->pid = find_task(in, parent_tid)->pid;
	if (was_there)
		begin_task(in, task, find_task(in, parent_tid));
}

/* PTRACE_EVENT_STOP: a new task, a stop of the whole process, or our own interruption. */
static void stopped(struct injector *in, pid_t tid, int signal)
{
	struct task *task = find_task(in, tid);

	if (!task) {
		add_task(in, tid, 0, TASK_NEW);
	} else if (task->state == TASK_ANNOUNCED) {
		const struct task parent = { .pid = task->pid,
					     .state = TASK_RUNS,
					     .slot = NO_SLOT };

		begin_task(in, task, &parent);
	} else if (signal != SIGTRAP) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
	} else {
		go_on(task, 0);
	}
}

static void replaced(struct injector *in, struct task *task)
{
	struct user_regs_struct regs;
	bool is_64 = ptrace(PTRACE_GETREGS, task->tid, NULL, &regs) == 0 && regs.cs == REMOTE_CS_64;

	/* Its slot's process has ended; the next round, or the next program's, says so. */
	forget_space(in, process_of(task->tid));
	task->pid = process_of(task->tid);
	task->slot = NO_SLOT;
	task->shares = false;
	task->state = is_64 ? TASK_BEGINS : TASK_RUNS;
	go_on(task, 0);
}

static void event(struct injector *in, pid_t tid, int status)
{
	struct task *task = find_task(in, tid);
	int signal = WSTOPSIG(status);

	if (event_of(status) == PTRACE_EVENT_STOP) {
		stopped(in, tid, signal);
		return;
	}
	if (!task)
		return;
	switch (event_of(status)) {
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		announced(in, tid, event_of(status));
		go_on(find_task(in, tid), 0);
		return;
	case PTRACE_EVENT_EXEC:
		replaced(in, task);
		return;
	default:
		break;
	}
	if (signal == (SIGTRAP | 0x80)) {
		if (task->state == TASK_BEGINS && has_set_fs(tid))
			start_task(in, task, true);
		signal = 0;
	}
	go_on(task, signal);
}

/* A thread is gone, without its last counters. */
static void ended(struct injector *in, pid_t tid)
{
	struct task *task = find_task(in, tid);

	if (!task)
		return;
	if (task->slot != NO_SLOT && task->tid != task->pid &&
	    pool_slot(in->s->pool, task->slot)->owner == pool_owner((uint32_t)task->pid, POOL_LIVE))
		set_state(in->s->pool, task->slot, task->pid, POOL_DONE);
	if (task->tid == task->pid)
		forget_space(in, task->pid);
	*task = in->tasks[--in->nr_tasks];
}

bool inject_events(struct injector *in, pid_t pid, int *status)
{
	int one;
	pid_t tid;

	while ((tid = waitpid(-1, &one, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(one)) {
			event(in, tid, one);
			continue;
		}
		ended(in, tid);
		if (tid == pid) {
			*status = one;
			return true;
		}
	}
	return !in->nr_tasks;
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

bool inject_follow(struct injector *in, pid_t pid)
{
	if (!add_task(in, pid, pid, TASK_RUNS)) {
		errno = ENOMEM;
		return false;
	}
	return ptrace(PTRACE_SEIZE, pid, NULL, (void *)in->options) == 0;
}

/* Stop what runs. A signal that comes meanwhile is kept. */
static bool interrupt(struct task *task)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, task->tid, NULL, NULL) < 0 ||
	    waitpid(task->tid, &status, __WALL) != task->tid || !WIFSTOPPED(status))
		return false;
	if (!event_of(status) && WSTOPSIG(status) != (SIGTRAP | 0x80))
		task->signal = WSTOPSIG(status);
	return true;
}

/* Seize the threads that are not known yet. Returns their number, -1 with errno set. */
static int seize_threads(struct injector *in, pid_t pid)
{
	const struct dirent *entry;
	char path[64];
	int found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while (found >= 0 && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);
		struct task *task;

		if (tid <= 0 || find_task(in, tid))
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)in->options) < 0) {
			found = errno == ESRCH ? found : -1;
			continue;
		}
		task = add_task(in, tid, pid, TASK_RUNS);
		if (task && interrupt(task))
			found++;
	}
	closedir(dir);
	return found;
}

bool inject_attach(struct injector *in, pid_t pid, char *why, size_t size)
{
	struct user_regs_struct regs;
	int64_t result = 0;
	int found;

	do
		found = seize_threads(in, pid);
	while (found > 0);
	if (found < 0 || !in->nr_tasks) {
		snprintf(why, size, "process %d cannot be attached to: %s", pid, strerror(errno));
		return false;
	}
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) == 0 && regs.cs != REMOTE_CS_64) {
		snprintf(why, size,
			 "process %d is a 32-bit program; link it against liblwp (lwp(3)), with "
			 "which it profiles itself",
			 pid);
		return false;
	}
	for (size_t i = 0; i < in->nr_tasks && !result; i++)
		result = start_task(in, &in->tasks[i], false);
	for (size_t i = 0; i < in->nr_tasks; i++)
		go_on(&in->tasks[i], in->tasks[i].signal);
	if (result)
		snprintf(why, size, "process %d cannot take part: %s", pid, strerror((int)-result));
	return !result;
}

void inject_stop(struct injector *in)
{
	for (size_t i = 0; i < in->nr_tasks; i++) {
		struct task *task = &in->tasks[i];

		task->signal = 0;
		if (task->state != TASK_NEW && !interrupt(task))
			continue;
		stop_task(in, task);
		task->state = TASK_STOPPED;
	}
}

void inject_detach(struct injector *in)
{
	for (size_t i = 0; i < in->nr_tasks; i++)
		ptrace(PTRACE_DETACH, in->tasks[i].tid, NULL,
		       (void *)(intptr_t)in->tasks[i].signal);
}
