// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Steps over branches (DEBUGCTL.BTF): the records are those of single steps, with fewer steps; nothing that lies
 * between two branches lets the due instruction pass, nor sees RFLAGS.TF.
 *
 * The argument says whether they are wanted: on, off; a second one that the counters count too much. The counters'
 * interrupts are on time, and the margin is MARGIN events, so that these are stepped.
 */
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "counted.h"

#define MARGIN 900
#define PERIOD 1000

static bool on;

/* 1 and 4,000 times 3 instructions: number n > 1 is at offset 10, 11 or 13 as (n - 2) % 3 is 0, 1 or 2. */
PROGRAM(loop, "	mov $4000, %ecx\n" /* 5 */
	      "1:	nop\n" /* 10 */
	      "	dec %ecx\n" /* 11 */
	      "	jnz 1b\n"); /* 13 */

/* Wanted steps of `records` records, if the code has a taken branch every `each` instructions. */
static void steps_are(u32 records, u32 each)
{
	u64 steps = vm_stat(v, "lwp_steps");

	if (on)
		ok(steps <= (u64)records * (MARGIN / each + 20), "a step a branch: %lu steps",
		   steps);
	else
		ok(steps >= (u64)records * (MARGIN - 2), "a step an instruction: %lu steps", steps);
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
	is(vm_stat(v, "lwp_no_counter"), 0, "there was always a counter");
}

static void records_are_those_of_single_steps(void)
{
	static const u8 at[] = { 10, 11, 13 };
	u32 i, wrong = 0;

	begin_delivery(loop, loop_end, 0, LWP_F_IRE);
	event_each(2, PERIOD);
	run_to_end();
	is(block_head(vm), 12, "12 records of 12,001 instructions");
	for (i = 1; i <= 12; i++)
		wrong += ring_record(vm, i - 1).address != (u64)VM_CODE + at[(1000 * i - 2) % 3];
	is(wrong, 0, "each names its instruction");
	is(block_counter(vm, 2), PERIOD - 1 - 1, "one has been counted of the next period");
	steps_are(12, 3);
}

/* The n-th branch is the JNZ of round n; the last one is not taken. */
static void branches_that_are_due_do_not_pass(void)
{
	begin_delivery(loop, loop_end, 0, LWP_F_BRE);
	event_each(3, PERIOD);
	run_to_end();
	is(block_head(vm), 4, "4 records of 4,000 branches");
	is(ring_record(vm, 2).data2, VM_CODE + 10, "the 3,000th is taken");
	is(ring_record(vm, 3).flags, 0, "the 4,000th is not");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
}

/*
 * 1 and 1,100 times 11 instructions: number n > 1 is the (n - 2) % 11-th of a round. 1,003 leaves 2 of 11, so 11
 * records have all places.
 */
PROGRAM(line, "	mov $1100, %r8d\n" /* 5; 6 bytes */
	      "1:	nop\n" /* 11 */
	      "	nop\n"
	      "	nop\n"
	      "	nop\n"
	      "	nop\n"
	      "	nop\n"
	      "	nop\n"
	      "	nop\n"
	      "	.byte 0x66, 0x90\n" /* 19 */
	      "	dec %r8d\n" /* 21 */
	      "	jnz 1b\n"); /* 24 */

static void each_place_of_a_straight_line_can_be_due(void)
{
	static const u8 at[] = { 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 24 };
	u32 i, wrong = 0;

	begin_delivery(line, line_end, 0, LWP_F_IRE);
	event_each(2, 1003);
	run_to_end();
	is(block_head(vm), 12, "12 records of 12,101 instructions");
	for (i = 1; i <= 12; i++)
		wrong += ring_record(vm, i - 1).address != (u64)VM_CODE + at[(1003 * i - 2) % 11];
	is(wrong, 0, "each names its instruction");
	steps_are(12, 11);
}

/* 7 instructions a round. PUSHF must show the program's own flags. */
PROGRAM(pushf, "	mov $1000, %r8d\n"
	       "	xor %r9d, %r9d\n"
	       "1:	nop\n"
	       "	jmp 2f\n"
	       "2:	pushfq\n"
	       "	pop %rax\n"
	       "	or %rax, %r9\n"
	       "	dec %r8d\n"
	       "	jnz 1b\n"
	       "	nop\n");

static void pushf_sees_no_tf(void)
{
	begin_delivery(pushf, pushf_end, 0, LWP_F_IRE);
	event_each(2, PERIOD);
	run_to_end();
	is(v->regs.r9 & TF, 0, "no TF in any image");
	is(block_head(vm), 7, "7 records of 7,003 instructions");
	is(block_counter(vm, 2), PERIOD - 1 - 3, "no count is lost");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
}

/*
 * In each round LWP counts 11: LWPVAL, CPUID, MOV, PUSH, LEA, PUSH, far RET, XOR, JMP, DEC, JNZ. INT n, INT3, SYSCALL
 * and the DIV that faults do not; the kernel's handlers run in between.
 */
PROGRAM(mixed, "	mov $500, %r8d\n"
	       "1:	lwpval $1, %r8d, %r8d\n"
	       "	cpuid\n"
	       "	int $3\n"
	       "	int3\n"
	       "	syscall\n"
	       "	mov %cs, %ebx\n"
	       "	push %rbx\n"
	       "	lea 2f(%rip), %rbx\n"
	       "	push %rbx\n"
	       "	lretq\n"
	       "2:	xor %ebx, %ebx\n"
	       "	div %ebx\n"
	       "	jmp 3f\n"
	       "3:	dec %r8\n"
	       "	jnz 1b\n"
	       "	mov $0x200000, %ebx\n");

GUEST_CODE(skip_div, "	addq $2, (%rsp)\n"
		     "	iretq\n");

static void nothing_between_two_branches_lets_the_due_one_pass(void)
{
	u32 i, ire = 0, wrong = 0;
	u64 last = 0;
	int stop;

	begin_delivery(mixed, mixed_end, 0, LWP_F_IRE);
	vm_handler(vm, 0, skip_div, skip_div_end);
	event_each(2, 110);
	set_margin(100);
	while ((stop = vm_run(vm, v)) == VM_SYSCALL || stop == 3)
		;
	is(stop, VM_DONE, "the program runs to its end");
	for (i = 0; i < block_head(vm); i++) {
		struct lwp_record r = ring_record(vm, i);

		if (r.event_id != 2)
			continue;
		/* 110 are ten rounds of eleven: the same instruction each time. */
		wrong += last && r.address != last;
		last = r.address;
		ire++;
	}
	is(ire, 50, "50 records of 5,502 instructions");
	is(wrong, 0, "each at the same place of a round");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
	set_margin(MARGIN);
}

/*
 * A fault in a straight line, which a handler in the guest deals with: 22 of a round count, number n > 2
 * as the (n - 3) % 22-th.
 */
PROGRAM(faults, "	mov $600, %r8d\n"
		"	xor %ebx, %ebx\n"
		"1:	div %ebx\n" /* 13 */
		"	.fill 20, 1, 0x90\n" /* 15 */
		"	dec %r8d\n" /* 35 */
		"	jnz 1b\n"); /* 38 */

static void the_return_from_a_fault_is_noticed(void)
{
	u32 i, wrong = 0;

	begin_delivery(faults, faults_end, 0, LWP_F_IRE);
	vm_handler(vm, 0, skip_div, skip_div_end);
	event_each(2, PERIOD);
	run_to_end();
	is(block_head(vm), 13, "13 records of 13,202 instructions");
	for (i = 1; i <= 13; i++) {
		u32 place = (PERIOD * i - 3) % 22;

		wrong += ring_record(vm, i - 1).address !=
			 (u64)VM_CODE + (place < 20 ? 15 + place : 35 + 3 * (place - 20));
	}
	is(wrong, 0, "each names its instruction, after 600 faults");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
}

/* The program sets TF itself for one round: five traps, one after each instruction. */
PROGRAM(own, "	mov $1000, %ecx\n"
	     "1:	nop\n"
	     "	loop 1b\n"
	     "	pushfq\n"
	     "	orl $0x100, (%rsp)\n"
	     "	popfq\n"
	     "	nop\n"
	     "	jmp 2f\n"
	     "2:	pushfq\n"
	     "	andl $~0x100, (%rsp)\n"
	     "	popfq\n"
	     "	nop\n");

static void the_guests_own_steps_are_over_instructions(void)
{
	u32 traps = 0;
	int stop;

	begin_delivery(own, own_end, 0, LWP_F_IRE);
	block_event(vm, 2, 3000, 2200);
	set_margin(2199);
	while ((stop = vm_run(vm, v)) == 1)
		traps++;
	is(stop, VM_DONE, "the program runs to its end");
	is(traps, 5, "NOP, JMP, PUSHF, AND, POPF");
	is(2200 - block_counter(vm, 2), 1 + 2000 + 9, "instructions");
	set_margin(MARGIN);
}

static void the_guest_has_no_btf(void)
{
	begin_delivery(loop, loop_end, 0, LWP_F_IRE);
	event_each(2, PERIOD);
	vm_set_msr(v, 0x1d9, 2);
	is(vm_get_msr(v, 0x1d9), 0, "the guest cannot set it");
	run_to_end();
	is(vm_get_msr(v, 0x1d9), 0, "and finds it clear");
}

/*
 * A row that is wrong makes each step over a branch look as if it had passed more than a line. The vCPU steps
 * instructions for a while, and steps over branches again when the row is right.
 */
static void what_was_not_trusted_comes_back(void)
{
	char row[1024];
	u64 first, records;

	read_parameter("lwp_row", row, sizeof(row));
	set_parameter("lwp_row", "late=898/898/898/898/898/898,rate=1000");
	begin_delivery(loop, loop_end, 0, LWP_F_IRE);
	event_each(2, PERIOD);
	run_to_end();
	first = vm_stat(v, "lwp_steps");
	records = vm_stat(v, "lwp_records");
	set_parameter("lwp_row", row);
	vm_start(vm, v);
	run_to_end();
	is(vm_stat(v, "lwp_records") - records, 12, "12 records of 12,001 instructions");
	ok(vm_stat(v, "lwp_steps") - first < first / 4 * 3, "it comes back: %lu steps, %lu before",
	   vm_stat(v, "lwp_steps") - first, first);
}

extern const u8 sled[];

static __attribute__((noinline)) void step_here(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	asm volatile("int3\n"
		     "sled: nop\n"
		     "nop\n"
		     "jmp 1f\n"
		     "1: nop\n");
	_exit(0);
}

/* A debugger on the host that steps one instruction, right after the guest has run. */
static void the_host_has_no_btf_either(void)
{
	struct user_regs_struct regs;
	pid_t child = fork();
	int status;

	if (!child)
		step_here();
	waitpid(child, &status, 0);
	begin_delivery(loop, loop_end, 0, LWP_F_IRE);
	block_event(vm, 2, 100000, 500);
	vm_run(vm, v);
	ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
	waitpid(child, &status, 0);
	ptrace(PTRACE_GETREGS, child, NULL, &regs);
	is(regs.rip - (u64)sled, 1, "one instruction");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

int main(int argc, char **argv)
{
	if (!parameter_is("lwp_source", "perf"))
		skip_all("kvm-amd is not loaded with lwp_source=perf");
	on = argc > 1 && !strcmp(argv[1], "on");
	set_margin(MARGIN);
	records_are_those_of_single_steps();
	branches_that_are_due_do_not_pass();
	each_place_of_a_straight_line_can_be_due();
	pushf_sees_no_tf();
	nothing_between_two_branches_lets_the_due_one_pass();
	the_return_from_a_fault_is_noticed();
	the_guests_own_steps_are_over_instructions();
	the_guest_has_no_btf();
	the_host_has_no_btf_either();
	if (argc > 2)
		what_was_not_trusted_comes_back();
	return done();
}
