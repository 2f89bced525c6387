// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of threads that wait, by elfutils' libdwfl. */
#include <elfutils/libdwfl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "lwp_types.h"
#include "unwind.h"

#define DEPTH_MAX 256

struct walk {
	Dwfl *dwfl;
	uint8_t addresses[DEPTH_MAX * sizeof(uint64_t)];
	uint32_t nr;
	bool unknown; /* an address is in no file that is known */
};

/* Rules for frames are in the files themselves; nothing is looked for elsewhere, least of all in the network. */
static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path)
{
	return -1;
}

static Dwfl *make_unwinder(pid_t pid)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (dwfl && !dwfl_linux_proc_report(dwfl, pid) && !dwfl_report_end(dwfl, NULL, NULL) &&
	    !dwfl_linux_proc_attach(dwfl, pid, true))
		return dwfl;
	dwfl_end(dwfl);
	return NULL;
}

static int add_frame(Dwfl_Frame *frame, void *to)
{
	struct walk *walk = to;
	Dwarf_Addr pc;
	bool innermost;

	if (walk->nr == DEPTH_MAX || !dwfl_frame_pc(frame, &pc, &innermost))
		return DWARF_CB_ABORT;
	if (!innermost)
		pc--; /* in the call, which may be its function's last instruction */
	walk->unknown |= !dwfl_addrmodule(walk->dwfl, pc);
	lwp_put64(walk->addresses + sizeof(pc) * walk->nr++, pc);
	return DWARF_CB_OK;
}

static void walk_thread(struct process *process, pid_t tid, struct walk *walk)
{
	*walk = (struct walk){ .dwfl = process->unwinder };
	if (walk->dwfl)
		dwfl_getthread_frames(walk->dwfl, tid, add_frame, walk);
}

/* Wait until it has stopped, and give it back the signal that came instead. False: it has ended. */
static bool stopped(const struct supervisor *s, pid_t tid, int *signal)
{
	siginfo_t info;
	int status;

	if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL))
		return false;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
		if (tid != s->child) /* whose status is waited for elsewhere */
			waitpid(tid, NULL, __WALL);
		return false;
	}
	waitpid(tid, &status, __WALL);
	*signal = status >> 16 ? 0 : WSTOPSIG(status);
	return true;
}

bool stack_take(struct supervisor *s, uint32_t i)
{
	struct ring *ring = &s->rings[i];
	struct process *process = ring->process;
	pid_t tid = (pid_t)pool_slot(s->pool, i)->tid;
	struct lwpdata_stack stack = { ring->thread, ring->no_stack, rounds_now(), { 0 } };
	struct walk walk;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
	    !stopped(s, tid, &ring->signal))
		return false;
	walk_thread(process, tid, &walk);
	/* A file may be new, but code that no file has stays so: look again if the mappings were. */
	if (!walk.dwfl || (walk.unknown && process->swept_at > process->unwinder_made)) {
		stacks_forget(process);
		process->unwinder = make_unwinder(process->pid);
		process->unwinder_made = rounds_now();
		walk_thread(process, tid, &walk);
	}
	if (walk.nr) {
		stack.addresses.data = walk.addresses;
		stack.addresses.size = walk.nr * sizeof(uint64_t);
		lwpdata_write_stack(s->writer, &stack);
		s->nr_stacks++;
		ring->no_stack = 0;
	}
	return true;
}

void stack_release(struct supervisor *s, uint32_t i)
{
	ptrace(PTRACE_DETACH, (pid_t)pool_slot(s->pool, i)->tid, NULL, (long)s->rings[i].signal);
}

void stacks_forget(struct process *process)
{
	dwfl_end(process->unwinder);
	process->unwinder = NULL;
}
