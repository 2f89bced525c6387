// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KVM's emulator executes PUSHF, POPF, MOV SS and POP SS for a program that is stepped, and nothing else, although
 * another vCPU rewrites the program's code all the time.
 */
#include <unistd.h>
#include "counted.h"

#define TURNS 20000
#define OTHER_CODE (VM_CODE + 0x8000)
#define PUSHF 0x9c
#define FWAIT 0x9b /* KVM's emulator does not decode it, */
#define INT3 0xcc /* decodes this one, and does not execute it: #UD, */
#define RET 0xc3 /* and executes this one */

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
 * Run the program while the byte at `rip` is PUSHF and `value` in turns. Its INT3 reaches the kernel. An INT3 that is
 * stepped, because it was PUSHF when KVM looked, pushes RFLAGS.TF, and then the program has #DBs: docs/kvm.md says so.
 */
static int run_beside_rewriter(u64 rip, u8 value)
{
	struct vcpu *other = vm_add_vcpu(vm);
	int stop;

	memcpy(vm->mem + OTHER_CODE, rewriter, (size_t)(rewriter_end - rewriter));
	vm_start(vm, other);
	other->regs.rsi = rip;
	other->regs.rax = PUSHF;
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
	return run_beside_rewriter(VM_AT(rewritten, turning), value);
}

TEST(what_the_emulator_does_not_decode_is_stepped)
{
	is(run_rewritten(FWAIT), VM_DONE, "no exception in 20,000 turns");
	is(v->regs.rcx, 0, "all of them");
	is(count_of(2), 2 + 3 * TURNS, "each instruction counts once");
}

/* Turns are not counted if INT3, which runs without a step, is PUSHF again when it runs. */
TEST(what_the_emulator_decodes_is_compared)
{
	is(run_rewritten(INT3), VM_DONE, "no exception but #BP and #DB in 20,000 turns");
	is(v->regs.rcx, 0, "all of them");
}

/*
 * A RET that KVM's emulator executed, because it was PUSHF when KVM looked, would be no branch for LWP: a quarter of all
 * if the byte is random. What changes after each of four looks is stepped unseen: (1/4)^4. A PUSHF that the processor
 * runs, because it was RET when KVM looked, counts as one. docs/kvm.md says so.
 */
TEST(a_branch_is_not_emulated_as_something_else)
{
	u64 from = VM_AT(called, procedure), end = VM_AT(called, returned);
	u32 calls = 0, lost = 0;

	begin(called, called_end, 3);
	block_init(vm, LWP_F_BRE, CALLS * 4);
	block_event(vm, 3, 0, 0);
	is(run_beside_rewriter(from, RET), VM_DONE, "no exception in 3,000 calls");
	for (u32 i = 0; i + 1 < block_head(vm); i++) {
		u64 next = ring_record(vm, i + 1).address;

		if (ring_record(vm, i).address != VM_AT(called, call))
			continue;
		calls++;
		lost += next < from || next >= end;
	}
	is(calls, CALLS, "each has a record");
	ok(lost < CALLS / 50, "and after it one of its return, but for %u", lost);
}

int main(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip_all("one processor: nothing changes while KVM looks at an instruction");
	run_tests();
	return done();
}
