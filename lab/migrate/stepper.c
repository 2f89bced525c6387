// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stopping a machine under KVM at a chosen step, from outside: neither KVM nor QEMU has anything for it, and
 * the guest does what it would do without.
 *
 * A perf event of the vCPU's thread counts one of KVM's tracepoints and sends the thread a signal when there
 * have been enough. KVM_RUN ends with it before the vCPU is entered again. As we trace the thread, it waits for
 * us there. Only when QEMU has been told to stop, which it lets the thread know by another signal, is the thread
 * let go; it then finds that it is to stop.
 */
#include "stepper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing"
/* QEMU's signal to vCPU threads, and the only one that they do not block */
#define SIG_VCPU SIGUSR1
/* QEMU's main thread is waiting for the vCPU if it has been in futex() for so long. */
#define WAITING_MS 20

/* #DB, #UD, #PF, IRET: exits of a vCPU that LWP steps; interrupts of the host are not among them */
static const struct tracepoint {
	const char *name, *filter;
} tracepoints[] = {
	[STEPPER_EXIT] = { "kvm/kvm_exit",
			   "exit_reason==0x41||exit_reason==0x46||exit_reason==0x4e||"
			   "exit_reason==0x74" },
	[STEPPER_BOUNDARY] = { "kvm_lwp/kvm_lwp_boundary", NULL },
};

static uint64_t tracepoint_id(const char *name)
{
	char path[256];
	uint64_t id;
	char *text;

	if (access(TRACING "/events", F_OK) && mount("tracefs", TRACING, "tracefs", 0, NULL))
		broken(TRACING ": %s", strerror(errno));
	snprintf(path, sizeof(path), TRACING "/events/%s/id", name);
	text = read_file(path, NULL);
	id = strtoull(text, NULL, 10);
	free(text);
	return id;
}

/* The thread of the first vCPU. */
static pid_t vcpu_thread(struct vm *vm)
{
	json_object *cpus = qmp_call(&vm->qmp, "query-cpus-fast", NULL), *id;
	pid_t tid;

	if (!cpus)
		vm_broken(vm);
	json_object_object_get_ex(json_object_array_get_idx(cpus, 0), "thread-id", &id);
	tid = json_object_get_int(id);
	json_object_put(cpus);
	return tid;
}

/* An event of a thread; @period 0: count only. It is not enabled yet. */
static int open_event(pid_t tid, enum stepper_event event, uint64_t period)
{
	const struct tracepoint *t = &tracepoints[event];
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = tracepoint_id(t->name),
		.sample_period = period,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		broken("perf event of %s: %s", t->name, strerror(errno));
	if (t->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, t->filter))
		broken("filter of %s: %s", t->name, strerror(errno));
	return fd;
}

int stepper_count(struct vm *vm)
{
	int fd = open_event(vcpu_thread(vm), STEPPER_EXIT, 0);

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

uint64_t stepper_counted(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		broken("a perf event cannot be read: %s", strerror(errno));
	return count;
}

static int open_alarm(pid_t tid, enum stepper_event event, uint64_t count)
{
	struct f_owner_ex owner = { F_OWNER_TID, tid };
	int fd = open_event(tid, event, count);

	if (fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) || fcntl(fd, F_SETSIG, SIG_VCPU) ||
	    fcntl(fd, F_SETOWN_EX, &owner) || ioctl(fd, PERF_EVENT_IOC_REFRESH, 1))
		broken("a perf event sends no signals: %s", strerror(errno));
	return fd;
}

/* A command beside us: it may wait for the thread, which waits for us. */
struct command {
	pthread_t thread;
	struct vm *vm;
	const char *name;
};

static void *command_thread(void *arg)
{
	struct command *c = arg;

	vm_try(c->vm, c->name, NULL);
	return NULL;
}

static void command_start(struct command *c, struct vm *vm, const char *name)
{
	c->vm = vm;
	c->name = name;
	if (pthread_create(&c->thread, NULL, command_thread, c))
		broken("no thread");
}

/* Has the thread a signal that it has not taken yet? */
static bool signal_waits(pid_t pid, pid_t tid)
{
	char path[64], *text, *line;
	unsigned long long mask;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	text = read_file(path, NULL);
	line = strstr(text, "\nSigPnd:");
	mask = line ? strtoull(line + strlen("\nSigPnd:"), NULL, 16) : 0;
	free(text);
	return mask >> (SIG_VCPU - 1) & 1;
}

static bool in_futex(pid_t pid)
{
	char path[64], *text;
	long number;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, pid);
	text = read_file(path, NULL);
	number = *text >= '0' && *text <= '9' ? strtol(text, NULL, 10) : -1;
	free(text);
	return number == SYS_futex;
}

/*
 * The vCPU is to stop: QEMU has said so by a signal, or, if one was on its way already, says nothing and waits.
 */
static void wait_for_stop(pid_t pid, pid_t tid)
{
	const struct timespec ms = { 0, 1000000 };
	int i, waiting = 0;

	for (i = 0; i < VM_PATIENCE * 1000; i++) {
		if (signal_waits(pid, tid) || waiting >= WAITING_MS)
			return;
		nanosleep(&ms, NULL);
		waiting = in_futex(pid) ? waiting + 1 : 0;
	}
	broken("QEMU does not stop its vCPU");
}

/*
 * Wait until the perf event's signal has stopped the thread; pass others on. One of QEMU's that was on its way
 * already has swallowed it: whether the event has been reached, its count says. False: the thread ends.
 */
static bool wait_for_alarm(pid_t tid, int fd, uint64_t count)
{
	int status;

	for (;;) {
		if (waitpid(tid, &status, __WALL) != tid)
			broken("a vCPU's thread is lost: %s", strerror(errno));
		if (!WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == SIG_VCPU && stepper_counted(fd) >= count)
			return true;
		/* Not a signal but the stop of a group, if there is an event. */
		ptrace(PTRACE_CONT, tid, NULL, status >> 16 ? 0 : WSTOPSIG(status));
	}
}

bool stepper_run(struct vm *vm, enum stepper_event event, uint64_t count)
{
	pid_t tid = vcpu_thread(vm);
	struct command command;
	int fd;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		broken("a vCPU's thread cannot be traced: %s", strerror(errno));
	fd = open_alarm(tid, event, count);
	command_start(&command, vm, "cont");
	if (!wait_for_alarm(tid, fd, count)) {
		pthread_join(command.thread, NULL);
		close(fd);
		return false;
	}
	pthread_join(command.thread, NULL);
	command_start(&command, vm, "stop");
	wait_for_stop(vm->pid, tid);
	if (ptrace(PTRACE_DETACH, tid, NULL, SIG_VCPU))
		broken("a vCPU's thread is not let go: %s", strerror(errno));
	pthread_join(command.thread, NULL);
	close(fd);
	return true;
}
