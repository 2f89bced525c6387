// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A ring that is taken away while records are due: the store raises #PF in the program, which sees SIGSEGV
 * with the ring's address, may run a handler meanwhile, and loses nothing (43724-815, 43724-816).
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "known.h"
#include "lwptest.h"

static struct lwptest t;
static volatile int faults;
static volatile uintptr_t fault_address, fault_rip;

static void give_back(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	faults++;
	fault_address = (uintptr_t)info->si_addr;
	fault_rip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	if (mprotect(t.ring, t.size, PROT_READ | PROT_WRITE))
		_Exit(1);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = give_back, .sa_flags = SA_SIGINFO };
	struct lwp_record rec;

	lwptest_need(IRE);
	sigaction(SIGSEGV, &action, NULL);
	lwptest_setup(&t, IRE, 99, 99, 65536);
	if (mprotect(t.ring, t.size, PROT_NONE))
		tap_error("cannot protect the ring");
	known_loop(t.block, 100000);
	tap(faults == 1, "one SIGSEGV (%d)", faults);
	tap(fault_address == (uintptr_t)t.ring, "its address is the ring's first missing byte");
	/* The 100th instruction is a jnz; the #PF comes before the next one, the dec. */
	tap(fault_rip == (uintptr_t)known_loop_begin, "its rIP is the next instruction");
	lwptest_record(&t, 0, &rec);
	tap(rec.event_id == IRE && rec.address == (uintptr_t)known_loop_begin + KNOWN_DEC,
	    "the record was kept and names the instruction that was due");
	tap(lwptest_records(&t) + lwptest_missed(&t) >= (2 * 100000 + 1) / 100,
	    "no record of the loop is lost: %llu", (unsigned long long)lwptest_records(&t));
	return tap_done();
}
