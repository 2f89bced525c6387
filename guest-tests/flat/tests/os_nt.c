// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `os` contexts as NT has them (docs/cpu.md): XCR0 is what CPUID D.0 announces and winnt.h allows. Switches of threads
 * save and restore all of it; what is not persistent may be initialised besides. LWP_CFG is 0 until a driver writes it.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"
#include "xsave.h"

#define ALLOWED (BV_LWP | 0x9ff) /* XSTATE_MASK_ALLOWED */
#define PERSISTENT (BV_LWP | 1ul << 4) /* XSTATE_MASK_PERSISTENT */

extern char nt_run[], nt_val[], nt_ins[];

USER_CODE("nt_run:\n"
	  "nt_val: lwpval $7, %ecx, %rax\n"
	  "nt_ins: lwpins $7, %ecx, %rax\n"
	  "user_exit\n");

/* Of two threads, of one that never uses LWP, and initial values. */
static u8 areas[4][PAGE_SIZE] __attribute__((aligned(64)));
static u64 enabled;
static u32 current;

static void run(struct lwp *l, u32 thread, const char *code)
{
	xsave_of(areas[current], enabled);
	xrstor_of(areas[thread], enabled);
	current = thread;
	l->u.r.rax = CB_VA + thread * SECOND;
	l->u.r.rcx = thread;
	lwp_run(l, code);
	xrstor_of(areas[3], enabled & ~PERSISTENT);
}

static void expect_own(struct lwp *l, u64 cfg, u32 thread, u32 turns)
{
	struct rec r = { .flags = 7, .data1 = thread, .data2 = CB_VA + thread * SECOND };
	u32 each = cfg ? 2 : 1, first = thread * (SECOND_RING - RING_VA) / RECORD_SIZE;

	run(l, thread, lwp_slwpcb);
	report_eq(l->u.r.rbx, r.data2, "LWP_CFG %lx: thread %u is on", cfg, thread);
	report_eq(lwp_get32(l->cb + thread * SECOND + LWP_CB_HEAD), turns * each * RECORD_SIZE,
		  "and its records");
	for (u32 i = 0; i < turns * each; i++) {
		r.id = cfg && !(i & 1) ? EV_VAL : EV_INS;
		r.address = (u64)(r.id == EV_VAL ? nt_val : nt_ins);
		expect_record(l, first + i, r, "record %u", i);
	}
}

static void profile(struct lwp *l, u64 cfg)
{
	struct block b = { .event = { { EV_VAL, 0, 0 } } };

	wrmsr(LWP_MSR_CFG, cfg);
	memset(areas, 0, sizeof(areas));
	lwp_prepare(l, &b, lwp_on);
	b.base = SECOND_RING;
	block_write_at(l, SECOND, &b);
	run(l, 0, lwp_on);
	run(l, 1, lwp_on);
	for (u32 i = 0; i < 9; i++)
		run(l, i % 3 > 0, nt_run);
	expect_own(l, cfg, 0, 3);
	expect_own(l, cfg, 1, 6);
	run(l, 2, lwp_slwpcb);
	report_eq(l->u.r.rbx, 0, "a thread that has never used LWP has none");
}

FLAT_TEST(os_nt)
{
	struct cpuid d0 = cpuid(0xd, 0);
	struct lwp l;

	enabled = ((u64)d0.d << 32 | d0.a) & ALLOWED;
	write_cr4(read_cr4() | CR4_OSXSAVE);
	rule("43724-113 43724-301", CERTAIN);
	report_eq(try_xsetbv(0, enabled), NO_FAULT, "XCR0: all that is announced and allowed");
	report(enabled & BV_LWP && cpuid(0xd, 0).b <= PAGE_SIZE, "LWP is among it");
	lwp_map(&l, kernel_cr3());
	rule("43724-108 43724-901", RECALLED);
	profile(&l, 0);
	rule("43724-901", CERTAIN);
	profile(&l, cpuid(LWP_CPUID_LEAF, 0).d & ~LWP_F_INT);
}
