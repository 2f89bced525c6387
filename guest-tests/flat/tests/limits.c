// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers of the leaf that LLWPCB goes by: the smallest ring, the size of the block, the events that exist (43724-403).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define EVENTS 0x7eu

extern char lim_code[], lim_1[], lim_2[];

USER_CODE("lim_code: llwpcb %rax\n"
	  "lim_1: nop\n"
	  "lim_2: jmp 1f\n"
	  "1: user_exit\n");

LWP_TEST(limits)
{
	struct cpuid leaf = cpuid(LWP_CPUID_LEAF, 0);
	u32 size = (leaf.b & 0xff) * 8, records = least_records();
	struct block enough = { .size = records * RECORD_SIZE };
	struct block events = { .flags = EVENTS & ~leaf.d, .event = { { EV_IRE, 0, 0 } } };
	u64 last = CB_VA + PAGE_SIZE - size;

	lwp_go(l, &enough, lim_code);
	rule("43724-407", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "%u records are enough", records);

	lwp_go(l, &events, lim_code);
	rule("43724-402 43724-404", CERTAIN);
	report_eq(cb_flags(l) & EVENTS, 1u << EV_IRE, "no event is granted that the leaf lacks");
	rule("43724-402 43724-410", CHOICE);
	EXPECT_IRE(l, "and none recorded", lim_1, lim_2);

	rule("43724-104", CERTAIN);
	report(size >= cb_slot((leaf.b >> 16 & 0xff) + 1), "LwpCbSize %u holds LwpMaxEvents", size);
	lwp_prepare(l, &enough, lim_code);
	memcpy(l->cb + PAGE_SIZE - size, l->cb, size);
	l->u.r.rax = last;
	as_protect(l->cr3, CB_VA + PAGE_SIZE, PAGE_NONE);
	lwp_resume(l);
	rule("43724-613", RECALLED);
	report_eq(rdmsr(LWP_MSR_CBADDR), last,
		  "a block that ends with its page does not need the next one");
	lwp_stop();
	lwp_prepare(l, &enough, lim_code);
	memcpy(l->cb + PAGE_SIZE - size + 8, l->cb, size - 8);
	l->u.r.rax = last + 8;
	run_to_store_fault(l, PF_WRITE | PF_USER, CB_VA + PAGE_SIZE, (u64)lim_code,
			   "eight bytes further it does");
}
