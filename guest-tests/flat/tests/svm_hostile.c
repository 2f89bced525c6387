// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LWP in the VMCB: VMLOAD takes an image as it is or, where it is not valid, turns LWP off and makes LWP_CFG 0. No
 * bytes reach memory that the guest's user code may not write (43724-209, 43724-913).
 */
#include "lwp_fixture.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

#define IMAGE 128
#define RANDOM_IMAGES 2000

extern char svh_code[], svh_first[];

USER_CODE("svh_code: llwpcb %rax\n"
	  "nop\n"
	  "vmmcall\n"
	  "svh_first: nop\n"
	  "nop\n"
	  "nop\n"
	  "vmmcall\n");

static u8 good[IMAGE], off[IMAGE];
static u8 *saved; /* a VMCB that nobody runs */

/* VMLOAD of the image, then VMSAVE: the image after both. */
static void through(u8 *vmcb, const u8 *image)
{
	memcpy(vmcb + VMCB_LWP, image, IMAGE);
	vmload(vmcb);
	vmsave(saved);
}

static bool is_off(void)
{
	return !memcmp(saved + VMCB_LWP, off, IMAGE) && !rdmsr(LWP_MSR_CBADDR) &&
	       !rdmsr(LWP_MSR_CFG);
}

static void refused(u8 *vmcb, u32 at, u64 value, u32 bytes, const char *what)
{
	u8 image[IMAGE];

	memcpy(image, good, IMAGE);
	for (u32 i = 0; i < bytes; i++)
		image[at + i] = (u8)(value >> 8 * i);
	through(vmcb, image);
	report(is_off(), "%s: LWP is off", what);
}

static void test_refused(u8 *vmcb)
{
	through(vmcb, good);
	report(!memcmp(saved + VMCB_LWP, good, IMAGE), "a good image comes through");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "and LWP is on");
	refused(vmcb, 0, 0x0100000000000000, 8, "block not canonical");
	refused(vmcb, 0, 0x0000800000000000, 8, "block beyond 48 bits");
	refused(vmcb, 8, 1u << 20, 4, "reserved flag");
	refused(vmcb, 8, 1u << 28 | 1u << EV_IRE, 4, "flag of a pending record, none there");
	refused(vmcb, 12, DEFAULT_RECORDS * RECORD_SIZE, 4, "head outside the ring");
	refused(vmcb, 12, 1, 4, "head inside a record");
	refused(vmcb, 16, 0xffff7fffffffffff, 8, "ring not canonical");
	refused(vmcb, 16, 0x00007ffffffff800 + 32, 8, "ring beyond the canonical half");
	refused(vmcb, 24, RECORD_SIZE, 4, "ring below the minimum");
	refused(vmcb, 24, DEFAULT_RECORDS * RECORD_SIZE + 8, 4, "ring of no whole records");
	refused(vmcb, 28, 1u << 20, 4, "reserved filter");
	refused(vmcb, 32, EV_INS, 1, "pending record of LWPINS");
	refused(vmcb, 40, 1, 8, "pending record without EventId");
	refused(vmcb, 64, 0x02000000, 4, "counter not sign-extended");
	refused(vmcb, 64 + 28, 1, 4, "counter of an event that does not exist");
	refused(vmcb, 96, 1u << 20, 8, "LWP_CFG that WRMSR refuses");
	refused(vmcb, 104, 1, 4, "reserved bytes 104 to 107");
	refused(vmcb, 108, 1, 1, "the other revision");
	refused(vmcb, 109, 2, 1, "unknown format");
	refused(vmcb, 109, 0, 1, "format 0, as in a VMCB that was never saved to");
	refused(vmcb, 110, 1, 2, "reserved bytes 110 and 111");
	refused(vmcb, 112, 0x1000, 8, "retry address without a fault");
	refused(vmcb, 120, 1, 8, "reserved bytes 120 to 127");
}

/* Every byte spoiled in two ways: taken as it is, or off. */
static void test_bytes(u8 *vmcb)
{
	static const u8 flips[] = { 0x01, 0x80, 0xff };
	u8 image[IMAGE];
	u32 bad = 0;

	for (u32 at = 0; at < IMAGE; at++) {
		for (u32 i = 0; i < sizeof(flips); i++) {
			memcpy(image, good, IMAGE);
			image[at] ^= flips[i];
			through(vmcb, image);
			if (!is_off() && memcmp(saved + VMCB_LWP, image, IMAGE)) {
				report_note("  byte %u with %x", at, flips[i]);
				bad++;
			}
		}
	}
	report_eq(bad, 0, "an image with a spoiled byte is taken as it is, or LWP is off");
}

/* The guest runs on with a good image, but for the address at `at`, which is the kernel's. Result: its exit. */
static u64 run_with_kernel_address(struct guest *g, u32 at)
{
	memcpy(g->vmcb + VMCB_LWP, good, IMAGE);
	lwp_put64(g->vmcb + VMCB_LWP + at, (u64)kernel_page);
	lwp_put32(g->vmcb + VMCB_LWP + 64 + 4, 0);
	lwp_put64(g->vmcb + VMCB_RIP, (u64)svh_first);
	return guest_run(g);
}

/* Ring and block where user code may not write: the guest's own #PF, and no byte is written. */
static void test_kernel_memory(struct guest *g)
{
	u64 code = run_with_kernel_address(g, 16);

	report(code == EXIT_EXCEPTION + VEC_PF && lwp_get64(g->vmcb + VMCB_EXIT_INFO_1) & PF_USER &&
		       lwp_get64(g->vmcb + VMCB_EXIT_INFO_2) == (u64)kernel_page,
	       "ring in the kernel's memory: #PF with user rights");
	code = run_with_kernel_address(g, 0);
	report(code == EXIT_EXCEPTION + VEC_PF, "block in the kernel's memory: #PF");
	report(kernel_page_intact(), "not a byte is written there");
}

static void test_random(struct guest *g)
{
	u64 seed = 0x9e3779b97f4a7c15;
	u32 other = 0, on = 0;
	u64 code;

	for (u32 n = 0; n < RANDOM_IMAGES; n++) {
		u8 *image = g->vmcb + VMCB_LWP;

		memcpy(image, good, IMAGE);
		for (u32 i = 1 + random_after(&seed) % 4; i; i--)
			image[random_after(&seed) % 104] = (u8)random_after(&seed);
		lwp_put64(g->vmcb + VMCB_RIP, (u64)svh_first);
		code = guest_run(g);
		on += lwp_get64(g->vmcb + VMCB_LWP) != 0;
		other += code != EXIT_VMMCALL && code != EXIT_EXCEPTION + VEC_PF &&
			 code != EXIT_EXCEPTION + VEC_GP;
	}
	report_note("%u of %u images were valid", on, RANDOM_IMAGES);
	report(on && on < RANDOM_IMAGES, "some random images are valid, some are not");
	report_eq(other, 0, "the guest continues, or has a fault of its own");
	report(kernel_page_intact(), "the hypervisor's memory is as it was");
}

FLAT_TEST(svm_hostile)
{
	struct guest g;
	struct lwp l;

	rule("43724-912 43724-913", CHOICE);
	if (svm_lacks_lwp("LWP in the VMCB"))
		return;
	lwp_enable();
	svm_init();
	lwp_map(&l, as_new());
	block_write(&l, EVENT(EV_IRE, 100, 50));
	kernel_page_fill();
	saved = (u8 *)phys_alloc(1, PAGE_SIZE);
	off[109] = 1;

	guest_init(&g, l.cr3, (u64)svh_code, STACK_TOP, true);
	lwp_put64(g.vmcb + VMCB_LWP + 96, 0x7f00000000 | 1u << EV_IRE);
	g.vmcb[VMCB_LWP + 109] = 1;
	lwp_put64(g.vmcb + VMCB_RAX, CB_VA);
	report_eq(guest_run(&g), EXIT_VMMCALL, "a guest turns LWP on");
	memcpy(good, g.vmcb + VMCB_LWP, IMAGE);
	report_eq(lwp_get32(good + 64 + 4), 49, "its image: EventCounter2 is 50, one NOP");

	vmsave(saved);
	memcpy(saved + VMCB_LWP, good, IMAGE);
	test_refused(g.vmcb);
	test_bytes(g.vmcb);
	test_kernel_memory(&g);
	test_random(&g);
}
