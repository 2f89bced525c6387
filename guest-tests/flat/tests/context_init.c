// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * INIT turns LWP off (43724-214): a processor that gets it while a profiled program runs on it comes back with LWP
 * off and LWP_CFG as after a reset. The program's context is the machine's: it is parked, and found where the program
 * goes on.
 */
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

extern char cin_start[], cin_spin[], cin_store[];

#define COUNT 0x1ffffffu
#define TURNS 100u

USER_CODE("cin_start: llwpcb %rax\n"
	  "user_exit\n"
	  "cin_spin: incl (%rdi)\n"
	  "pause\n"
	  "jmp cin_spin\n"
	  "cin_store: slwpcb %rbx\n"
	  "user_exit\n");

struct look {
	struct lwp *l;
	u64 cfg, cbaddr, found;
};

static void spin(void *arg)
{
	struct look *k = arg;

	k->cfg = rdmsr(LWP_MSR_CFG);
	write_cr3(k->l->cr3);
	k->l->u.r.rip = (u64)cin_spin;
	wrmsr(LWP_MSR_CFG, k->cfg & ~(1ul << EV_IRE));
	lwp_resume(k->l);
}

static void look(void *arg)
{
	struct look *k = arg;

	k->cfg = rdmsr(LWP_MSR_CFG);
	k->cbaddr = rdmsr(LWP_MSR_CBADDR);
	write_cr3(k->l->cr3);
	k->found = lwp_touch();
}

FLAT_TEST(context_init)
{
	static const struct block branches = { .event = { { EV_BRE, COUNT, COUNT } } };
	volatile u32 *flag;
	struct look k;
	struct lwp l;
	u64 cfg;

	smp_start();
	lwp_enable();
	lwp_map(&l, as_new());
	k.l = &l;
	flag = (volatile u32 *)l.data;
	write_cr3(l.cr3);
	lwp_go(&l, &branches, cin_start);
	write_cr3(kernel_cr3());
	*flag = 0;
	smp_run(1, spin, &k);
	while (*flag < TURNS)
		pause();
	cfg = k.cfg;
	smp_restart();
	smp_call(1, look, &k);
	report_eq(k.cfg, cfg, "LWP_CFG has its reset value");
	report_eq(k.cbaddr, 0, "LWP is off");
	report_eq(k.found, CB_VA, "the program's context is found in its address space");
	write_cr3(l.cr3);
	report_eq(lwp_touch(), CB_VA, "and on the other processor");
	user_init64(&l.u, (u64)cin_store, STACK_TOP);
	lwp_resume(&l);
	report(cb_counter(&l, EV_BRE) < COUNT, "the branches before INIT are not lost");
	lwp_stop();
}
