// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order at an instruction boundary: the guest's traps first, then NMI and interrupts, then the store of the pending
 * record. A handler that looks must not see the record yet (2007-810).
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define VECTOR 0x40
#define ICR_LOW 0x300
#define APIC_VA (USER_BASE + 0x50000)
#define ABSENT_VA (USER_BASE + 0x60000)

extern char ord_code[], ord_2[], ord_3[], ord_fetch[], ord_jump[], ord_calls[], ord_call[];

/* With the APIC mapped for user code, ord_2 can send an interrupt to its own processor. */
USER_CODE("ord_code: llwpcb %rax\n"
	  "mov %rsi, %rcx\n"
	  "ord_2: mov %ecx, (%rdx)\n"
	  "ord_3: nop\n"
	  "user_exit\n"
	  "ord_fetch: llwpcb %rax\n"
	  "ord_jump: jmp *%rdx\n"
	  "ord_calls: llwpcb %rax\n"
	  "mov %rdx, %rsp\n"
	  "ord_call: call ord_3\n");

static struct lwp l;
static u32 seen_head;

static void look(struct regs *r)
{
	if (r->rip == (u64)ord_3)
		seen_head = cb_head(&l);
	if (r->vector == VECTOR)
		apic_eoi();
}

/* ord_2 stores `value` at `address`; event 2 is due there. */
static void run(u64 address, u32 value, u64 flags, const char *what)
{
	report_push("%s", what);
	lwp_prepare(&l, EVENT(EV_IRE, 100, 1), ord_code);
	l.u.r.rsi = value;
	l.u.r.rdx = address;
	l.u.r.rflags |= flags;
	seen_head = ~0u;
	lwp_resume(&l);
	report_eq(seen_head, 0, "comes right after the instruction and does not see its record");
	EXPECT_IRE(&l, "the record is stored after the handler", ord_2);
	report_pop();
}

/* A branch that stores where a data breakpoint is. The instruction before it has its record. */
static void test_branch(void)
{
	const u64 write_8 = DR7_NONE | 2 | 1 << 16 | 2 << 18; /* DR0 on, eight bytes */

	lwp_prepare(&l, EVENT(EV_IRE, 0, 0), ord_calls);
	l.u.r.rdx = DATA_VA + 8;
	seen_head = ~0u;
	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : : "r"(DATA_VA), "r"(write_8));
	lwp_resume(&l);
	asm volatile("mov %0, %%dr7" : : "r"(DR7_NONE));
	report_eq(seen_head, RECORD_SIZE,
		  "a data breakpoint of a branch: right after it, before its record");
	report_eq(ring_record(&l, 1).address, (u64)ord_call,
		  "the record is stored after the handler");
}

/* The fetch belongs to the next instruction: its fault comes after the store, and after the store's own fault. */
static void test_fetch(void)
{
	static const struct block b = { .event = { { EV_IRE, 100, 0 } } };

	lwp_prepare(&l, &b, ord_fetch);
	l.u.r.rdx = ABSENT_VA;
	user_run(&l.u);
	expect_head(&l, RECORD_SIZE, "a page that is not there, to be executed: the record first");
	EXPECT_IRE(&l, "which is the jump's", ord_jump);
	report_eq(l.u.r.vector, VEC_PF, "then #PF");
	report_eq(l.u.r.rip, ABSENT_VA, "of the target");
	report_eq(l.u.cr2, ABSENT_VA, "of the target");

	lwp_prepare(&l, &b, ord_fetch);
	l.u.r.rdx = ABSENT_VA;
	as_protect(l.cr3, RING_VA, PAGE_NONE);
	run_to_store_fault(&l, PF_WRITE | PF_USER, RING_VA, ABSENT_VA,
			   "the ring's #PF comes first");
	as_protect(l.cr3, RING_VA, PAGE_USER_RW);
	user_run(&l.u);
	report_eq(l.u.cr2, ABSENT_VA, "then that of the fetch");
	EXPECT_IRE(&l, "after the record", ord_jump);
}

FLAT_TEST(order)
{
	rule("43724-813 43724-819", CHOICE);
	lwp_init(&l);
	as_map(l.cr3, APIC_VA, APIC_BASE, 1, PAGE_USER_RW | PTE_PCD | PTE_PWT);
	/* Destination of the self-sent command: this processor. */
	*(volatile u32 *)(APIC_BASE + 0x310) = (u32)apic_id() << 24;

	irq_set_handler(VECTOR, look);
	irq_set_handler(VEC_NMI, look);
	irq_set_handler(VEC_DB, look);
	run(APIC_VA + ICR_LOW, VECTOR, RFLAGS_IF, "an interrupt");
	run(APIC_VA + ICR_LOW, ICR_NMI, 0, "an NMI");
	run(DATA_VA, 0, RFLAGS_TF, "a single step");
	test_branch();
	test_fetch();
}
