// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers of the leaf that LLWPCB goes by, with lwp-min-buffer=4 and lwp-max-events=2: the smallest ring,
 * the size of the block, the events that exist (43724-402 to 43724-404, 43724-407).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

/* (128 + 2 * 8) bytes */
#define BLOCK_SIZE 144u

extern char lim_code[], lim_1[], lim_2[];

USER_CODE("lim_code: llwpcb %rax\n"
	  "lim_1: nop\n"
	  "lim_2: jmp 1f\n"
	  "1: user_exit\n");

LWP_TEST(limits)
{
	static const struct block enough = { .size = 128 * RECORD_SIZE };
	static const struct block less = { .size = 128 * RECORD_SIZE - 1 };
	static const struct block events = { .size = 128 * RECORD_SIZE,
					     .event = { { EV_IRE, 0, 0 }, { EV_BRE, 0, 0 } } };

	lwp_go(l, &enough, lim_code);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LwpMinBufferSize 4: 128 records are enough");
	lwp_prepare(l, &less, lim_code);
	run_to_fault(l, VEC_GP, 0, (u64)lim_code, "LwpMinBufferSize 4: 127 records give #GP(0)");

	lwp_go(l, &events, lim_code);
	report_eq(cb_flags(l), 1u << EV_IRE, "LwpMaxEvents 2: event 3 is not granted");
	EXPECT_RECORDS(l, "and not recorded", REC_IRE(lim_1), REC_IRE(lim_2));

	lwp_prepare(l, &enough, lim_code);
	memcpy(l->cb + PAGE_SIZE - BLOCK_SIZE, l->cb, BLOCK_SIZE);
	l->u.r.rax = CB_VA + PAGE_SIZE - BLOCK_SIZE;
	as_protect(l->cr3, CB_VA + PAGE_SIZE, PAGE_NONE);
	lwp_resume(l);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA + PAGE_SIZE - BLOCK_SIZE,
		  "a block that ends with its page does not need the next one");
	lwp_stop();
	lwp_prepare(l, &enough, lim_code);
	memcpy(l->cb + PAGE_SIZE - BLOCK_SIZE + 8, l->cb, BLOCK_SIZE - 8);
	l->u.r.rax = CB_VA + PAGE_SIZE - BLOCK_SIZE + 8;
	run_to_store_fault(l, PF_WRITE | PF_USER, CB_VA + PAGE_SIZE, (u64)lim_code,
			   "eight bytes further it does");
}
