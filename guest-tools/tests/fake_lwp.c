// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests on machines without LWP: a library, preloaded before liblwprun.so, that catches the invalid
 * instructions LLWPCB rax and SLWPCB rax and keeps the current block of each thread. It counts nothing;
 * programs under test say when records are to be stored. This is the ring as 43724-801 to
 * 43724-803 describe it, and a fork child starts with LWP off, as in a new address space.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "fake_lwp.h"
#include "pool.h"

#define INSTRUCTION_SIZE 5
#define RECORD_SIZE 32

static const uint8_t llwpcb_rax[INSTRUCTION_SIZE] = { 0x8f, 0xe9, 0xf8, 0x12, 0xc0 };
static const uint8_t slwpcb_rax[INSTRUCTION_SIZE] = { 0x8f, 0xe9, 0xf8, 0x12, 0xc8 };

static __thread uint8_t *block;
static __thread pid_t block_pid; /* in which process it was set */

static uint8_t *current(void)
{
	return block_pid == (pid_t)syscall(SYS_getpid) ? block : NULL;
}

static void invalid_instruction(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const void *rip = (const void *)regs[REG_RIP];

	if (!memcmp(rip, llwpcb_rax, INSTRUCTION_SIZE)) {
		block = (uint8_t *)regs[REG_RAX];
		block_pid = (pid_t)syscall(SYS_getpid);
	} else if (!memcmp(rip, slwpcb_rax, INSTRUCTION_SIZE)) {
		regs[REG_RAX] = (greg_t)current();
	} else {
		signal(SIGILL, SIG_DFL);
		return;
	}
	regs[REG_RIP] += INSTRUCTION_SIZE;
}

/* Only in a profiled program: in lwprun itself a sanitizer may not have started yet. */
__attribute__((constructor)) static void install(int argc, char **argv, char **envp)
{
	struct sigaction action = {
		.sa_sigaction = invalid_instruction,
		.sa_flags = SA_SIGINFO,
	};

	for (; *envp; envp++) {
		if (!strncmp(*envp, POOL_ENV "=", strlen(POOL_ENV "=")))
			sigaction(SIGILL, &action, NULL);
		/* A program that takes long to load: lwprun looks at it before it has the pool. */
		if (!strncmp(*envp, "FAKE_LWP_DELAY=", strlen("FAKE_LWP_DELAY=")))
			usleep(200 * 1000);
	}
}

static uint32_t get32(unsigned int offset)
{
	return __atomic_load_n((uint32_t *)(void *)(block + offset), __ATOMIC_ACQUIRE);
}

static uint64_t *at64(unsigned int offset)
{
	return (uint64_t *)(void *)(block + offset);
}

void fake_lwp_evict(void)
{
	block = NULL;
}

void fake_lwp_records(unsigned int n)
{
	uint64_t caller = (uintptr_t)__builtin_return_address(0);
	uint64_t event = getenv("FAKE_LWP_VALUES") ? 1 : 2;

	while (n-- && current()) {
		uint64_t record[4] = { event, caller, n, 0 };
		uint32_t size = get32(4) & 0x0fffffff, head = get32(16), tail = get32(64);
		uint32_t next = head + RECORD_SIZE == size ? 0 : head + RECORD_SIZE;

		memcpy((uint8_t *)*at64(8) + head, record, sizeof(record));
		if (next == tail)
			++*at64(24);
		else
			__atomic_store_n((uint32_t *)(void *)(block + 16), next, __ATOMIC_RELEASE);
	}
}
