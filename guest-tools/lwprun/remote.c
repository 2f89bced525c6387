// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions that a stopped thread executes for its tracer. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "pool.h"
#include "remote.h"

/* Our page: each instruction is followed by INT3; then there is room for a path. */
enum { CODE_SYSCALL = 0, CODE_LLWPCB = 8, CODE_SLWPCB = 16, CODE_PATH = 64 };
static const uint8_t page[24] = "\x0f\x05\xcc\0\0\0\0\0"
				"\x8f\xe9\xf8\x12\xc0\xcc\0\0"
				"\x8f\xe9\xf8\x12\xc8\xcc\0"; /* and one more 0 */
#define WORD sizeof(long)

bool remote_begin(struct remote *r, pid_t tid)
{
	uint64_t all = ~0ull;

	*r = (struct remote){ .tid = tid };
	return ptrace(PTRACE_GETREGS, tid, NULL, &r->regs) == 0 &&
	       ptrace(PTRACE_GETSIGMASK, tid, sizeof(r->signals), &r->signals) == 0 &&
	       ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all) == 0;
}

void remote_end(struct remote *r)
{
	ptrace(PTRACE_SETREGS, r->tid, NULL, &r->regs);
	ptrace(PTRACE_SETSIGMASK, r->tid, sizeof(r->signals), &r->signals);
}

/* `size` is a multiple of WORD. */
static void peek(struct remote *r, uint64_t address, void *to, size_t size)
{
	for (size_t i = 0; i < size; i += WORD) {
		long word = ptrace(PTRACE_PEEKTEXT, r->tid, (void *)(uintptr_t)(address + i), NULL);

		memcpy((uint8_t *)to + i, &word, WORD);
	}
}

static void poke(struct remote *r, uint64_t address, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i += WORD) {
		long word;

		memcpy(&word, (const uint8_t *)from + i, WORD);
		ptrace(PTRACE_POKETEXT, r->tid, (void *)(uintptr_t)(address + i), word);
	}
}

/* Run from regs->rip to the next INT3. Signals are blocked; whatever else stops it is passed over. */
static bool run(struct remote *r, struct user_regs_struct *regs)
{
	int status = 0;

	/* No system call is restarted. */
	regs->orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, r->tid, NULL, regs) < 0)
		return false;
	do {
		if (ptrace(PTRACE_CONT, r->tid, NULL, NULL) < 0 ||
		    waitpid(r->tid, &status, __WALL) != r->tid || !WIFSTOPPED(status))
			return false;
	} while (status >> 8 != SIGTRAP);
	return ptrace(PTRACE_GETREGS, r->tid, NULL, regs) == 0;
}

static int64_t syscall_at(struct remote *r, uint64_t rip, long number, const uint64_t args[6])
{
	struct user_regs_struct regs = r->regs;

	regs.rip = rip;
	regs.rax = (unsigned long long)number;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	return run(r, &regs) ? (int64_t)regs.rax : -ESRCH;
}

int64_t remote_map_code(struct remote *r, uint64_t *code)
{
	const uint64_t args[6] = {
		0, POOL_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0
	};
	uint8_t own[WORD], padded[(sizeof(page) + WORD - 1) / WORD * WORD] = { 0 };
	int64_t result;

	memcpy(padded, page, sizeof(page));
	peek(r, r->regs.rip, own, sizeof(own));
	poke(r, r->regs.rip, page + CODE_SYSCALL, WORD);
	result = syscall_at(r, r->regs.rip, SYS_mmap, args);
	poke(r, r->regs.rip, own, sizeof(own));
	if (result < 0 && result > -4096)
		return result;
	poke(r, (uint64_t)result, padded, sizeof(padded));
	r->code = *code = (uint64_t)result;
	return 0;
}

int64_t remote_syscall(struct remote *r, long number, uint64_t a, uint64_t b, uint64_t c,
		       uint64_t d, uint64_t e)
{
	const uint64_t args[6] = { a, b, c, d, e, 0 };

	return syscall_at(r, r->code + CODE_SYSCALL, number, args);
}

int64_t remote_open(struct remote *r, const char *path, int flags)
{
	char padded[128] = { 0 };

	strncpy(padded, path, sizeof(padded) - 1);
	poke(r, r->code + CODE_PATH, padded, sizeof(padded));
	return remote_syscall(r, SYS_openat, (uint64_t)AT_FDCWD, r->code + CODE_PATH,
			      (uint64_t)flags, 0, 0);
}

uint64_t remote_slwpcb(struct remote *r)
{
	struct user_regs_struct regs = r->regs;

	regs.rip = r->code + CODE_SLWPCB;
	return run(r, &regs) ? regs.rax : 0;
}

void remote_llwpcb(struct remote *r, uint64_t block)
{
	struct user_regs_struct regs = r->regs;

	regs.rip = r->code + CODE_LLWPCB;
	regs.rax = block;
	run(r, &regs);
}
