// SPDX-License-Identifier: GPL-2.0-or-later
/* The processes that lwprun profiles: their coming, their mappings, their end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "processes.h"
#include "rings.h"
#include "unwind.h"

/* Time in ns until mappings are read again: first often, then seldom. */
#define SWEEP_MIN 50000000ull
#define SWEEP_MAX 1000000000ull
/* Least time between two readings when rings fill. */
#define SWEEP_FULL 10000000ull
/* As much of a JIT's symbol file as is taken. */
#define PERF_MAP_MAX (64u << 20)

void process_read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, size - 1);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* ---- Coming --------------------------------------------------------------------------------- */

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512], *after;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	process_read_line(path, line, sizeof(line));
	/* pid (comm) state ppid; comm may have any characters. */
	after = strrchr(line, ')');
	return after && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static void write_process(struct supervisor *s, const struct process *process, uint32_t parent,
			  bool by_exec)
{
	char path[64], comm[64], exe[PATH_MAX];
	struct lwpdata_process data = {
		.id = process->id,
		.parent = parent,
		.pid = (uint32_t)process->pid,
		.origin = by_exec ? LWPDATA_BY_EXEC : LWPDATA_BY_FORK,
		.time = rounds_now(),
	};
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", process->pid);
	process_read_line(path, comm, sizeof(comm));
	data.comm = lwpdata_text(comm);
	snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
	n = readlink(path, exe, sizeof(exe));
	data.exe = (struct lwpdata_bytes){ (const uint8_t *)exe, n > 0 ? (size_t)n : 0 };
	lwpdata_write_process(s->writer, &data);
}

static void end_process(struct supervisor *s, struct process *process, uint32_t how,
			uint32_t keep_slot);

/* When lwprun ends, by whatever, no copy is left and the program continues. */
static int copy_guard(int pidfd, int32_t fd)
{
	return pidfd >= 0 && fd >= 0 ? (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0) : -1;
}

struct process *process_attach(struct supervisor *s, pid_t pid, bool by_exec, uint32_t i)
{
	static const struct mappings none;
	struct process *process = calloc(1, sizeof(*process)), *old, *parent;
	pid_t tid = (pid_t)pool_slot(s->pool, i)->tid;
	uint32_t parent_id = LWPDATA_NONE;

	if (!process)
		return NULL;
	old = process_find(s, pid);
	/* After exec the parent is who it was. */
	parent = old && by_exec ? old : process_find(s, parent_of(pid));
	if (parent)
		parent_id = parent->id;
	if (old)
		end_process(s, old, by_exec ? LWPDATA_END_EXEC : LWPDATA_END_EXIT, i);
	if (mappings_read(&process->mappings, pid, tid, s->pool_inode, &s->objects, s->writer) !=
	    MAPPINGS_OURS) {
		s->stats.processes_refused++;
		mappings_free(&process->mappings);
		free(process);
		return NULL;
	}
	process->id = s->nr_processes++;
	process->pid = pid;
	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	process->guard_fd = copy_guard(process->pidfd, pool_slot(s->pool, i)->guard_fd);
	process->sweep_interval = SWEEP_MIN;
	process->sweep_at = rounds_now() + SWEEP_MIN;
	process->next = s->processes;
	s->processes = process;
	write_process(s, process, parent_id, by_exec);
	mappings_write_changes(&none, &process->mappings, process->id, rounds_now(), s->writer);
	return process;
}

/* ---- Living --------------------------------------------------------------------------------- */

/* State of slot i if it is the process's, else POOL_FREE. */
static enum pool_state state_of(const struct supervisor *s, const struct process *process,
				uint32_t i)
{
	uint64_t owner = __atomic_load_n(&pool_slot(s->pool, i)->owner, __ATOMIC_ACQUIRE);

	return pool_owner_pid(owner) == (uint32_t)process->pid ? pool_owner_state(owner) :
								 POOL_FREE;
}

/* Calls `what` for every slot on which a thread of the process has started LWP. */
static void for_slots(struct supervisor *s, const struct process *process,
		      void (*what)(struct supervisor *s, uint32_t i))
{
	for (uint32_t i = 0; i < pool_taken(s->pool); i++)
		if (state_of(s, process, i) > POOL_CLAIMED)
			what(s, i);
}

static void drain(struct supervisor *s, uint32_t i)
{
	if (ring_introduce(s, i))
		ring_drain(s, i, true);
}

/* A thread of the process that lives, as far as is known. */
static pid_t living_thread(const struct supervisor *s, const struct process *process)
{
	for (uint32_t i = 0; i < pool_taken(s->pool); i++)
		if (state_of(s, process, i) == POOL_LIVE)
			return (pid_t)pool_slot(s->pool, i)->tid;
	return process->pid;
}

/* The names that a living thread has now; a program usually sets them after the start. */
static void refresh_name(struct supervisor *s, uint32_t i)
{
	struct pool_slot *slot = pool_slot(s->pool, i);
	struct ring *ring = &s->rings[i];
	char path[96], comm[64];

	if (!ring->known)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", ring->process->pid, slot->tid);
	process_read_line(path, comm, sizeof(comm));
	if (comm[0])
		snprintf(ring->comm, sizeof(ring->comm), "%.15s", comm);
}

enum mappings_owner process_rescan(struct supervisor *s, struct process *process)
{
	enum mappings_owner owner;
	struct mappings now = { 0 };

	for_slots(s, process, drain);
	owner = mappings_read(&now, process->pid, living_thread(s, process), s->pool_inode,
			      &s->objects, s->writer);
	if (owner == MAPPINGS_OURS) {
		mappings_write_changes(&process->mappings, &now, process->id, rounds_now(),
				       s->writer);
		mappings_free(&process->mappings);
		process->mappings = now;
		for_slots(s, process, refresh_name);
	} else {
		mappings_free(&now);
	}
	return owner;
}

/* ---- Ending --------------------------------------------------------------------------------- */

/*
 * A just-in-time compiler's symbols, /tmp/perf-PID.map: the guest's /tmp goes, the profile stays. Not
 * a file that is older than this run and so belongs to another process of that pid.
 */
static void take_perf_map(struct supervisor *s, const struct process *process)
{
	struct lwpdata_perf_map map = { .process = process->id };
	char path[64];
	struct stat st;
	uint8_t *bytes;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", process->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_mtim.tv_sec >= s->started_realtime / 1000000000ull) {
		size_t size = (size_t)st.st_size;

		if (size > PERF_MAP_MAX) {
			size = PERF_MAP_MAX;
			map.flags = LWPDATA_PERF_MAP_CUT;
		}
		bytes = malloc(size);
		n = bytes ? read(fd, bytes, size) : 0;
		map.text = (struct lwpdata_bytes){ bytes, n > 0 ? (size_t)n : 0 };
		lwpdata_write_perf_map(s->writer, &map);
		free(bytes);
	}
	close(fd);
}

/* How it ended, as far as its slots tell. */
static uint32_t how_ended(const struct supervisor *s, const struct process *process)
{
	if (process->replaced)
		return LWPDATA_END_UNFOLLOWED;
	for (uint32_t i = 0; i < pool_taken(s->pool); i++)
		if (state_of(s, process, i) == POOL_EXECING)
			return LWPDATA_END_UNFOLLOWED;
	return LWPDATA_END_EXIT;
}

/* Only for slots whose threads are gone. */
static void release_slot(struct supervisor *s, uint32_t i)
{
	__atomic_store_n(&pool_slot(s->pool, i)->request, POOL_REQUEST_NONE, __ATOMIC_RELEASE);
	pool_release(s->pool, i);
}

static void finish_and_release(struct supervisor *s, uint32_t i)
{
	ring_finish(s, i, true);
	release_slot(s, i);
}

static void finish_running(struct supervisor *s, uint32_t i)
{
	ring_finish(s, i, false);
}

/* A process is over, or replaced by exec: keep_slot is its new program's, UINT32_MAX for none. */
static void end_process(struct supervisor *s, struct process *process, uint32_t how,
			uint32_t keep_slot)
{
	const struct lwpdata_process_end end = { .process = process->id,
						 .how = how,
						 .time = rounds_now() };
	struct process **link;

	for_slots(s, process, how == LWPDATA_END_RUNNING ? finish_running : finish_and_release);
	/* Those that it was about to start on are free again too, but not its successor's. */
	for (uint32_t i = 0; i < pool_taken(s->pool) && how != LWPDATA_END_RUNNING; i++)
		if (i != keep_slot && state_of(s, process, i) == POOL_CLAIMED)
			release_slot(s, i);
	take_perf_map(s, process);
	lwpdata_write_process_end(s->writer, &end);
	if (how == LWPDATA_END_UNFOLLOWED)
		s->stats.execs_unfollowed++;
	for (link = &s->processes; *link != process; link = &(*link)->next)
		;
	*link = process->next;
	ring_drop_guard(process);
	stacks_forget(process);
	if (process->pidfd >= 0)
		close(process->pidfd);
	mappings_free(&process->mappings);
	free(process);
}

static bool has_ended(const struct process *process)
{
	struct pollfd poll_fd = { .fd = process->pidfd, .events = POLLIN };

	if (process->pidfd < 0)
		return kill(process->pid, 0) < 0 && errno == ESRCH;
	return poll(&poll_fd, 1, 0) > 0;
}

void process_look_soon(struct process *process)
{
	if (process->sweep_at > process->swept_at + SWEEP_FULL)
		process->sweep_at = process->swept_at + SWEEP_FULL;
}

static void sweep(struct supervisor *s, struct process *process, uint64_t now)
{
	process->swept_at = now;
	process->sweep_at = now + process->sweep_interval;
	if (process->sweep_interval < SWEEP_MAX)
		process->sweep_interval *= 2;
	switch (process_rescan(s, process)) {
	case MAPPINGS_OURS:
		break;
	case MAPPINGS_FOREIGN:
		/*
		 * It has exec'ed: its threads are gone. The new program may still ask for a slot, and
		 * may even have claimed one since we looked; if it never does, it cannot be profiled.
		 */
		for_slots(s, process, finish_and_release);
		process->replaced = true;
		break;
	default:
		break;
	}
}

void processes_check(struct supervisor *s)
{
	uint32_t dl_calls = __atomic_load_n(&s->pool->dl_calls, __ATOMIC_RELAXED);
	uint64_t now = rounds_now();
	struct process *next;

	for (struct process *p = s->processes; p; p = next) {
		next = p->next;
		if (has_ended(p)) {
			end_process(s, p, how_ended(s, p), UINT32_MAX);
			continue;
		}
		/* The call has begun and may not have ended: look now and a little later. */
		if (dl_calls != s->dl_calls) {
			p->sweep_interval = SWEEP_MIN;
			p->sweep_at = now;
		}
		if (now >= p->sweep_at && !p->replaced)
			sweep(s, p, now);
	}
	s->dl_calls = dl_calls;
}

static bool has_in_environment(const char *pid, const char *assignment)
{
	char path[PATH_MAX], *text = NULL;
	bool found = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && getdelim(&text, &room, '\0', file) > 0)
		found = !strcmp(text, assignment);
	free(text);
	fclose(file);
	return found;
}

bool processes_with(const char *assignment)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (proc && !found && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			found = has_in_environment(entry->d_name, assignment);
	if (proc)
		closedir(proc);
	return found;
}

void processes_end_all(struct supervisor *s)
{
	struct process *next;

	for (struct process *p = s->processes; p; p = next) {
		uint32_t how;

		next = p->next;
		if (!has_ended(p) && !p->replaced)
			process_rescan(s, p);
		how = has_ended(p) || p->replaced ? how_ended(s, p) : LWPDATA_END_RUNNING;
		end_process(s, p, how, UINT32_MAX);
	}
}
