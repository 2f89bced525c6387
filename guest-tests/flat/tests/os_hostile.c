// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `os` contexts: XRSTOR is unprivileged, so component 62 may hold anything. Whatever it holds, user code
 * keeps running or gets a #PF or #GP(0) of its own; nothing is written where user code may not
 * write; LWP_CFG is safe (43724-305, 43724-310, 43724-312, 43724-316).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"
#include "xsave.h"

/* With any number of paging levels; with four levels. */
#define NON_CANONICAL 0x0100000000000000ul
#define NON_CANONICAL_48 0x800000000000ul
#define IMAGES 3000

extern char hos_start[], hos_restore[];

USER_CODE("hos_start: llwpcb %rax\n"
	  "xor %eax, %eax\n"
	  "mov $0x40000000, %edx\n"
	  "xsave64 (%rdi)\n"
	  "user_exit\n"
	  "hos_restore: xor %eax, %eax\n"
	  "mov $0x40000000, %edx\n"
	  "xrstor64 (%rdi)\n"
	  "nop\n"
	  "jmp 1f\n"
	  "1: nop\n"
	  "user_exit\n");

static u8 good[128];
static u64 good_cfg;

/* XRSTOR of the data page, by user code. */
static void restore(struct lwp *l)
{
	lwp_stop();
	user_init64(&l->u, (u64)hos_restore, STACK_TOP);
	l->u.r.rdi = DATA_VA;
	user_run(&l->u);
}

static bool harmless(const struct lwp *l)
{
	bool own_fault = (l->u.r.vector == VEC_PF && l->u.r.error & PF_USER) ||
			 (l->u.r.vector == VEC_GP && !l->u.r.error);

	return (user_exited(&l->u) || own_fault) && kernel_page_intact() &&
	       rdmsr(LWP_MSR_CFG) == good_cfg;
}

static void set_image(struct lwp *l, const u8 *image)
{
	lwp_put64(l->data + XSTATE_BV, 1ul << 62);
	memcpy(l->data + COMPONENT, image, 128);
}

/* The good image with another value at an offset. */
static void restore_with(struct lwp *l, u32 offset, u64 value, u32 size)
{
	set_image(l, good);
	memcpy(l->data + COMPONENT + offset, &value, size);
	restore(l);
}

static void test_refused(struct lwp *l)
{
	const struct {
		const char *name;
		u32 offset, size;
		u64 value;
	} bad[] = {
		{ "a non-canonical block", 0, 8, NON_CANONICAL },
		{ "a block that ends non-canonical", 0, 8, NON_CANONICAL - 16 },
		{ "a non-canonical ring", 16, 8, NON_CANONICAL },
		{ "a ring that ends non-canonical", 16, 8, NON_CANONICAL - 32 },
		{ "a ring of 31 records", 24, 4, 31 * 32 },
		{ "a ring size that is no multiple of 32", 24, 4, 64 * 32 + 8 },
		{ "a head at the end of the ring", 12, 4, DEFAULT_RECORDS * RECORD_SIZE },
		{ "a head between records", 12, 4, 16 },
		{ "a counter of more than 26 bits", 68, 4, 0x02000000 },
		{ "a counter below -2^25", 68, 4, 0xfdffffff },
		{ "a pending record with EventId 77", 32, 1, 77 },
	};
	u32 on = 0, faults = 0;

	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		restore_with(l, bad[i].offset, bad[i].value, bad[i].size);
		faults += !user_exited(&l->u);
		on += rdmsr(LWP_MSR_CBADDR) != 0;
		if (!report(user_exited(&l->u) && !rdmsr(LWP_MSR_CBADDR) && harmless(l),
			    "%s: LWP is off, no fault", bad[i].name))
			report_note("  is vector %u error %lx rip %lx cr2 %lx, LWP_CBADDR %lx",
				    (u32)l->u.r.vector, l->u.r.error, l->u.r.rip, l->u.cr2,
				    rdmsr(LWP_MSR_CBADDR));
	}
	ask("Q40", "43724-312", "of 11 bad components XRSTOR at CPL 3 refuses or loads",
	    "0 faults 0 on", text("%u faults %u on", faults, on));
}

/* Addresses that are well formed but not the program's. */
static void test_kernel_addresses(struct lwp *l)
{
	/* The head is 0, so the record is the ring's first. */
	set_image(l, good);
	lwp_put32(l->data + COMPONENT + 12, 0);
	lwp_put64(l->data + COMPONENT + 16, (u64)kernel_page);
	restore(l);
	report(l->u.r.vector == VEC_PF && l->u.r.error == (PF_PRESENT | PF_WRITE | PF_USER) &&
		       l->u.cr2 == (u64)kernel_page,
	       "ring in the kernel: #PF of the program at the store");
	report(harmless(l), "nothing is written there");

	restore_with(l, 0, (u64)kernel_page, 8);
	report(l->u.r.vector == VEC_PF && (l->u.r.error & PF_USER) &&
		       (l->u.cr2 & PAGE_MASK) == (u64)kernel_page,
	       "block in the kernel: #PF of the program");
	report(harmless(l), "nothing is written there");

	/* Canonical where there are five levels: it may be refused, or fault like any store. */
	restore_with(l, 16, NON_CANONICAL_48, 8);
	report(harmless(l),
	       "a ring that is non-canonical with four levels: off, or #GP of the program");
}

static void test_random(struct lwp *l)
{
	u64 seed = 0x9e3779b97f4a7c15;
	u32 bad = 0;
	u8 image[128];

	for (u32 i = 0; i < IMAGES; i++) {
		memcpy(image, good, sizeof(image));
		/* One to eight bytes, or all of them, become anything. */
		for (u32 n = 0; n < (i % 9 ? i % 9 : 128); n++) {
			random_after(&seed);
			image[i % 9 ? seed >> 32 & 127 : n] = (u8)seed;
		}
		set_image(l, image);
		restore(l);
		if (!harmless(l) && !bad++)
			report_note("  first at image %u: vector %u error %lx cr2 %lx", i,
				    (u32)l->u.r.vector, l->u.r.error, l->u.cr2);
	}
	report_eq(bad, 0, "%u damaged images: none does harm", IMAGES);
}

LWP_TEST(os_hostile)
{
	static const struct block b = { .event = { { EV_IRE, 0, 0 }, { EV_BRE, 0, 0 } } };

	rule("43724-312", CHOICE);
	kernel_page_fill();
	good_cfg = rdmsr(LWP_MSR_CFG);
	lwp_go(l, &b, hos_start);
	memcpy(good, l->data + COMPONENT, sizeof(good));
	report_eq(lwp_get64(good), CB_VA, "an image was saved by user code");
	set_image(l, good);
	restore(l);
	report(user_exited(&l->u) && rdmsr(LWP_MSR_CBADDR) == CB_VA, "it can be restored");
	test_refused(l);
	test_kernel_addresses(l);
	test_random(l);
}
