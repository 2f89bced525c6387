// SPDX-License-Identifier: GPL-2.0-or-later
/* See hyper.h. The VMCB's layout is that of the APM, Vol. 2, Appendix B. */
#include "hyper.h"
#include "lwp_state.h"

#define CODE 0x310000
#define HOST_SAVE 0x331000 /* the processor's */
#define MSR_VM_HSAVE_PA 0xc0010117

/* r8: the guest's VMCB; r9: where the hypervisor keeps its own part */
GUEST_CODE(hypervisor, "	mov %r9, %rax\n"
		       "	.byte 0x0f, 0x01, 0xdb\n" /* vmsave */
		       "1:	mov %r8, %rax\n"
		       "	.byte 0x0f, 0x01, 0xda\n" /* vmload */
		       "	.byte 0x0f, 0x01, 0xd8\n" /* vmrun */
		       "	.byte 0x0f, 0x01, 0xdb\n" /* vmsave */
		       "	mov $0x330000, %eax\n" /* HYPER_HOST */
		       "	.byte 0x0f, 0x01, 0xda\n" /* vmload */
		       "	out %al, $0x70\n"
		       "	jmp 1b\n");

enum {
	MISC2 = 0x10,
	MISC2_VMRUN = 0,
	MISC2_VMMCALL = 1,
	ASID = 0x58,
	NP_ENABLE = 0x90,
	NCR3 = 0xb0,
	SAVE_ES = VMCB_SAVE + 0x00,
	SAVE_CS = VMCB_SAVE + 0x10,
	SAVE_SS = VMCB_SAVE + 0x20,
	SAVE_DS = VMCB_SAVE + 0x30,
	SAVE_GDTR = VMCB_SAVE + 0x60,
	SAVE_IDTR = VMCB_SAVE + 0x80,
	SAVE_TR = VMCB_SAVE + 0x90,
	SAVE_CPL = VMCB_SAVE + 0xcb,
	SAVE_EFER = VMCB_SAVE + 0xd0,
	SAVE_CR4 = VMCB_SAVE + 0x148,
	SAVE_CR3 = VMCB_SAVE + 0x150,
	SAVE_CR0 = VMCB_SAVE + 0x158,
	SAVE_DR7 = VMCB_SAVE + 0x160,
	SAVE_DR6 = VMCB_SAVE + 0x168,
	SAVE_RFLAGS = VMCB_SAVE + 0x170,
	SAVE_RSP = VMCB_SAVE + 0x1d8,
	SAVE_STAR = VMCB_SAVE + 0x200,
	SAVE_LSTAR = VMCB_SAVE + 0x208,
	SAVE_SFMASK = VMCB_SAVE + 0x218,
	SAVE_PAT = VMCB_SAVE + 0x268,
};

#define CODE64_3 0xafb /* attributes of a VMCB segment: long, DPL 3 */
#define DATA_3 0xcf3
#define CODE64_0 0xa9b
#define DATA_0 0xc93
#define TSS_BUSY 0x8b
#define PAT_RESET 0x0007040600070406ull
#define EFER_SVME 0x1000
#define VMMCALL_LENGTH 3

u8 *hyper_vmcb(const struct hyper *h, u32 index)
{
	return h->vm->mem + HYPER_VMCB + index * 0x1000;
}

u8 *hyper_image(const struct hyper *h, u32 index)
{
	return hyper_vmcb(h, index) + LWP_VMCB_OFFSET;
}

void hyper_lwp_off(const struct hyper *h, u32 index, u64 cfg)
{
	struct lwp_state st = { .cfg = cfg };
	struct lwp_caps caps;

	lwp_caps_profile(&caps, LWP_PROFILE_FULL, LWP_REV_43724);
	lwp_state_encode(&st, &caps, hyper_image(h, index));
}

void hyper_init(struct hyper *h, u32 context, bool area)
{
	vm_free(h->vm);
	*h = (struct hyper){ .vm = vm_new_unasked(true) };
	if (vm_ask_for_lwp(h->vm, (struct kvm_lwp_policy){ .context = context }))
		ok(false, "set the policy");
	if (area)
		vm_leaf(h->vm, LWP_CPUID_LEAF)->ecx |= LWP_ECX_VMCB_AREA;
	if (!(vm_leaf(h->vm, LWP_CPUID_PRESENT_LEAF)->ecx & 4))
		skip_all("no nested virtualization");
	h->v = vm_add_vcpu(h->vm);
}

void hyper_start(struct hyper *h)
{
	memcpy(h->vm->mem + CODE, hypervisor, (size_t)(hypervisor_end - hypervisor));
	vm_start_kernel(h->vm, h->v, CODE);
	vm_set_msr(h->v, MSR_VM_HSAVE_PA, HOST_SAVE);
	h->v->regs.r9 = HYPER_HOST;
	vm_set_regs(h->v);
}

static void put_segment(u8 *at, u16 selector, u16 attributes, u32 limit, u64 base)
{
	lwp_put16(at, selector);
	lwp_put16(at + 2, attributes);
	lwp_put32(at + 4, limit);
	lwp_put64(at + 8, base);
}

void hyper_guest(struct hyper *h, u32 index, u64 rip, bool npt)
{
	u8 *b = hyper_vmcb(h, index);
	struct kvm_sregs s = vm_sregs(h->v);

	memset(b, 0, 0x1000);
	lwp_put32(b + VMCB_MISC1, LWP_BIT(VMCB_MISC1_SHUTDOWN));
	lwp_put32(b + MISC2, LWP_BIT(MISC2_VMRUN) | LWP_BIT(MISC2_VMMCALL));
	lwp_put32(b + ASID, index + 1);
	lwp_put64(b + NP_ENABLE, npt);
	lwp_put64(b + NCR3, VM_CR3_OTHER);
	put_segment(b + SAVE_CS, 0x23, CODE64_3, ~0u, 0);
	for (u32 seg = SAVE_ES; seg <= SAVE_DS; seg += 0x10) {
		if (seg != SAVE_CS)
			put_segment(b + seg, 0x1b, DATA_3, ~0u, 0);
	}
	put_segment(b + SAVE_GDTR, 0, 0, s.gdt.limit, s.gdt.base);
	put_segment(b + SAVE_IDTR, 0, 0, s.idt.limit, s.idt.base);
	put_segment(b + SAVE_TR, s.tr.selector, TSS_BUSY, s.tr.limit, s.tr.base);
	b[SAVE_CPL] = 3;
	lwp_put64(b + SAVE_EFER, s.efer);
	lwp_put64(b + SAVE_CR4, s.cr4);
	lwp_put64(b + SAVE_CR3, VM_CR3);
	lwp_put64(b + SAVE_CR0, s.cr0);
	lwp_put64(b + SAVE_DR7, 0x400);
	lwp_put64(b + SAVE_DR6, 0xffff0ff0);
	lwp_put64(b + SAVE_RFLAGS, 0x3202); /* IOPL 3 */
	lwp_put64(b + VMCB_RIP, rip);
	lwp_put64(b + SAVE_RSP, VM_STACK_TOP - index * 0x4000);
	lwp_put64(b + SAVE_STAR, vm_get_msr(h->v, 0xc0000081));
	lwp_put64(b + SAVE_LSTAR, vm_get_msr(h->v, 0xc0000082));
	lwp_put64(b + SAVE_SFMASK, vm_get_msr(h->v, 0xc0000084));
	lwp_put64(b + SAVE_PAT, PAT_RESET);
	h->guest[index].rbx = VM_BLOCK;
	h->guest[index].rdi = VM_DATA;
}

void hyper_guest_kernel(struct hyper *h, u32 index)
{
	u8 *b = hyper_vmcb(h, index);

	put_segment(b + SAVE_CS, 0x08, CODE64_0, ~0u, 0);
	put_segment(b + SAVE_SS, 0x10, DATA_0, ~0u, 0);
	b[SAVE_CPL] = 0;
}

u64 hyper_run(struct hyper *h, u32 index)
{
	struct kvm_regs *g = &h->guest[index];
	struct vcpu *v = h->v;
	int stop;

	g->rip = v->regs.rip;
	g->rsp = v->regs.rsp;
	g->rflags = v->regs.rflags;
	g->rax = v->regs.rax;
	g->r8 = HYPER_VMCB + index * 0x1000;
	g->r9 = HYPER_HOST;
	v->regs = *g;
	vm_set_regs(v);
	stop = vm_run(h->vm, v);
	*g = v->regs;
	return stop == HYPER_EXIT ? lwp_get64(hyper_vmcb(h, index) + VMCB_EXIT_CODE) : (u64)stop;
}

void hyper_skip_vmmcall(struct hyper *h, u32 index)
{
	u8 *rip = hyper_vmcb(h, index) + VMCB_RIP;

	lwp_put64(rip, lwp_get64(rip) + VMMCALL_LENGTH);
}
