// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hypervisor in the guest: LWP follows VMLOAD and VMSAVE where CPUID 8000_001C ECX[24] says so, and is not
 * there in its guests where it does not.
 *
 * A guest's program has three parts, between them VMMCALL, which the hypervisor intercepts: it does
 * not retire (43724-116, 43724-815, 43724-912 to 43724-914, 2007-907).
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include "hyper.h"
#include "lwp_state.h"

GUEST_CODE(guest, "	llwpcb %rbx\n" /* 0 */
		  "	nop\n" /* 5 */
		  "	nop\n" /* 6 */
		  "	vmmcall\n" /* 7 */
		  "	xor %edx, %edx\n" /* 10 */
		  "	syscall\n" /* 12, not counted */
		  "	cpuid\n" /* 14 */
		  "	out %al, $0x71\n" /* 16 */
		  "	vmmcall\n" /* 18 */
		  "	nop\n" /* 21 */
		  "	mov $0x55, %esi\n" /* 22 */
		  "	slwpcb %rax\n" /* 27 */
		  "	vmmcall\n"); /* 32 */

GUEST_CODE(flags, "	llwpcb %rbx\n"
		  "	vmmcall\n"
		  "	pushf\n" /* 8 */
		  "	popf\n" /* 9 */
		  "	nop\n" /* 10 */
		  "	slwpcb %rax\n"
		  "	vmmcall\n");

/* CPL 0 */
GUEST_CODE(accesses, "	mov $0xc0000105, %ecx\n"
		     "	rdmsr\n" /* 5 */
		     "	mov %eax, %esi\n" /* 7 */
		     "	wrmsr\n" /* 9 */
		     "	inc %ecx\n" /* 11 */
		     "	rdmsr\n" /* 13 */
		     "	xor %eax, %eax\n" /* 15 */
		     "	xor %edx, %edx\n" /* 17 */
		     "	wrmsr\n" /* 19 */
		     "	vmmcall\n"); /* 21 */

PROGRAM(user, "	nop\n"
	      "	syscall\n"
	      "	nop\n");

#define OUT_PORT 0x71
#define RING_B (VM_RING + 0x4000)
#define BLOCK_B (VM_BLOCK + 0x1000)

static struct hyper h;

static void begin(bool npt)
{
	hyper_init(&h, KVM_LWP_CONTEXT_OS, true);
	hyper_start(&h);
	vm_load(h.vm, guest, guest_end);
	block_init(h.vm, LWP_F_IRE, 128);
	block_event(h.vm, 2, 0, 0);
	for (u32 i = 0; i < 2; i++) {
		hyper_guest(&h, i, VM_CODE, npt);
		hyper_lwp_off(&h, i, LWP_F_IRE);
	}
	/* Guest 1 has a block and a ring of its own. */
	memcpy(h.vm->mem + BLOCK_B, h.vm->mem + VM_BLOCK, 0x1000);
	lwp_put64(h.vm->mem + BLOCK_B + LWP_CB_BASE, RING_B);
	h.guest[1].rbx = BLOCK_B;
}

/* Run a guest up to its next VMMCALL. The test gets SYSCALL and OUT, and continues. */
static bool part(u32 index)
{
	u64 stop = hyper_run(&h, index);

	while (stop == VM_SYSCALL || stop == OUT_PORT)
		stop = hyper_run(&h, index);
	if (stop != HYPER_VMMCALL)
		diag("guest %u stopped with 0x%lx at 0x%lx", index, stop,
		     vm_frame(h.vm, h.v, (int)stop).rip);
	hyper_skip_vmmcall(&h, index);
	return stop == HYPER_VMMCALL;
}

/* The instructions of one guest that count before SLWPCB, in its ring. */
static void profile(u64 block, u64 ring, const char *what)
{
	static const u64 counted[] = { 5, 6, 10, 14, 16, 21, 22 };
	u32 head = lwp_get32(h.vm->mem + block + LWP_CB_HEAD) / LWP_RECORD_SIZE;
	struct lwp_record r;
	u32 i;

	for (i = 0; i < 7; i++) {
		lwp_record_decode(h.vm->mem + ring + i * LWP_RECORD_SIZE, &r);
		if (r.event_id != 2 || r.address != VM_CODE + counted[i])
			break;
	}
	is(i, 7, what);
	is(head, 8, "and SLWPCB's own after its flush");
}

static void each_guest_has_the_profile_of_an_unswitched_run(bool npt)
{
	bool good;

	begin(npt);
	good = part(0) && part(1) && part(0) && part(1) && part(1) && part(0);
	ok(good, "two guests take turns%s", npt ? " with nested paging" : "");
	profile(VM_BLOCK, VM_RING, "seven records of guest 0");
	profile(BLOCK_B, RING_B, "seven records of guest 1");
	is(vm_get_msr(h.v, LWP_MSR_CBADDR), 0, "the hypervisor has LWP off");
	is(vm_get_msr(h.v, LWP_MSR_CFG), 0, "and its own LWP_CFG");
}

static void intercept(u32 word, u32 bit, bool on)
{
	u8 *at = hyper_vmcb(&h, 0) + word;

	lwp_put32(at, on ? lwp_get32(at) | LWP_BIT(bit) : lwp_get32(at) & ~LWP_BIT(bit));
}

/* PUSHF and POPF run up to a breakpoint while a program is stepped; the hypervisor's intercepts come first. */
TEST(a_hypervisor_may_intercept_what_shows_tf)
{
	begin(false);
	vm_load(h.vm, flags, flags_end);
	part(0);
	intercept(VMCB_MISC1, VMCB_MISC1_PUSHF, true);
	intercept(VMCB_MISC1, VMCB_MISC1_POPF, true);
	is(hyper_run(&h, 0), HYPER_PUSHF, "the hypervisor intercepts PUSHF");
	is(lwp_get64(hyper_vmcb(&h, 0) + VMCB_RIP), VM_CODE + 8, "before it");
	intercept(VMCB_MISC1, VMCB_MISC1_PUSHF, false);
	is(hyper_run(&h, 0), HYPER_POPF, "and POPF");
	intercept(VMCB_MISC1, VMCB_MISC1_POPF, false);
	ok(part(0), "the guest runs to its end");
	is(ring_record(h.vm, 0).address, VM_CODE + 8, "PUSHF counts");
	is(ring_record(h.vm, 1).address, VM_CODE + 9, "POPF counts");
	is(ring_record(h.vm, 2).address, VM_CODE + 10, "once");
}

#define MSRPM 0x334000 /* two pages; the bits of MSRs from C000_0000 begin at 800h */
#define MSRPM_BYTE(msr) (MSRPM + 0x800 + ((msr)&0x1fff) / 4)
#define MSRPM_BIT(msr, write) ((msr) % 4 * 2 + (write))

/* The hypervisor intercepts one access, and lets it through. */
static void intercepts_msr(u32 msr, bool write, u64 offset, const char *what)
{
	u8 *byte = h.vm->mem + MSRPM_BYTE(msr);

	*byte |= (u8)(1 << MSRPM_BIT(msr, write));
	is(hyper_run(&h, 0), HYPER_MSR, what);
	is(lwp_get64(hyper_vmcb(&h, 0) + VMCB_EXIT_INFO_1), write, "read or write");
	is(lwp_get64(hyper_vmcb(&h, 0) + VMCB_RIP), VM_CODE + offset, "before it");
	*byte &= (u8) ~(1 << MSRPM_BIT(msr, write));
}

TEST(a_hypervisor_may_intercept_the_msrs)
{
	begin(false);
	vm_load(h.vm, accesses, accesses_end);
	hyper_guest_kernel(&h, 0);
	lwp_put64(hyper_vmcb(&h, 0) + VMCB_MSRPM, MSRPM);
	intercept(VMCB_MISC1, VMCB_MISC1_MSR, true);
	intercepts_msr(LWP_MSR_CFG, false, 5, "the hypervisor intercepts RDMSR of LWP_CFG");
	intercepts_msr(LWP_MSR_CFG, true, 9, "WRMSR of LWP_CFG");
	is(h.guest[0].rsi, LWP_F_IRE, "RDMSR reads the guest's own LWP_CFG");
	intercepts_msr(LWP_MSR_CBADDR, false, 13, "RDMSR of LWP_CBADDR");
	intercepts_msr(LWP_MSR_CBADDR, true, 19, "WRMSR of LWP_CBADDR");
	is(hyper_run(&h, 0), HYPER_VMMCALL, "the guest accesses what is not intercepted");
}

#define VIRTUAL_VECTOR 0x41

/* As of a hypervisor that lets its guest take virtual interrupts by itself. */
static void takes_virtual_interrupt(u64 rip)
{
	struct vm_frame f;

	lwp_put32(hyper_vmcb(&h, 0) + VMCB_INT_CTL, VMCB_V_IRQ | VMCB_V_PRIO_15);
	lwp_put32(hyper_vmcb(&h, 0) + VMCB_INT_VECTOR, VIRTUAL_VECTOR);
	is(hyper_run(&h, 0), VIRTUAL_VECTOR, "a virtual interrupt of the hypervisor's");
	f = vm_frame(h.vm, h.v, VIRTUAL_VECTOR);
	is(f.rip, rip, "between two instructions of the guest's program");
	is(f.rflags & 0x100, 0, "no TF in its frame");
}

/*
 * The first delivery faults on pages that are not mapped yet. The emulated processor of the lab then tells KVM that it
 * was delivering an exception, so a virtual interrupt cannot be the first.
 */
static void deliver_an_exception(void)
{
	u8 *at = h.vm->mem + VM_CODE, first[2];

	memcpy(first, at, 2);
	memcpy(at, "\x0f\x0b", 2); /* UD2 */
	is(hyper_run(&h, 0), 6, "an exception");
	memcpy(at, first, 2);
}

TEST(a_virtual_interrupt_pushes_no_tf)
{
	begin(false);
	deliver_an_exception();
	ok(part(0), "the guest's first part");
	takes_virtual_interrupt(VM_CODE + 10);
	ok(part(0), "its second part");
	takes_virtual_interrupt(VM_CODE + 21);
	ok(part(0), "its third part");
	profile(VM_BLOCK, VM_RING, "seven records around virtual interrupts");
}

#define NESTED_PAGE_FAULT 0x400

/* The hypervisor has taken the ring away from its guest: the fault is the hypervisor's, not the guest's. */
TEST(a_store_may_fault_in_the_nested_tables)
{
	u64 *pte;

	begin(true);
	pte = (u64 *)(h.vm->mem + VM_CR3_OTHER + 0x3000) + (VM_RING >> 12);
	*pte &= ~(u64)1;
	is(hyper_run(&h, 0), NESTED_PAGE_FAULT, "nested page fault of the first store");
	is(lwp_get64(hyper_vmcb(&h, 0) + VMCB_EXIT_INFO_2), VM_RING, "its address");
	is(lwp_get64(hyper_vmcb(&h, 0) + VMCB_RIP), VM_CODE + 6, "before the next instruction");
	*pte |= 1;
	ok(part(0) && part(0) && part(0), "the guest runs to its end");
	profile(VM_BLOCK, VM_RING, "no record was lost");
}

/* Everything that user space saves while a guest of the guest runs, carried into a new VM. */
static void migrate(void)
{
	struct kvm_nested_state *nested = calloc(1, 0x3000);
	struct hyper was = h;
	struct vcpu *from = was.v;
	u8 image[LWP_IMAGE_SIZE];
	struct kvm_sregs s;
	u32 i, msrs[] = { 0xc0000081, 0xc0000082, 0xc0000084, 0xc0010117 };
	int r;

	nested->size = 0x3000;
	r = ioctl(from->fd, KVM_GET_NESTED_STATE, nested);
	is(nested->flags & KVM_STATE_NESTED_GUEST_MODE, KVM_STATE_NESTED_GUEST_MODE,
	   "in guest mode");
	r |= lwp_get(from, VCPU, IMAGE, image);
	s = vm_sregs(from);
	h.vm = NULL;
	hyper_init(&h, KVM_LWP_CONTEXT_OS, true);
	memcpy(h.guest, was.guest, sizeof(h.guest));
	memcpy(h.vm->mem, was.vm->mem, VM_SIZE);
	r |= ioctl(h.v->fd, KVM_SET_SREGS, &s);
	for (i = 0; i < sizeof(msrs) / sizeof(msrs[0]); i++)
		vm_set_msr(h.v, msrs[i], vm_get_msr(from, msrs[i]));
	r |= ioctl(h.v->fd, KVM_SET_NESTED_STATE, nested);
	h.v->regs = from->regs;
	vm_set_regs(h.v);
	r |= lwp_set(h.v, VCPU, IMAGE, image);
	if (r)
		ok(false, "state is carried over");
	free(nested);
	vm_free(was.vm);
}

TEST(a_nested_guest_migrates)
{
	u64 stop;

	begin(false);
	part(0);
	do {
		stop = hyper_run(&h, 0);
	} while (stop == VM_SYSCALL);
	is(stop, OUT_PORT, "the guest is in the middle of its program");
	migrate();
	ok(part(0) && part(0), "it runs to its end in another VM");
	profile(VM_BLOCK, VM_RING, "seven records");
}

static void patch_image(const u8 *bytes, u32 at, u32 len)
{
	memcpy(hyper_image(&h, 0) + at, bytes, len);
}

/* Images that a hypervisor may leave there by malice or mistake. */
TEST(a_bad_image_turns_lwp_off)
{
	static const u8 ones[LWP_IMAGE_SIZE] = { [0 ... LWP_IMAGE_SIZE - 1] = 0xff };
	static const u8 bad_head[] = { 1 };
	static const u8 high[] = { 0, 0, 0, 0, 0, 0, 0, 0x80 };
	struct {
		const char *what;
		const u8 *bytes;
		u32 at, len;
	} bad[] = {
		{ "ones everywhere", ones, 0, LWP_IMAGE_SIZE },
		{ "a head inside a record", bad_head, LWP_IMAGE_HEAD, 1 },
		{ "a ring that is not canonical", high, LWP_IMAGE_BASE, 8 },
		{ "a block that is not canonical", high, LWP_IMAGE_CBADDR, 8 },
	};

	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		u32 head;

		begin(false);
		part(0);
		head = block_head(h.vm);
		patch_image(bad[i].bytes, bad[i].at, bad[i].len);
		is(hyper_run(&h, 0), VM_SYSCALL, bad[i].what);
		is(vm_get_msr(h.v, LWP_MSR_CBADDR), 0, "LWP is off");
		is(block_head(h.vm), head, "and has written nothing");
	}
}

static void begin_without_events(void)
{
	static const u8 only_val[] = { LWP_F_VAL, 0, 0, 0 };

	begin(false);
	part(0);
	patch_image(only_val, LWP_IMAGE_FLAGS, 4);
}

/* The guest has four levels of paging. The image is refused though no event would write there. */
TEST(an_image_for_five_levels_turns_lwp_off)
{
	static const u8 address[] = { 0, 0, 0, 0, 0, 0x80, 0, 0 };
	static const u32 at[] = { LWP_IMAGE_BASE, LWP_IMAGE_CBADDR };

	for (u32 i = 0; i < 2; i++) {
		begin_without_events();
		is(hyper_run(&h, 0), VM_SYSCALL, "an image without events");
		ok(vm_get_msr(h.v, LWP_MSR_CBADDR) != 0, "leaves LWP on");
		begin_without_events();
		patch_image(address, at[i], 8);
		is(hyper_run(&h, 0), VM_SYSCALL, "one with an address of five levels of paging");
		is(vm_get_msr(h.v, LWP_MSR_CBADDR), 0, "turns it off by itself");
	}
}

/* The leaf does not offer it: the hypervisor's guests have no LWP, and nothing of theirs is counted. */
TEST(without_the_bit_nested_guests_have_no_lwp)
{
	struct kvm_regs process;
	struct kvm_sregs s;

	hyper_init(&h, KVM_LWP_CONTEXT_AUTO, false);
	hyper_start(&h);
	hyper_guest(&h, 0, VM_CODE + 0x1000, false);
	vm_start(h.vm, h.v);
	block_init(h.vm, LWP_F_IRE, 128);
	block_event(h.vm, 2, 1000, 1000);
	vm_load(h.vm, user, user_end);
	memcpy(h.vm->mem + VM_CODE + 0x1000, guest + 5, 16); /* from its first NOP */
	is(vm_run(h.vm, h.v), VM_SYSCALL, "a process of the hypervisor has LWP on");
	process = h.v->regs;
	s = vm_sregs(h.v);
	hyper_start(&h);
	is(hyper_run(&h, 0), HYPER_VMMCALL, "its guest runs in the same address space and thread");
	is(lwp_get64(hyper_image(&h, 0)), 0, "VMSAVE writes no image");
	lwp_put64(hyper_vmcb(&h, 0) + VMCB_RIP, VM_CODE);
	is(hyper_run(&h, 0), 6, "LLWPCB is undefined there");
	vm_set_sregs(h.v, &s);
	h.v->regs = process;
	vm_set_regs(h.v);
	ok(vm_finish(h.vm, h.v), "the process continues");
	is(1000 - block_counter(h.vm, 2), 2, "and has counted its own two NOPs");
}

int main(void)
{
	each_guest_has_the_profile_of_an_unswitched_run(false);
	each_guest_has_the_profile_of_an_unswitched_run(true);
	run_tests();
	return done();
}
