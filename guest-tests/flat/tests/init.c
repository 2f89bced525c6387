// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * INIT of a processor with a live context, in its kernel and at CPL 3: LWP is off, LWP_CFG has its reset value, nothing is
 * flushed and nothing is found again (43724-214, 43724-207). What is parked stays (43724-905).
 */
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

extern char ini_start[], ini_spin[], ini_query[];

/* The loop is slow: its event must not become due while processor 0 waits for its host. */
USER_CODE("ini_start: llwpcb %rax\n"
	  "nop\n"
	  "user_exit\n"
	  "ini_spin: llwpcb %rax\n"
	  "movl $1, (%rdi)\n"
	  "1: pause\n"
	  "jmp 1b\n"
	  "ini_query: slwpcb %rbx\n"
	  "user_exit\n");

static const struct block quiet = { .event = { { EV_IRE, 0x1ffffff, 0x1ffffff } } };
static u64 reset_cfg, cfg, cbaddr;

static void first(void *arg)
{
	reset_cfg = rdmsr(LWP_MSR_CFG);
	lwp_enable();
}

static void program(void *arg)
{
	struct lwp *l = arg;

	write_cr3(l->cr3);
	user_run(&l->u);
}

/* After INIT, in the same address space. */
static void look(void *arg)
{
	struct lwp *l = arg;

	cfg = rdmsr(LWP_MSR_CFG);
	cbaddr = rdmsr(LWP_MSR_CBADDR);
	lwp_enable();
	write_cr3(l->cr3);
	user_init64(&l->u, (u64)ini_query, STACK_TOP);
	user_run(&l->u);
	if (user_exited(&l->u))
		lwp_try(l, lwp_nop_2);
	write_cr3(kernel_cr3());
}

static void expect_off(struct lwp *l, const char *where)
{
	smp_init_others();
	smp_start();
	smp_call(1, look, l);
	report_push("%s", where);
	report_eq(cfg, reset_cfg, "LWP_CFG has its reset value");
	report_eq(cbaddr, 0, "LWP_CBADDR is 0");
	report_eq(l->u.r.rbx, 0, "the program has no LWP");
	report_eq(cb_counter(l, EV_IRE), 0x1ffffff, "nothing is flushed");
	expect_head(l, 0, "nothing is stored");
	report_pop();
}

FLAT_TEST(init)
{
	bool os = option_is("context", "os");
	struct lwp l, parked;

	rule("43724-214", CHOICE);
	smp_start();
	smp_call(1, first, NULL);
	lwp_enable();
	lwp_map(&parked, as_new());
	lwp_map(&l, as_new());

	if (!os) {
		write_cr3(parked.cr3);
		lwp_go(&parked, &quiet, ini_start);
		write_cr3(kernel_cr3());
	}
	block_write(&l, &quiet);
	user_init64(&l.u, (u64)ini_start, STACK_TOP);
	l.u.r.rax = CB_VA;
	smp_call(1, program, &l);
	expect_off(&l, "INIT in its kernel");
	ask("Q41", "43724-214", "LWP_CFG after INIT is", "reset",
	    cfg == reset_cfg ? "reset" : "kept");
	ask("Q42", "43724-214", "LWP_CBADDR after INIT is", "0", cbaddr ? "kept" : "0");

	block_write(&l, &quiet);
	user_init64(&l.u, (u64)ini_spin, STACK_TOP);
	l.u.r.rax = CB_VA;
	l.u.r.rdi = DATA_VA;
	*(volatile u32 *)l.data = 0;
	smp_run(1, program, &l);
	while (!*(volatile u32 *)l.data)
		pause();
	expect_off(&l, "INIT at CPL 3");

	if (os)
		return;
	report_eq(lwp_touch_in(parked.cr3), CB_VA, "a parked context is still there");
	write_cr3(kernel_cr3());
}
