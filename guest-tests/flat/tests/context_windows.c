// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `auto` contexts of threads that are switched the way 64-bit Windows does (docs/design.md#contexts): FS base
 * is the same for all threads, the thread's block is at GS. The kernel writes the next thread's GS base to
 * KernelGSBase, and SWAPGS before the return to CPL 3 puts it into GS (43724-902). Linux writes it by
 * WRGSBASE between two SWAPGS (43724-907).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define KERNEL_GS 0xfffff78000001000ul
#define GS_ONE 0x7ffde000ul
#define GS_TWO 0x7ffdc000ul

static void swapgs(void)
{
	asm volatile("swapgs" : : : "memory");
}

static bool by_wrgsbase;

/* In the kernel, whose own GS base is in GS: the next thread to run is the one with this GS base. */
static void switch_thread(u64 gs)
{
	if (by_wrgsbase)
		asm volatile("swapgs; wrgsbase %0; swapgs" : : "r"(gs) : "memory");
	else
		wrmsr(MSR_KERNEL_GS_BASE, gs);
}

/* The thread runs until it enters the kernel. */
static void run(struct lwp *l, const char *code)
{
	l->u.r.rip = (u64)code;
	swapgs();
	lwp_resume(l);
	swapgs();
}

static u64 query(struct lwp *l)
{
	run(l, lwp_slwpcb);
	return l->u.r.rbx;
}

static void test_threads(struct lwp *l)
{
	struct block two = { .base = SECOND_RING, .event = { { EV_IRE, 0, 0 } } };

	switch_thread(GS_ONE);
	lwp_prepare(l, every_insn(), lwp_on);
	block_write_at(l, SECOND, &two);
	run(l, lwp_on);
	run(l, lwp_nop_1);
	switch_thread(GS_TWO);
	report_eq(query(l), 0, "another thread, known by its GS base alone: LWP is off there");
	l->u.r.rax = CB_VA + SECOND;
	run(l, lwp_on);
	run(l, lwp_nop_1);
	run(l, lwp_nop_1);
	switch_thread(GS_ONE);
	run(l, lwp_nop_1);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "the first thread's LWP is on again");
	switch_thread(GS_TWO);
	report_eq(query(l), CB_VA + SECOND, "the second thread's too");
	report_eq(lwp_get32(l->cb + SECOND + LWP_CB_HEAD), 5 * RECORD_SIZE,
		  "the second thread has 5 records");
	report_eq(lwp_get64(l->ring + 2 * PAGE_SIZE + 8), (u64)lwp_nop_1, "in its own ring");
	EXPECT_IRE(l, "the first thread has 4", lwp_nop_1, lwp_nop_2, lwp_nop_1, lwp_nop_2);
}

/* Switches in the kernel that end with the same thread change nothing, and neither does SWAPGS. */
static void test_counts(struct lwp *l)
{
	switch_thread(GS_ONE);
	lwp_stop();
	lwp_prepare(l, EVENT(EV_IRE, 2, 2), lwp_on);
	run(l, lwp_on);
	for (u32 i = 0; i < 6; i++) {
		run(l, lwp_nop_1);
		swapgs();
		swapgs();
		if (i & 1)
			switch_thread(GS_TWO);
		switch_thread(GS_ONE);
	}
	EXPECT_IRE(l, "12 instructions, interval 2, a switch away and back after every fourth",
		   lwp_nop_1, lwp_nop_2, lwp_nop_1, lwp_nop_2);
}

/*
 * The next thread's GS base is written to GS itself, and KernelGSBase has that of the thread before. In the kernel either
 * may be the program's; at CPL 3 it is GS.
 */
static void test_gs_itself(struct lwp *l)
{
	switch_thread(GS_ONE);
	report_eq(query(l), CB_VA, "the first thread's LWP is on");
	wrmsr(MSR_GS_BASE, GS_TWO);
	lwp_run(l, lwp_slwpcb);
	report_eq(l->u.r.rbx, 0, "without SWAPGS another thread runs, which has no LWP");
	wrmsr(MSR_GS_BASE, KERNEL_GS);
	report_eq(query(l), CB_VA, "and with SWAPGS the first");
}

/* As long as the kernel has not executed SWAPGS, the program's GS base is in GS. */
static void test_before_swapgs(struct lwp *l)
{
	switch_thread(GS_ONE);
	report_eq(query(l), CB_VA, "the first thread's LWP is on");
	swapgs();
	write_cr3(l->cr3);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "CR3 as before: its context stays live");
	swapgs();
	write_cr3(l->cr3);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "after SWAPGS, too");
}

/* The kernel has chosen the next thread and has not entered it yet. */
static void test_in_kernel(struct lwp *l)
{
	switch_thread(GS_ONE);
	report_eq(query(l), CB_VA, "the first thread's LWP is on");
	switch_thread(GS_TWO);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0,
		  "KernelGSBase of the next thread: LWP of the first is off in the kernel");
	switch_thread(GS_ONE);
	report_eq(query(l), CB_VA, "back before CPL 3: it is on there");
}

LWP_TEST(context_windows)
{
	u64 per_cpu = rdmsr(MSR_KERNEL_GS_BASE);

	rule("43724-902 43724-903 43724-904 43724-907", CHOICE);
	do {
		wrmsr(MSR_FS_BASE, 0x53000 + by_wrgsbase);
		wrmsr(MSR_GS_BASE, KERNEL_GS);
		test_threads(l);
		test_counts(l);
		test_gs_itself(l);
		test_before_swapgs(l);
		test_in_kernel(l);
	} while (!by_wrgsbase && (by_wrgsbase = fsgsbase_on()));
	wrmsr(MSR_GS_BASE, 0);
	wrmsr(MSR_KERNEL_GS_BASE, per_cpu);
	wrmsr(MSR_FS_BASE, 0);
}
