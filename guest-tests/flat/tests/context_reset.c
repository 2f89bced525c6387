// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Machine reset turns LWP off (43724-214) and drops all `auto` contexts, also of threads that do not run: after one, with
 * the same memory at the same place and the same key, nothing is found. The test resets the machine once; its own state
 * lies above the memory that the kernel allocates from (43724-207, 43724-905).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define KEPT 0x3d00000ul /* 61 MiB */
#define MAGIC 0x766c77702d727374ul
#define RESET_PORT 0xcf9
#define RESET_FULL 0x06

struct kept {
	u64 magic, cr3, cfg;
	u8 cb[PAGE_SIZE], ring[PAGE_SIZE];
};

/* The thread's context waits for it. */
static void switch_away(void)
{
	struct lwp other;

	lwp_map(&other, as_new());
	if (lwp_touch_in(other.cr3))
		bail("another address space has LWP on");
}

static void before(struct lwp *l, struct kept *kept)
{
	lwp_go(l, every_insn(), lwp_start);
	if (rdmsr(LWP_MSR_CBADDR) != CB_VA)
		bail("LWP did not continue");
	kept->cr3 = l->cr3;
	kept->cfg = rdmsr(LWP_MSR_CFG);
	memcpy(kept->cb, l->cb, PAGE_SIZE);
	memcpy(kept->ring, l->ring, PAGE_SIZE);
	kept->magic = MAGIC;
	if (!option_is("context", "os"))
		switch_away();
	wrmsr(LWP_MSR_CFG, 0);
	outb(RESET_PORT, RESET_FULL);
	for (;;)
		pause();
}

static void after(struct lwp *l, struct kept *kept)
{
	kept->magic = 0;
	report_eq(l->cr3, kept->cr3, "the address space has the same key again");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "LWP is off after a reset");
	report_eq(rdmsr(LWP_MSR_CFG), kept->cfg, "LWP_CFG has its reset value");
	memcpy(l->cb, kept->cb, PAGE_SIZE);
	memcpy(l->ring, kept->ring, PAGE_SIZE);
	report_eq(lwp_touch_in(l->cr3), 0, "no context is found although its memory is intact");
	user_init64(&l->u, (u64)lwp_nop_1, STACK_TOP);
	lwp_resume(l);
	expect_head(l, 2 * RECORD_SIZE, "nothing is recorded");
}

FLAT_TEST(context_reset)
{
	struct kept *kept = (struct kept *)KEPT;
	struct lwp l;

	/* `os` contexts: the reset leaves nothing that the last system has enabled. */
	if (option_is("context", "os") && kept->magic == MAGIC) {
		report_eq(rdmsr(LWP_MSR_CFG), 0, "LWP_CFG is 0");
		report_eq(cpuid(LWP_CPUID_LEAF, 0).a, 0, "8000_001C EAX is 0: XCR0[62] is clear");
	}
	lwp_init(&l);
	if (kept->magic == MAGIC)
		after(&l, kept);
	else
		before(&l, kept);
}
