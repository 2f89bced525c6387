// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program is stepped while another vCPU rewrites its code all the time: PUSHF, which runs up to a breakpoint behind it, and
 * other instructions, which are stepped, take turns. Nothing is executed twice, or not at all.
 */
#include <unistd.h>
#include "counted.h"

#define TURNS 20000
#define OTHER_CODE (VM_CODE + 0x8000)
#define PUSHF 0x9c
#define FWAIT 0x9b
#define INT3 0xcc
#define RET 0xc3

extern const u8 turning[];
PROGRAM(rewritten, "	mov $20000, %ecx\n"
		   "	mov %rsp, %r15\n"
		   "turning:\n"
		   "	pushf\n" /* or another */
		   "	mov %r15, %rsp\n"
		   "	loop turning\n");

/* rsi: the byte that changes; al and dl: its values */
GUEST_CODE(rewriter, "	mov %dl, (%rsi)\n"
		     "	mov $300, %ecx\n"
		     "1:	loop 1b\n"
		     "	mov %al, (%rsi)\n"
		     "	mov $300, %ecx\n"
		     "2:	loop 2b\n"
		     "	jmp rewriter\n");

/* A procedure whose first byte is PUSHF or RET: it returns at one place or the other. */
#define CALLS 3000
extern const u8 procedure[], returned[], call[];
PROGRAM(called, "	mov $3000, %ecx\n"
		"	jmp call\n"
		"procedure:\n"
		"	pushf\n" /* or RET */
		"	lea 8(%rsp), %rsp\n"
		"	ret\n"
		"returned:\n"
		"call:	call procedure\n"
		"	loop call\n");

/*
 * Run the program while the byte at `rip` is `first` and `value` in turns. Its INT3 reaches the kernel. An INT3 that is
 * stepped, because it was PUSHF when KVM looked, pushes RFLAGS.TF, and then the program has #DBs: docs/kvm.md says so.
 */
static int run_beside_rewriter(u64 rip, u8 first, u8 value)
{
	struct vcpu *other = vm_add_vcpu(vm);
	int stop;

	memcpy(vm->mem + OTHER_CODE, rewriter, (size_t)(rewriter_end - rewriter));
	vm_start(vm, other);
	other->regs.rsi = rip;
	other->regs.rax = first;
	other->regs.rdx = value;
	vm_go_to(other, OTHER_CODE);
	vm_start(vm, v);
	vm_run_beside(other);
	do {
		stop = vm_run(vm, v);
	} while (stop == 3 || stop == 1);
	vm_stop(other);
	return stop;
}

static int run_rewritten(u8 value)
{
	begin(rewritten, rewritten_end, 2);
	count_only(2);
	return run_beside_rewriter(VM_AT(rewritten, turning), PUSHF, value);
}

TEST(what_leads_to_the_same_place_counts)
{
	is(run_rewritten(FWAIT), VM_DONE, "no exception in 20,000 turns");
	is(v->regs.rcx, 0, "all of them");
	is(count_of(2), 2 + 3 * TURNS, "each instruction counts once");
}

/* Turns are not counted if INT3, which runs without a step, is PUSHF again when it runs. */
TEST(software_interrupts_are_delivered)
{
	is(run_rewritten(INT3), VM_DONE, "no exception but #BP and #DB in 20,000 turns");
	is(v->regs.rcx, 0, "all of them");
}

/*
 * A RET that was PUSHF when KVM looked does not come to the breakpoint: nothing counts until the next exit, and
 * docs/kvm.md says so. Each record is one of the program's branches all the same.
 */
TEST(a_branch_instead_leads_where_it_goes)
{
	u64 last = VM_AT(called, call) + 5; /* LOOP */
	u32 i, wrong = 0;

	begin(called, called_end, 3);
	block_init(vm, LWP_F_BRE, CALLS * 4);
	block_event(vm, 3, 0, 0);
	is(run_beside_rewriter(VM_AT(called, procedure), PUSHF, RET), VM_DONE,
	   "no exception in 3,000 calls");
	is(v->regs.rcx, 0, "all of them");
	for (i = 0; i < block_head(vm); i++)
		wrong += ring_record(vm, i).address - VM_CODE > last - VM_CODE;
	is(wrong, 0, "each record is one of its branches");
}

/*
 * A jump goes to one place or the other, so a net is laid on a way that the program does not take: it runs to the next exit,
 * and the record comes late, or is missed.
 */
#define PERIOD 1000
extern const u8 choosing[];
PROGRAM(chosen, "	mov $20000, %ecx\n"
		"choosing:\n"
		"	.byte 0xeb, 0\n" /* or 4 */
		"	nop\n"
		"	nop\n"
		"	jmp 2f\n"
		"	nop\n"
		"	nop\n"
		"	jmp 2f\n"
		"2:	loop choosing\n");

TEST(nothing_is_lost_where_the_way_changes)
{
	begin_delivery(chosen, chosen_end, 0, LWP_F_IRE | LWP_F_CONT);
	event_each(2, PERIOD);
	is(run_beside_rewriter(VM_AT(chosen, choosing) + 1, 0, 4), VM_DONE, "20,000 turns");
	is(v->regs.rcx, 0, "all of them");
	is((vm_stat(v, "lwp_records") + missed() + 1) * PERIOD - 1 - block_counter(vm, 2),
	   1 + 5 * TURNS, "each instruction counts once");
}

int main(void)
{
	if (parameter_is("lwp_source", "perf"))
		set_margin(900);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip_all("one processor: nothing changes while KVM looks at an instruction");
	run_tests();
	return done();
}
