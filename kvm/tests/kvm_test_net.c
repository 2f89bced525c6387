// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nets of breakpoints: the records are those of single steps, with fewer stops; no way of the program lets the due
 * instruction pass, nor sees RFLAGS.TF.
 *
 * The argument says whether they are wanted: on, off; a second one that the counters count too much. The counters'
 * interrupts are on time, and the margin is MARGIN events, so that these are stepped.
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "counted.h"
#include "texts.h"

#define MARGIN 900
#define PERIOD 1000

static bool on;

#define TURNS 4000 /* of the loop */

/* Wanted steps of `records` records, if a net lets `each` instructions pass at least. */
static void steps_are(u32 records, u32 each)
{
	u64 steps = vm_stat(v, "lwp_steps");

	if (on)
		ok(steps <= (u64)records * (MARGIN / each + 20), "a step a net: %lu steps", steps);
	else
		ok(steps >= (u64)records * (MARGIN - 2), "a step an instruction: %lu steps", steps);
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
	is(vm_stat(v, "lwp_no_counter"), 0, "there was always a counter");
}

TEST(records_are_those_of_single_steps)
{
	begin_loop(TURNS, 0, LWP_F_IRE);
	event_each(2, PERIOD);
	/* Of 12,001 instructions */
	RUN_COUNTED("each names its instruction", 13, 10, 11, 13, 10, 11, 13, 10, 11, 13, 10, 11);
	is(block_counter(vm, 2), PERIOD - 1 - 1, "one has been counted of the next period");
	steps_are(12, 3);
}

/* The n-th branch is the JNZ of round n; the last one is not taken. */
TEST(branches_that_are_due_do_not_pass)
{
	run_loop(TURNS, 0, 3, PERIOD);
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

TEST(each_place_of_a_straight_line_can_be_due)
{
	begin_delivery(line, line_end, 0, LWP_F_IRE);
	event_each(2, 1003);
	/* Of 12,101 instructions */
	RUN_COUNTED("each names its instruction", 11, 13, 15, 17, 19, 24, 12, 14, 16, 18, 21, 11);
	steps_are(12, 11);
}

/* The straight line is longer than what KVM decodes of it: three breakpoints a round. */
PROGRAM(sled, "	mov $40, %r8d\n" /* 5; 6 bytes */
	      "1:	.fill 600, 1, 0x90\n" /* 11 */
	      "	dec %r8d\n" /* 611 */
	      "	jnz 1b\n"); /* 614 */

TEST(a_breakpoint_ends_a_line_that_has_no_end)
{
	begin_delivery(sled, sled_end, 0, LWP_F_IRE);
	event_each(2, 903);
	/* Number n > 1 is the (n - 2) % 602-th of a round: 301 places on each time. */
	run_past(VM_SYSCALL, 1);
	is(block_head(vm), 26, "26 records of 24,081 instructions");
	is(ring_record(vm, 0).address, VM_CODE + 11 + 299, "the 903rd");
	is(ring_record(vm, 1).address, VM_CODE + 11 + 600, "the 1,806th");
	is(ring_record(vm, 2).address, VM_CODE + 11 + 299, "the 2,709th");
	steps_are(26, 150);
}

TEST(the_guest_keeps_its_debug_registers)
{
	struct kvm_debugregs d = { .db[0] = VM_CODE + 100, .dr6 = 0xffff0ff0, .dr7 = 0x402 };

	begin_delivery(sled, sled_end, 0, LWP_F_IRE);
	event_each(2, 903);
	run_past(VM_SYSCALL, 1);
	ioctl(v->fd, KVM_GET_DEBUGREGS, &d);
	ok(!d.db[0] && d.dr7 == 0x400 && d.dr6 == 0xffff0ff0, "none of LWP's is left");
	begin_delivery(sled, sled_end, 0, LWP_F_IRE);
	event_each(2, 903);
	/* All four, three of them elsewhere */
	d = (struct kvm_debugregs){ { VM_CODE + 100, 1, 2, 3 }, 0xffff0ff0, 0x4aa };
	ioctl(v->fd, KVM_SET_DEBUGREGS, &d);
	is(vm_run(vm, v), 1, "its breakpoint hits");
	is(vm_frame(vm, v, 1).rip, VM_CODE + 100, "where it is");
	d.dr7 = 0x400;
	ioctl(v->fd, KVM_SET_DEBUGREGS, &d);
	run_to_end();
	is(block_head(vm), 26, "26 records beside it");
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

TEST(pushf_sees_no_tf)
{
	run_with(pushf, pushf_end, 0, 2, PERIOD);
	is(v->regs.r9 & TF, 0, "no TF in any image");
	is(block_head(vm), 7, "7 records of 7,003 instructions");
	is(block_counter(vm, 2), PERIOD - 1 - 3, "no count is lost");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
}

TEST(each_period_ends_at_the_same_place)
{
	u32 i, ire = 0, wrong = 0;
	u64 last = 0;

	begin_mixed(0, LWP_F_IRE);
	event_each(2, 110);
	set_margin(100);
	run_past(VM_SYSCALL, 3);
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

TEST(the_return_from_a_fault_is_noticed)
{
	begin_delivery(faults, faults_end, 0, LWP_F_IRE);
	vm_handler(vm, 0, skip_div, skip_div_end);
	event_each(2, PERIOD);
	/* Of 13,202 instructions: ten places of the line on, or twelve back */
	RUN_COUNTED("each names its instruction, after 600 faults", 22, 32, 20, 30, 18, 28, 16, 26,
		    38, 24, 34, 22, 32);
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

TEST(the_guests_own_steps_are_over_instructions)
{
	begin_delivery(own, own_end, 0, LWP_F_IRE);
	block_event(vm, 2, 3000, 2200);
	set_margin(2199);
	is(run_past(1, 1), 5, "NOP, JMP, PUSHF, AND, POPF");
	is(2200 - block_counter(vm, 2), 1 + 2000 + 9, "instructions");
	set_margin(MARGIN);
}

/*
 * A round of what a net must not be led past by: a return address that the function has changed, one that was pushed,
 * a jump through memory that changes, loops of all kinds, a repeated instruction, flags, MOV SS, a fault whose handler
 * returns elsewhere, and a system call.
 */
PROGRAM(odd, "	mov $150, %r8d\n"
	     "	lea 8f(%rip), %r10\n"
	     "	lea 9f(%rip), %r11\n"
	     "1:	call 5f\n"
	     "	ud2\n" /* never: it returns behind it */
	     "	lea 2f(%rip), %rax\n"
	     "	push %rax\n"
	     "	ret\n"
	     "2:	push %r10\n"
	     "	xchg %r10, %r11\n"
	     "	mov %rsp, %rbx\n"
	     "	jmp *(%rbx)\n"
	     "8:	nop\n"
	     "9:	pop %rax\n"
	     "	mov $3, %ecx\n"
	     "3:	nop\n"
	     "	loop 3b\n"
	     "	jrcxz 4f\n"
	     "	nop\n"
	     "4:	lea -128(%rsp), %rdi\n"
	     "	mov $5, %ecx\n"
	     "	rep stosb\n"
	     "	pushf\n"
	     "	popf\n"
	     "	mov %ss, %eax\n"
	     "	mov %eax, %ss\n"
	     "	inc %edx\n"
	     "	xor %ebx, %ebx\n"
	     "	div %ebx\n" /* 2 bytes, which the handler leaves out */
	     "	lea 6f(%rip), %rax\n"
	     "	jmp *%rax\n"
	     "5:	addq $2, (%rsp)\n"
	     "	ret\n"
	     "6:	dec %r8d\n"
	     "	jnz 1b\n");

/* Within the margin; KVM must not jump itself to where a device says. */
extern const u8 device_on[];
PROGRAM(device, "	mov $100, %ecx\n"
		"1:	nop\n"
		"	loop 1b\n"
		"	jmp *(%rdi)\n"
		"	ud2\n"
		"device_on: nop\n");

TEST(a_jump_through_what_is_not_ram_is_the_processors)
{
	u64 target = VM_AT(device, device_on);

	begin_delivery(device, device_end, 0, LWP_F_IRE);
	event_each(2, PERIOD);
	vm_remap(vm, VM_DATA, 0xd0000000);
	is(vm_run(vm, v), VM_MMIO, "it is read from the device");
	memcpy(v->run->mmio.data, &target, sizeof(target));
	run_to_end();
	is(PERIOD - 1 - block_counter(vm, 2), 203, "instructions");
}

/* Records of events 2 and 3 each so many, from a run of that program. */
static u32 odd_records(u32 policy, u32 insns, u32 branches, struct lwp_record *to)
{
	u32 i, n;

	more_flags = policy;
	begin_delivery(odd, odd_end, 0, LWP_F_IRE | LWP_F_BRE);
	vm_handler(vm, 0, skip_div, skip_div_end);
	event_each(2, insns);
	event_each(3, branches);
	run_to_end();
	n = block_head(vm);
	for (i = 0; i < n; i++)
		to[i] = ring_record(vm, i);
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
	more_flags = on ? 0 : KVM_LWP_NO_NET;
	return n;
}

TEST(odd_ways_lead_to_the_same_records)
{
	static const u32 periods[][2] = { { 997, 331 }, { 1009, 300 }, { 401, 211 } };
	struct lwp_record steps[128], nets[128];
	u32 i, n;

	set_margin(200);
	for (i = 0; i < 3; i++) {
		n = odd_records(KVM_LWP_NO_NET, periods[i][0], periods[i][1], steps);
		ok(n >= 8 && odd_records(0, periods[i][0], periods[i][1], nets) == n &&
			   !memcmp(steps, nets, n * sizeof(*steps)),
		   "%u records, with nets as by steps", n);
	}
	set_margin(MARGIN);
}

/*
 * A row that is wrong makes each net look as if more had passed than it holds. The vCPU steps for a while, and has nets
 * again when the row is right.
 */
static void what_was_not_trusted_comes_back(void)
{
	char row[1024];
	u64 first, records;

	read_parameter("lwp_row", row, sizeof(row));
	set_parameter("lwp_row", "late=898/898/898/898/898/898,rate=1000");
	run_loop(TURNS, 0, 2, PERIOD);
	first = vm_stat(v, "lwp_steps");
	records = vm_stat(v, "lwp_records");
	set_parameter("lwp_row", row);
	vm_start(vm, v);
	run_to_end();
	is(vm_stat(v, "lwp_records") - records, 12, "12 records of 12,001 instructions");
	ok(vm_stat(v, "lwp_steps") - first < first / 4 * 3, "it comes back: %lu steps, %lu before",
	   vm_stat(v, "lwp_steps") - first, first);
}

extern const u8 nops_here[];

static __attribute__((noinline)) void stop_here(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	asm volatile("int3\n"
		     "nops_here: nop\n"
		     "nop\n");
	_exit(0);
}

/* A debugger on the host goes to its breakpoint, right after the guest has run. */
TEST(the_host_keeps_its_debug_registers)
{
	struct user_regs_struct regs;
	pid_t child = fork();
	int status;

	if (!child)
		stop_here();
	waitpid(child, &status, 0);
	ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[0]), nops_here + 1);
	ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[7]), 1);
	begin_delivery(sled, sled_end, 0, LWP_F_IRE);
	block_event(vm, 2, 100000, 500);
	vm_run(vm, v);
	ptrace(PTRACE_CONT, child, NULL, NULL);
	waitpid(child, &status, 0);
	ptrace(PTRACE_GETREGS, child, NULL, &regs);
	is(regs.rip - (u64)nops_here, 1, "to the breakpoint");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

/* A debugger of user space stops it before each round of the loop. */
TEST(breakpoints_of_user_space_hit)
{
	u32 stops = 0;

	begin_loop(TURNS, 0, LWP_F_IRE);
	event_each(2, PERIOD);
	vm_debug(v, KVM_GUESTDBG_USE_HW_BP, VM_CODE + 11);
	while (stops < 600 && vm_run(vm, v) == VM_DEBUG && v->regs.rip == VM_CODE + 11) {
		stops++;
		vm_debug(v, KVM_GUESTDBG_SINGLESTEP, 0);
		if (vm_run(vm, v) != VM_DEBUG)
			break;
		vm_debug(v, KVM_GUESTDBG_USE_HW_BP, VM_CODE + 11);
	}
	is(stops, 600, "600 stops at the breakpoint");
	vm_debug(v, 0, 0);
	RUN_COUNTED("and the records are the same", 13, 10, 11, 13, 10, 11, 13, 10, 11, 13, 10, 11);
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
}

/* The handler in SMRAM is RSM alone. */
TEST(smis_come_in_between)
{
	u32 smis = 0, wrong = 0, i;
	int stop;

	begin_loop(10 * TURNS, 0, LWP_F_IRE);
	event_each(2, PERIOD);
	memcpy(vm->mem + 0x38000, "\x0f\xaa", 2);
	do {
		smis += !ioctl(v->fd, KVM_SMI);
		ualarm(1000, 1000);
		stop = vm_run_interruptible(vm, v);
		ualarm(0, 0);
	} while (stop == VM_TIMEOUT);
	is(stop, VM_DONE, "the program runs to its end");
	ok(smis > 2, "%u SMIs", smis);
	is(block_head(vm), 120, "120 records of 120,001 instructions");
	for (i = 0; i < 120; i++)
		wrong += ring_record(vm, i).address != loop_place(PERIOD * (i + 1));
	is(wrong, 0, "each names its instruction");
}

int main(int argc, char **argv)
{
	need_source("perf");
	on = argc > 1 && !strcmp(argv[1], "on");
	more_flags = on ? 0 : KVM_LWP_NO_NET;
	set_margin(MARGIN);
	run_tests();
	if (argc > 2)
		what_was_not_trusted_comes_back();
	return done();
}
