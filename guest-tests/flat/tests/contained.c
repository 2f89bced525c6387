// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program for the test of damaged streams (lab/migrate/fuzz.py): it says where its memory is, and from the first
 * LLWPCB on nothing but LWP writes to any of it, the kernel's own stack excepted. Page walks have nothing to mark,
 * either. A comparison of memory before and after shows what LWP has written.
 *
 * Two threads profile the same code; the first is parked when the second is stopped, saved, and comes back with
 * another state. Whatever that is, the program comes to its end: code that faults is tried again, then left, and
 * the next one starts with the pending record.
 *
 * ring=absent: the second thread's ring is not there.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define FIRST_FS 0x1000
#define SECOND_FS 0x2000
#define TRIES 3
#define ROUNDS 300

/* Groups of pages one after the other: what lies on a border is in both. */
#define FIELD_VA (USER_BASE + 0x100000)
#define GROUP_PAGES 4u
/* Each page begins with a block that could be used, whose ring is in the second half. */
#define PAGE_RING 0x800u
#define PAGE_RECORDS 32u

extern char ct_start[], ct_loop[], ct_insert[], ct_off[];

USER_CODE("ct_start: llwpcb %rax\n"
	  "ct_loop: lea 1(%rdx), %rdx\n"
	  "nop\n"
	  "nop\n"
	  "dec %esi\n"
	  "jnz ct_loop\n"
	  "user_exit\n"
	  "ct_insert: lwpins $1, %ecx, %rdx\n"
	  "lwpins $2, (%rdi), %rdx\n"
	  "lwpval $3, %ecx, %rdx\n"
	  "lwpval $4, (%rdi), %rdx\n"
	  "user_exit\n"
	  "ct_off: xor %eax, %eax\n"
	  "llwpcb %rax\n"
	  "user_exit\n");

static const struct group {
	const char *name;
	u64 rights;
} groups[] = {
	{ "writable", PAGE_USER_RW }, { "read-only", PAGE_USER_RO }, { "writable", PAGE_USER_RW },
	{ "kernel", PAGE_KERNEL_RW }, { "writable", PAGE_USER_RW },  { "absent", PAGE_NONE },
	{ "writable", PAGE_USER_RW },
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static u64 group_va(u32 group)
{
	return FIELD_VA + group * GROUP_PAGES * PAGE_SIZE;
}

/* The ring of a page's block is in the same page, or in that of the next group. */
static void make_page(u8 *page, u64 va, bool abroad)
{
	struct lwp there = { .cb = page };
	struct block b = {
		.base = va + PAGE_RING + (abroad ? GROUP_PAGES * PAGE_SIZE : 0),
		.size = PAGE_RECORDS * RECORD_SIZE,
		.event = { { rev07() ? EV07_IRE : EV_IRE, 5, 5 } },
	};

	for (u32 i = 0; i < PAGE_SIZE; i += 8)
		lwp_put64(page + i, (va + i) * 0x9e3779b97f4a7c15ull);
	block_write(&there, &b);
}

static void make_field(const struct lwp *l)
{
	for (u32 group = 0; group < GROUPS; group++) {
		u64 va = group_va(group);
		u8 *pages = as_alloc(l->cr3, va, GROUP_PAGES, PAGE_USER_RW);

		for (u32 i = 0; i < GROUP_PAGES; i++, va += PAGE_SIZE) {
			make_page(pages + i * PAGE_SIZE, va, i % 2 && group < GROUPS - 1);
			as_protect(l->cr3, va, groups[group].rights);
		}
	}
}

/* Accessed and dirty, all of it. */
static void mark_entries(u64 table, u32 level)
{
	u64 *entry = (u64 *)(table & PTE_ADDRESS);

	for (u32 i = 0; i < PAGE_SIZE / sizeof(*entry); i++) {
		bool leaf = level == 1 || entry[i] & PTE_PS;

		if (!(entry[i] & PTE_P))
			continue;
		entry[i] |= PTE_A | (leaf ? PTE_D : 0);
		if (!leaf)
			mark_entries(entry[i], level - 1);
	}
}

static void tell(const struct lwp *l)
{
	u64 here = (u64)__builtin_frame_address(0) & ~(CPU_AREA_SIZE - 1ul);
	u32 size = cpuid(LWP_CPUID_LEAF, 0).b & 0xff;

	report_note("tables %lx", l->cr3);
	report_note("stack %lx %x", here, CPU_AREA_SIZE);
	report_note("block %x", rev07() ? size : 8 * size);
	for (u32 group = 0; group < GROUPS; group++)
		report_note("place %s %lx %x", groups[group].name, group_va(group),
			    GROUP_PAGES * (u32)PAGE_SIZE);
	/* Supervisor's, of which linear is physical: the image, and the tables themselves. */
	report_note("place kernel 200000 8000");
	report_note("place kernel %lx 1000", l->cr3);
	report_note("place absent %lx 10000", USER_END - 0x100000);
}

/* Run a piece of code to its end, or leave it; how often it did not get there. */
static u32 piece(struct lwp *l, const char *code)
{
	u32 faults = 0;

	l->u.r.rip = (u64)code;
	l->u.r.rsi = ROUNDS;
	for (; faults < TRIES; faults++) {
		user_run(&l->u);
		if (user_exited(&l->u))
			break;
	}
	return faults;
}

static u32 pieces(struct lwp *l)
{
	u32 faults = piece(l, ct_loop);

	faults += piece(l, ct_insert);
	faults += piece(l, lwp_slwpcb);
	faults += piece(l, ct_loop);
	return faults + piece(l, ct_off);
}

static void switch_to(struct lwp *l, u64 fs)
{
	wrmsr(MSR_FS_BASE, fs);
	l->u.r.rax = fs == FIRST_FS ? CB_VA : CB_VA + SECOND;
}

LWP_TEST(contained)
{
	struct block b = {
		.event = { { rev07() ? EV07_IRE : EV_IRE, 29, 29 },
			   { rev07() ? EV07_BRE : EV_BRE, 36, 36 } },
	};
	bool os = option_is("context", "os");
	u32 faults = 0;

	lwp_prepare(l, &b, ct_start);
	b.base = SECOND_RING;
	block_write_at(l, SECOND, &b);
	make_field(l);
	if (option_is("ring", "absent")) {
		for (u32 page = 2; page < RING_PAGES; page++)
			as_protect(l->cr3, RING_VA + page * PAGE_SIZE, PAGE_NONE);
	}
	tell(l);
	mark_entries(l->cr3, 4);
	/* The guest's system would have to switch them; there is no thread but one. */
	if (!os) {
		switch_to(l, FIRST_FS);
		faults += piece(l, ct_start);
	}
	switch_to(l, SECOND_FS);
	faults += piece(l, ct_start);
	faults += pieces(l);
	switch_to(l, FIRST_FS);
	faults += pieces(l);
	report_note("faults %u", faults);
}
