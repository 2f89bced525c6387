// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * While KVM steps, the guest's own TF, breakpoints and watchpoints work, and so do those of user space; each
 * instruction still counts once.
 */
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

TEST(guests_own_single_step_goes_on)
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

/* The guest's DR7, DR0, and the other three, if they are enabled; 400h: nothing is. */
static void set_debug_registers(u64 address, u64 dr7)
{
	u64 others = dr7 & 0xa8 ? address : 0;
	struct kvm_debugregs d = { .db = { address, others, others, others },
				   .dr6 = 0xffff0ff0,
				   .dr7 = dr7 };

	if (ioctl(v->fd, KVM_SET_DEBUGREGS, &d))
		ok(false, "KVM_SET_DEBUGREGS");
}

static void debug_registers_hit(u64 rip, u64 which, const char *what)
{
	struct kvm_debugregs d;

	ok(vm_run(vm, v) == 1 && vm_frame(vm, v, 1).rip == rip, "%s", what);
	is(vm_frame(vm, v, 1).rflags & TF, 0, "no TF in its frame");
	ioctl(v->fd, KVM_GET_DEBUGREGS, &d);
	is(d.dr6 & 0x400f, which, "DR6: these, not BS");
}

static void debug_register_hits(u64 rip, const char *what)
{
	debug_registers_hit(rip, 1, what);
}

TEST(guests_breakpoint_still_hits)
{
	begin(straight, straight_end, 2);
	set_debug_registers(VM_CODE + 16, 0x402); /* NOP: instruction breakpoint */
	debug_register_hits(VM_CODE + 16, "#DB of the guest's breakpoint, before the instruction");
	/* As a kernel does for an instruction breakpoint: set RF in the frame. */
	lwp_put64(vm->mem + v->regs.rsp + 16, vm_frame(vm, v, 1).rflags | RF);
	run_to_end();
	set_debug_registers(0, 0x400);
	COUNTED("around a breakpoint of the guest", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 17);
}

/* PUSHF and POPF run up to a breakpoint of LWP's. */
TEST(a_breakpoint_hits_before_one_of_lwp)
{
	begin(flags, flags_end, 2);
	set_debug_registers(VM_CODE + 6, 0x402); /* PUSHF */
	debug_register_hits(VM_CODE + 6, "#DB of the guest's breakpoint before PUSHF");
	lwp_put64(vm->mem + v->regs.rsp + 16, vm_frame(vm, v, 1).rflags | RF);
	RUN_COUNTED("around a breakpoint on PUSHF", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
	is(v->regs.r8, 0x203, "RF lets PUSHF pass, and its image has no TF");
}

TEST(lwp_lends_itself_one_of_the_guests_four)
{
	begin(flags, flags_end, 2);
	set_debug_registers(VM_CODE + 17, 0x4aa);
	debug_registers_hit(VM_CODE + 17, 0xf,
			    "#DB of the guest's breakpoints, behind PUSHF and POPF");
	is(v->regs.r8, 0x203, "whose image has no TF");
	lwp_put64(vm->mem + v->regs.rsp + 16, vm_frame(vm, v, 1).rflags | RF);
	RUN_COUNTED("around four breakpoints", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
}

TEST(guests_watchpoint_sees_pushf)
{
	begin(flags, flags_end, 2);
	set_debug_registers(v->regs.rsp - 8, 0x90402); /* eight bytes, written */
	debug_register_hits(VM_CODE + 7, "#DB of the guest's watchpoint behind PUSHF");
	set_debug_registers(0, 0x400);
	RUN_COUNTED("around a watchpoint on the stack", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
}

TEST(user_spaces_breakpoint_hits_before_one_of_lwp)
{
	begin(flags, flags_end, 2);
	vm_debug(v, KVM_GUESTDBG_USE_HW_BP, VM_CODE + 11);
	is(vm_run(vm, v), VM_DEBUG, "user space's breakpoint hits");
	is(v->regs.rip, VM_CODE + 11, "before POPF");
	vm_debug(v, 0, 0);
	RUN_COUNTED("around a breakpoint of user space's", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
}

/* The trap of a step and that of a watchpoint are one #DB. */
PROGRAM(watched, "	nop\n" /* 5 */
		 "	mov %eax, (%rdi)\n" /* 6; 2 bytes */
		 "	nop\n"); /* 8 */

TEST(guests_watchpoint_still_hits)
{
	begin(watched, watched_end, 2);
	set_debug_registers(VM_DATA, 0xd0402); /* four bytes, written */
	debug_register_hits(VM_CODE + 8, "#DB of the guest's watchpoint, after the instruction");
	set_debug_registers(0, 0x400);
	RUN_COUNTED("around a watchpoint of the guest", 5, 6, 8, 9);
}

TEST(user_space_single_steps_beside)
{
	static const u64 stops[] = { 6, 7, 9, 11, 12, 14, 15, 17, 18 };
	u64 tf;
	u32 i;

	begin(flags, flags_end, 2);
	/* LLWPCB comes first, and KVM completes it. */
	vm_debug(v, KVM_GUESTDBG_SINGLESTEP, 0);
	is(vm_run(vm, v), VM_DEBUG, "stop after LLWPCB");
	is(v->regs.rip, VM_CODE + 5, "at the next instruction");
	for (i = 0; i < 9; i++) {
		vm_debug(v, KVM_GUESTDBG_SINGLESTEP, 0);
		if (vm_run(vm, v) != VM_DEBUG || v->regs.rip != VM_CODE + stops[i])
			break;
	}
	is(i, 9, "one stop for each instruction");
	if (i != 9)
		diag("at 0x%llx, wanted 0x%lx", v->regs.rip - VM_CODE, stops[i]);
	vm_debug(v, 0, 0);
	RUN_COUNTED("while user space single-steps", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
	tf = v->regs.r8 & TF;
	begin_delivery(flags, flags_end, KVM_LWP_DELIVERY_EXACT, 0);
	do
		vm_debug(v, KVM_GUESTDBG_SINGLESTEP, 0);
	while (vm_run(vm, v) == VM_DEBUG);
	is(v->regs.r8 & TF, tf, "PUSHF pushes what it does where nothing counts");
}
