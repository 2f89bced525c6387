// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * While KVM steps, the guest's own TF, breakpoints and watchpoints work, and so do those of user space; each
 * instruction still counts once.
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include "counted.h"
#include "texts.h"

PROGRAM(own_tf, "	pushf\n" /* 5 */
		"	orl $0x100, (%rsp)\n" /* 6 */
		"	popf\n" /* 13 */
		"	nop\n" /* 14: #DB at 15 */
		"	mov %ss, %eax\n" /* 15: #DB at 17 */
		"	mov %eax, %ss\n" /* 17: held back */
		"	nop\n" /* 19: #DB at 20 */
		"	pushf\n" /* 20: #DB at 21 */
		"	andl $~0x100, (%rsp)\n" /* 21: #DB at 28 */
		"	popf\n" /* 28: #DB at 29 */
		"	nop\n"); /* 29 */

static void guests_own_single_step_goes_on(void)
{
	static const u64 stops[] = { 15, 17, 20, 21, 28, 29 };
	u32 i;

	begin_total(own_tf, own_tf_end);
	for (i = 0; i < 6; i++) {
		int stop = vm_run(vm, v);

		ok(stop == 1 && vm_frame(vm, v, 1).rip == VM_CODE + stops[i],
		   "#DB of the guest at offset %lu", stops[i]);
		if (stop != 1 || vm_frame(vm, v, 1).rip != VM_CODE + stops[i])
			diag("got %d at 0x%lx", stop, vm_frame(vm, v, 1).rip - VM_CODE);
		if (stop != 1)
			break;
	}
	if (i == 6)
		run_to_end();
	total(11, "all instructions count while the guest single-steps itself");
}

static void debug_register_hits(u64 rip, const char *what)
{
	struct kvm_debugregs d;

	ok(vm_run(vm, v) == 1 && vm_frame(vm, v, 1).rip == rip, "%s", what);
	is(vm_frame(vm, v, 1).rflags & TF, 0, "no TF in its frame");
	ioctl(v->fd, KVM_GET_DEBUGREGS, &d);
	is(d.dr6 & 0x400f, 1, "DR6: B0, not BS");
}

static void guests_breakpoint_still_hits(void)
{
	struct kvm_debugregs d = { .dr6 = 0xffff0ff0, .dr7 = 0x402 };

	begin(straight, straight_end, 2);
	d.db[0] = VM_CODE + 16; /* NOP: instruction breakpoint */
	if (ioctl(v->fd, KVM_SET_DEBUGREGS, &d))
		ok(false, "KVM_SET_DEBUGREGS");
	debug_register_hits(VM_CODE + 16, "#DB of the guest's breakpoint, before the instruction");
	/* As a kernel does for an instruction breakpoint: set RF in the frame. */
	lwp_put64(vm->mem + v->regs.rsp + 16, vm_frame(vm, v, 1).rflags | RF);
	run_to_end();
	d.dr7 = 0x400;
	ioctl(v->fd, KVM_SET_DEBUGREGS, &d);
	COUNTED("around a breakpoint of the guest", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 17);
}

/* KVM's emulator executes PUSHF and POPF; breakpoints come before. */
static void a_breakpoint_on_an_emulated_instruction_hits(void)
{
	struct kvm_debugregs d = { .dr6 = 0xffff0ff0, .dr7 = 0x402 };

	begin(flags, flags_end, 2);
	d.db[0] = VM_CODE + 6; /* PUSHF */
	if (ioctl(v->fd, KVM_SET_DEBUGREGS, &d))
		ok(false, "KVM_SET_DEBUGREGS");
	debug_register_hits(VM_CODE + 6, "#DB of the guest's breakpoint before PUSHF");
	lwp_put64(vm->mem + v->regs.rsp + 16, vm_frame(vm, v, 1).rflags | RF);
	run_to_end();
	COUNTED("around a breakpoint on PUSHF", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
	is(v->regs.r8, 0x203, "RF lets PUSHF pass, and its image has no TF");
}

static void user_spaces_breakpoint_on_an_emulated_instruction_hits(void)
{
	struct kvm_guest_debug dbg = {
		.control = KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_USE_HW_BP,
		.arch.debugreg = { [0] = VM_CODE + 11, [7] = 0x402 },
	};
	struct kvm_guest_debug off = { 0 };

	begin(flags, flags_end, 2);
	if (ioctl(v->fd, KVM_SET_GUEST_DEBUG, &dbg))
		ok(false, "KVM_SET_GUEST_DEBUG");
	is(vm_run(vm, v), VM_DEBUG, "user space's breakpoint hits");
	is(v->regs.rip, VM_CODE + 11, "before POPF");
	ioctl(v->fd, KVM_SET_GUEST_DEBUG, &off);
	run_to_end();
	COUNTED("around a breakpoint of user space's", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
}

/* The trap of a step and that of a watchpoint are one #DB. */
PROGRAM(watched, "	nop\n" /* 5 */
		 "	mov %eax, (%rdi)\n" /* 6; 2 bytes */
		 "	nop\n"); /* 8 */

static void guests_watchpoint_still_hits(void)
{
	/* DR0: four bytes, written */
	struct kvm_debugregs d = { .db[0] = VM_DATA, .dr6 = 0xffff0ff0, .dr7 = 0xd0402 };

	begin(watched, watched_end, 2);
	v->regs.rdi = VM_DATA;
	vm_set_regs(v);
	if (ioctl(v->fd, KVM_SET_DEBUGREGS, &d))
		ok(false, "KVM_SET_DEBUGREGS");
	debug_register_hits(VM_CODE + 8, "#DB of the guest's watchpoint, after the instruction");
	d.dr7 = 0x400;
	ioctl(v->fd, KVM_SET_DEBUGREGS, &d);
	run_to_end();
	COUNTED("around a watchpoint of the guest", 5, 6, 8, 9);
}

static void user_space_single_steps_beside(void)
{
	struct kvm_guest_debug dbg = { .control = KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP };
	static const u64 stops[] = { 6, 7, 9, 11, 12, 14, 15, 17, 18 };
	struct kvm_guest_debug off = { 0 };
	u32 i;

	begin(flags, flags_end, 2);
	/* LLWPCB comes first, and KVM completes it. */
	if (ioctl(v->fd, KVM_SET_GUEST_DEBUG, &dbg))
		ok(false, "KVM_SET_GUEST_DEBUG");
	is(vm_run(vm, v), VM_DEBUG, "stop after LLWPCB");
	is(v->regs.rip, VM_CODE + 5, "at the next instruction");
	for (i = 0; i < 9; i++) {
		ioctl(v->fd, KVM_SET_GUEST_DEBUG, &dbg);
		if (vm_run(vm, v) != VM_DEBUG || v->regs.rip != VM_CODE + stops[i])
			break;
	}
	is(i, 9, "one stop for each instruction");
	if (i != 9)
		diag("at 0x%llx, wanted 0x%lx", v->regs.rip - VM_CODE, stops[i]);
	ioctl(v->fd, KVM_SET_GUEST_DEBUG, &off);
	run_to_end();
	COUNTED("while user space single-steps", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
	is(v->regs.r8 & TF, 0, "PUSHF pushes no TF of user space's");
}

static void debugctl_btf_is_out_of_reach(void)
{
	begin(straight, straight_end, 2);
	vm_set_msr(v, 0x1d9, 2);
	ok(vm_get_msr(v, 0x1d9) != 2, "DEBUGCTL.BTF cannot be set");
	run_to_end();
	COUNTED("every instruction, not every branch", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 17);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		set_margin((unsigned int)atoi(argv[1]));
	guests_own_single_step_goes_on();
	guests_breakpoint_still_hits();
	a_breakpoint_on_an_emulated_instruction_hits();
	user_spaces_breakpoint_on_an_emulated_instruction_hits();
	guests_watchpoint_still_hits();
	debugctl_btf_is_out_of_reach();
	user_space_single_steps_beside();
	return done();
}
