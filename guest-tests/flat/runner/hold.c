// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library for LD_PRELOAD that holds a store or an instruction fetch of the guest half way (kernel/hold.h). QEMU's
 * own code is not changed: the guest's page is protected in QEMU's address space, and the handler of the signal
 * waits. To hold a fetch after its first access, the processor's single step stops QEMU there.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <time.h>
#include "hold.h"

#define PAGE 4096
#define STEP_FLAG 0x100 /* RFLAGS.TF */
#define FAULT_STORE 0x2 /* in the error code of a page fault */
#define MS 1000000l /* in ns */

static struct hold *box;
/* The page that is watched, and how it was. */
static char *page, before[PAGE];
static volatile enum hold_what what;
static volatile bool fetching;

static void protect(int rights)
{
	if (mprotect(page, PAGE, rights))
		abort();
}

static u32 get(const u32 *field)
{
	return __atomic_load_n(field, __ATOMIC_SEQ_CST);
}

static void set(u32 *field, u32 value)
{
	__atomic_store_n(field, value, __ATOMIC_SEQ_CST);
}

static bool released(void)
{
	return get(&box->release);
}

static bool fetch_is_held(void)
{
	return fetching;
}

static bool changed(void)
{
	return memcmp(before, page, PAGE) != 0;
}

static void wait_until(bool (*done)(void))
{
	const struct timespec little = { .tv_nsec = MS / 50 };
	struct timespec start, now;
	unsigned long ms = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!done() && ms < get(&box->limit_ms)) {
		nanosleep(&little, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		ms = (unsigned long)((now.tv_sec - start.tv_sec) * 1000 +
				     (now.tv_nsec - start.tv_nsec) / MS);
	}
	if (!done())
		set(&box->expired, 1);
}

static void on_access(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	char *at = info->si_addr;

	if (what == HOLD_NOTHING || at < page || at >= page + PAGE) {
		/* Not ours: happens again, and ends the process. */
		signal(SIGSEGV, SIG_DFL);
		return;
	}
	if (uc->uc_mcontext.gregs[REG_ERR] & FAULT_STORE) {
		set(&box->held, 1);
		wait_until(what == HOLD_STORE ? released : fetch_is_held);
		protect(PROT_READ | PROT_WRITE);
		return;
	}
	/* A vCPU's thread blocks most signals. */
	sigdelset(&uc->uc_sigmask, SIGTRAP);
	uc->uc_mcontext.gregs[REG_EFL] |= STEP_FLAG;
	protect(what == HOLD_FETCH ? PROT_READ | PROT_WRITE : PROT_READ);
}

/* The first access of the fetch is done. */
static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_EFL] &= ~STEP_FLAG;
	fetching = true;
	set(&box->held, 1);
	wait_until(changed);
}

/* Where the guest's memory is: the machine has a memory backend of this name. */
static char *find_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], *memory = NULL;

	while (maps && !memory && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "/memfd:memory-backend-memfd"))
			memory = (char *)strtoul(line, NULL, 16);
	}
	if (maps)
		fclose(maps);
	return memory;
}

static void *serve(void *arg)
{
	const struct timespec little = { .tv_nsec = MS / 20 };
	char *memory;

	while (!(memory = find_memory()))
		nanosleep(&little, NULL);
	box = (struct hold *)(memory + HOLD_ADDRESS);
	for (;; nanosleep(&little, NULL)) {
		enum hold_what wanted;

		if (__atomic_load_n(&box->ready, __ATOMIC_SEQ_CST) != HOLD_READY)
			continue;
		set(&box->present, 1);
		wanted = get(&box->what);
		if (wanted == HOLD_NOTHING)
			continue;
		page = memory + box->page;
		memcpy(before, page, PAGE);
		fetching = false;
		what = wanted;
		protect(wanted == HOLD_STORE ? PROT_READ : PROT_NONE);
		set(&box->what, HOLD_NOTHING);
	}
	return arg;
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction access = { .sa_sigaction = on_access, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	pthread_t thread;

	/* Not for the programs that QEMU starts. */
	unsetenv("LD_PRELOAD");
	if (sigaction(SIGSEGV, &access, NULL) || sigaction(SIGTRAP, &step, NULL) ||
	    pthread_create(&thread, NULL, serve, NULL))
		abort();
}
