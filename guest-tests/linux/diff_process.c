// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random programs of the flat suite in a process, at the addresses of its kernel: diff_process SEED FIRST COUNT. What each
 * leaves in memory is a line as that of the flat test `diff` with process=1. The process is a static one, so that
 * nothing else lies there.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "diff.h"

#define PAGE_SIZE 4096ul
#define UD2 "\x0f\x0b"

static struct diff_program program;
static sigjmp_buf back;
static volatile u64 stopped_at;

bool rev07(void)
{
	return false;
}

void print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

void bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static u8 *map(u64 at, u32 pages)
{
	void *memory = mmap((void *)at, pages * PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (memory == MAP_FAILED)
		bail("no memory at %lx", at);
	return memory;
}

static void stopped(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;

	stopped_at = (u64)at->uc_mcontext.gregs[REG_RIP];
	siglongjmp(back, signal);
}

/* From registers as lwp_prepare() sets them; ends by a signal. */
static _Noreturn void enter(void)
{
	asm volatile("push $0x202; popf\n"
		     "mov %0, %%rsp\n"
		     "mov %1, %%rax\n"
		     "mov %2, %%rdi\n"
		     "mov %3, %%r13\n"
		     ".irp r, rbx, rcx, rdx, rsi, rbp, r8, r9, r10, r11, r12, r14, r15\n"
		     "mov $0, %%\\r\n"
		     ".endr\n"
		     "jmp %c4"
		     :
		     : "i"(STACK_TOP), "i"(CB_VA), "i"(DATA_VA), "i"(DIFF_APIC_VA),
		       "i"(DIFF_CODE_VA));
	__builtin_unreachable();
}

static void run(struct lwp *l, u32 seed, u32 n)
{
	u64 end;

	diff_generate(&program, seed, n);
	end = DIFF_CODE_VA + program.length - 2;
	memcpy(program.code + program.length - 2, UD2, 2); /* for the exit gate */
	memset(l->data, 0x5a, DATA_PAGES * PAGE_SIZE);
	memset(l->stack, 0, STACK_PAGES * PAGE_SIZE);
	memset(l->ring, RING_FILL, RING_PAGES * PAGE_SIZE);
	block_write(l, &program.block);
	if (!sigsetjmp(back, 1))
		enter();
	if (stopped_at != end)
		bail("program %u stops at %lx, and not at its end, %lx", n, stopped_at, end);
	diff_dump(l, n, HASH_START, 0);
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGILL, SIGSEGV, SIGFPE, SIGTRAP, SIGBUS };
	static u8 alternate[65536];
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = { .sa_sigaction = stopped, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct lwp l = {
		.cb = map(CB_VA, CB_PAGES),
		.ring = map(RING_VA, RING_PAGES),
		.data = map(DATA_VA, DATA_PAGES),
		.stack = map(STACK_VA, STACK_PAGES),
	};
	u32 seed, first, count;

	if (argc != 4)
		bail("usage: diff_process SEED FIRST COUNT");
	seed = (u32)strtoul(argv[1], NULL, 0);
	first = (u32)strtoul(argv[2], NULL, 0);
	count = (u32)strtoul(argv[3], NULL, 0);
	program = (struct diff_program){
		.process = true,
		.code = map(DIFF_CODE_VA, DIFF_CODE_PAGES),
		.room = DIFF_CODE_PAGES * PAGE_SIZE - 64,
	};
	sigaltstack(&stack, NULL);
	for (u32 i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	for (u32 n = first; n < first + count; n++)
		run(&l, seed, n);
	return 0;
}
