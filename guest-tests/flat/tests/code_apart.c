// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A page's first code is not translated while another processor may store to the page through a host pointer of the
 * emulator. That is over when the page walk or LWP's store is: whoever translates code then does not wait for that
 * processor, which the host holds in another store.
 */
#include "hold.h"
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

/* The emulator tells pages apart by their numbers modulo this. */
#define ALIKE 64u
/* What none waits for is released long before this. */
#define LONG_MS 20000
#define HELD_VA (USER_BASE + 0x100000)

extern char apt_code[];

/* Records of the NOPs are stored, and then RDI's page is stored to. */
USER_CODE("apt_code: llwpcb %rax\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "movb $1, (%rdi)\n"
	  "user_exit\n");

/* mov $1, %eax; ret */
static const u8 returns_1[] = { 0xb8, 1, 0, 0, 0, 0xc3 };

/* A page of its own for code, which the emulator does not tell from that of an address. */
static u8 *alike(const void *address)
{
	u64 pages = phys_alloc(ALIKE, PAGE_SIZE);

	return (u8 *)pages + (((u64)address - pages) / PAGE_SIZE % ALIKE) * PAGE_SIZE;
}

/* On the other processor: its TLB does not know the page yet. */
static void store(void *page)
{
	*(volatile u8 *)page = 1;
}

/* The TLB is empty, so each page is looked up by a walk. */
static void record_and_store(void *arg)
{
	struct lwp *l = arg;

	write_cr3(l->cr3);
	lwp_resume(l);
}

static void translate_meanwhile(const void *like, u8 *held, void (*fn)(void *arg), void *arg,
				const char *what)
{
	u8 *code = alike(like);
	u64 value;

	memcpy(code, returns_1, sizeof(returns_1));
	hold_watch(held, HOLD_STORE, LONG_MS);
	smp_run(1, fn, arg);
	while (!hold->held)
		pause();
	asm volatile("call *%1" : "=a"(value) : "r"(code) : "memory", "cc");
	hold->release = 1;
	smp_wait(1);
	report(value == 1 && !hold->expired, "%s", what);
}

LWP_TEST(code_apart)
{
	u8 *held;

	hold_init();
	smp_start();
	held = (u8 *)phys_alloc(1, PAGE_SIZE);
	translate_meanwhile((void *)(l->cr3 & PTE_ADDRESS), held, store, held,
			    "code is translated after a page walk");
	held = (u8 *)phys_alloc(1, PAGE_SIZE);
	as_map(l->cr3, HELD_VA, (u64)held, 1, PAGE_USER_RW);
	lwp_prepare(l, every_insn(), apt_code);
	l->u.r.rdi = HELD_VA;
	translate_meanwhile(l->ring, held, record_and_store, l,
			    "code is translated after the store of a record");
	/* Three NOPs and the store. */
	expect_head(l, 4 * RECORD_SIZE, "records came");
}
