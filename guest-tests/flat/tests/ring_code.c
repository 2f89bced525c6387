// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A record is stored before the next instruction (43724-813), so that one which lies over the code that follows is what
 * executes next. The ring is in the page of the code. The last 16 bytes of an IRE record are 0, eight times
 * "add %al, (%rax)"; before they were NOPs.
 */
#include "lwp_fixture.h"
#include "paging.h"
#include "test.h"
#include "x86.h"

#define CODE_VA (USER_BASE + 0x40000)
#define RING_AT 0x100 /* in the page, like the first instruction that counts */
#define DUE 15 /* instructions before the one that is due, which is in the middle of the record */
#define COUNTED (CODE_VA + RING_AT)
/* AL is 1, so each addition adds 1. */
#define BYTE_VA (DATA_VA + 1)
#define ADDITIONS 8

extern char rcd_start[], rcd_counted[], rcd_end[];
USER_CODE("rcd_start: llwpcb %rdi\n"
	  "rcd_counted: .fill 32, 1, 0x90\n"
	  "user_exit\n"
	  "rcd_end:\n");

static void go(struct lwp *l, u8 *page, u32 interval)
{
	struct block b = { .base = COUNTED, .event = { { EV_IRE, interval, DUE } } };

	memcpy(page + RING_AT - (rcd_counted - rcd_start), rcd_start,
	       (size_t)(rcd_end - rcd_start));
	lwp_prepare(l, &b, rcd_start);
	l->data[BYTE_VA - DATA_VA] = 0;
	user_init64(&l->u, CODE_VA + RING_AT - (u64)(rcd_counted - rcd_start), STACK_TOP);
	l->u.r.rdi = CB_VA;
	l->u.r.rax = BYTE_VA;
	lwp_resume(l);
	lwp_stop();
	report_eq(l->data[BYTE_VA - DATA_VA], ADDITIONS,
		  "interval %u: the record's bytes are executed", interval);
	report_eq(*(u64 *)(page + RING_AT + 8), COUNTED + DUE,
		  "its address is that of the instruction before");
}

LWP_TEST(ring_code)
{
	u8 *page;

	rule("43724-813", CHOICE);
	page = as_alloc(kernel_cr3(), CODE_VA, 2, PAGE_USER_RW);
	go(l, page, 1000);
	/* Once more: the code has been translated. */
	go(l, page, 1000);
}
