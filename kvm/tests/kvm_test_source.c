// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `exact` and `prompt` delivery with counters that interrupt late. The source is kvm_amd's own fake; a list says by
 * how many instructions each of its interrupts comes late.
 *
 * The program is 200 NOPs, one byte each from offset 5 on: the n-th instruction is at offset 4 + n
 * (43724-725, 43724-822 to 43724-824).
 */
#include "lwp_state.h"
#include "counted.h"
#include "texts.h"

PROGRAM(nops, "	.rept 200\n"
	      "	nop\n"
	      "	.endr\n");

/* 50 pairs: the n-th branch is at offset 2 + 3 * n. */
PROGRAM(jumps, "	.rept 50\n"
	       "	jmp 1f\n"
	       "1:	nop\n"
	       "	.endr\n");

/* Armed for 20 events of 30; late by 0, 3, 9 and 7: 10 to 1 steps are left. */
TEST(exact_steps_the_margin)
{
	set_margin(10);
	set_parameter("lwp_fake_skid", "0,3,9,7");
	run_with(nops, nops_end, 0, 2, 30);
	COUNTED("the very instructions", 34, 64, 94, 124, 154, 184);
	is(block_counter(vm, 2), 9, "200 - 180 are 20 of the next 30");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
	is(vm_stat(v, "lwp_counter_irqs"), 6, "one interrupt a record");
	is(vm_stat(v, "lwp_records"), 6, "six records");
}

/*
 * Armed for 20; late by 15: 35 have passed, the record names the 36th after the 30th that was in time. Then 25 are
 * left, armed for 15, late by 0.
 */
TEST(exact_counts_an_overshoot_and_keeps_the_rate)
{
	set_margin(10);
	set_parameter("lwp_fake_skid", "0,15");
	run_with(nops, nops_end, 0, 2, 30);
	/* 30; 65 + 1; 90; 90 + 20 + 15 + 1; 150; 185 + 1 */
	COUNTED("every second one is late", 34, 70, 94, 130, 154, 190);
	is(block_counter(vm, 2), 9, "200 - 180 are 20 of the next 30");
	is(vm_stat(v, "lwp_overshoots"), 3, "three overshoots");
	is(missed(), 0, "nothing is missed");
}

/*
 * Armed for 30, late by 4: the 35th. Due at 60, armed for 26, late by 70: 130 have passed, two whole periods are
 * missed, the record names the 131st. Due at 150, late by 4: the 155th. Due at 180: 200 have passed when SLWPCB
 * reads the counter, and the record names SLWPCB: 20 too many, so SLWPCB stores 29 - 20.
 */
TEST(prompt_names_the_next_instruction_and_counts_what_it_skips)
{
	set_parameter("lwp_fake_skid", "4,70");
	run_with(nops, nops_end, 1, 2, 30);
	COUNTED("the instruction at the interrupt", 39, 135, 159, 205);
	is(missed(), 2, "MissedEvents");
	is(block_counter(vm, 2), 9, "the rest");
	is(vm_stat(v, "lwp_missed"), 2, "two missed in the statistics");
	is(vm_stat(v, "lwp_overshoots"), 0, "which is no overshoot");
}

/*
 * Armed for 10 branches, late by 3 instructions, one of which is a branch: 11 have passed, the 12th takes the
 * record. Due at the 20th, 21 have passed, the 22nd. So on; the 50th is due when SLWPCB comes, and waits.
 */
TEST(prompt_branches_name_the_next_branch)
{
	struct lwp_record r;

	set_parameter("lwp_fake_skid", "3");
	run_with(jumps, jumps_end, 1, 3, 10);
	COUNTED("the next branch", 38, 68, 98, 128);
	r = ring_record(vm, 0);
	is(r.data2, VM_CODE + 40, "its target");
	is(r.flags, LWP_RECORD_TKN, "it is taken");
	is(block_counter(vm, 3), LWP_COUNTER_MASK, "-1: due");
}

/*
 * Branches: armed for 10 of 20, late by 30 instructions: 25 have passed, and the 26th would take the record. It is
 * the 51st instruction, of which a record is due; so the 27th branch takes it. The 40th is in time again.
 */
TEST(a_late_branch_takes_no_record_that_is_in_time)
{
	set_margin(10);
	set_parameter("lwp_fake_skid", "30,0");
	begin_delivery(jumps, jumps_end, 0, LWP_F_IRE | LWP_F_BRE);
	event_each(2, 51);
	event_each(3, 20);
	RUN_COUNTED("the 26th branch, the 27th, the 40th", 80, 83, 122);
	is(ring_record(vm, 0).event_id, 2, "the 51st instruction");
	is(ring_record(vm, 1).event_id, 3, "the late branch");
	is(ring_record(vm, 2).event_id, 3, "the branch in time");
	is(vm_stat(v, "lwp_overshoots"), 1, "one overshoot");
	is(missed(), 0, "nothing is missed");
	is(block_counter(vm, 2), 50 - 49, "100 - 51 instructions");
	is(block_counter(vm, 3), 19 - 10, "50 - 40 branches");
}

/* Interrupts that are always on time make the margin smaller: for that thread. The next one's come late. */
TEST(a_thread_has_its_own_margin)
{
	u64 second = VM_BLOCK + 0x1000;

	set_parameter("lwp_row", "late=0/8/8/8/8/20,rate=1000"); /* a margin of 10 */
	set_parameter("lwp_fake_skid", "0");
	begin_loop(3000, 0, LWP_F_IRE);
	event_each(2, 30);
	memcpy(vm->mem + second, vm->mem + VM_BLOCK, 0x1000);
	lwp_put64(vm->mem + second + LWP_CB_BASE, VM_RING + 0x10000);
	run_to_end();
	set_parameter("lwp_fake_skid", "8");
	vm_start(vm, v);
	vm_set_msr(v, FS_BASE, 0x2000);
	v->regs.rbx = second;
	vm_set_regs(v);
	run_to_end();
	is(v->regs.rax, second, "the second thread has its block");
	is(vm_stat(v, "lwp_overshoots"), 0, "all records of both are in time");
}

/* The kernel comes in between, and the state is put away and found again: nothing is lost. */
PROGRAM(halves, "	.rept 20\n" /* 5 */
		"	nop\n"
		"	.endr\n"
		"	syscall\n" /* 25, not counted */
		"	.rept 20\n" /* 27 */
		"	nop\n"
		"	.endr\n");

/* The array of contexts, which has one entry. Getting it makes KVM read the counter. */
static void contexts(unsigned long request, u8 entry[LWP_CTX_ENTRY_SIZE])
{
	struct kvm_lwp_contexts one = { (u64)entry, LWP_CTX_ENTRY_SIZE, KVM_LWP_CONTEXTS_FORMAT };

	vm_attr(vm->fd, request, KVM_LWP_VM, KVM_LWP_VM_CONTEXTS, &one);
}

TEST(counts_survive_a_switch_in_between)
{
	u8 entry[LWP_CTX_ENTRY_SIZE] = { 0 };

	set_parameter("lwp_fake_skid", "0");
	set_margin(2);
	begin(halves, halves_end, 2);
	block_event(vm, 2, 29, 29);
	is(vm_run(vm, v), VM_SYSCALL, "after 20 instructions");
	contexts(KVM_GET_DEVICE_ATTR, entry);
	is(lwp_get32(entry + LWP_CTX_ENTRY_IMAGE + LWP_IMAGE_COUNTERS + 4), 9, "29 - 20 are left");
	/* Setting the contexts parks them all. */
	contexts(KVM_SET_DEVICE_ATTR, entry);
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "the state is put away");
	RUN_COUNTED("the 30th", 36);
	is(block_counter(vm, 2), 19, "40 - 30 are 10 of the next 30");
}

/*
 * The counter is read in the kernel: 20 instructions, 5 more than were due, and 3 branches of 4. The 4th, after the
 * kernel, is due both as the next instruction and as a branch: the former is later, the latter gives way.
 */
PROGRAM(both, "	jmp 1f\n" /* 5 */
	      "1:	jmp 2f\n"
	      "2:	jmp 3f\n"
	      "3:	.rept 17\n"
	      "	nop\n"
	      "	.endr\n"
	      "	syscall\n" /* 28, not counted */
	      "	jmp 4f\n" /* 30 */
	      "4:	jmp 5f\n" /* 32 */
	      "5:	nop\n");

TEST(what_gives_way_to_a_late_record_is_late)
{
	u8 entry[LWP_CTX_ENTRY_SIZE] = { 0 };

	set_parameter("lwp_fake_skid", "60");
	set_margin(2);
	begin_delivery(both, both_end, 0, LWP_F_IRE | LWP_F_BRE);
	event_each(2, 15);
	event_each(3, 4);
	is(vm_run(vm, v), VM_SYSCALL, "after 20 instructions");
	contexts(KVM_GET_DEVICE_ATTR, entry);
	RUN_COUNTED("the next instruction, and the branch after it", 30, 32);
	is(ring_record(vm, 0).event_id, 2, "the instruction");
	is(ring_record(vm, 1).event_id, 3, "the branch that gave way");
	is(vm_stat(v, "lwp_overshoots"), 2, "both are late");
}

/* KVM steps for filters: an IP filter lets only the 101st to the 110th instruction pass. */
TEST(filters_are_stepped)
{
	set_parameter("lwp_fake_skid", "50");
	begin(nops, nops_end, 2);
	block_event(vm, 2, 4, 4);
	lwp_put32(vm->mem + VM_BLOCK + LWP_CB_FILTERS, LWP_FILTER_IPF);
	lwp_put64(vm->mem + VM_BLOCK + LWP_CB_BASE_IP, VM_CODE + 105);
	lwp_put64(vm->mem + VM_BLOCK + LWP_CB_LIMIT_IP, VM_CODE + 114);
	RUN_COUNTED("each fifth", 109, 114);
	is(vm_stat(v, "lwp_counter_irqs"), 0, "without the counter");
}

int main(void)
{
	need_source("fake");
	ok(says("row", "instructions: stepped: lwp_source is not perf\n"),
	   "what steps is not perf");
	run_tests();
	set_parameter("lwp_fake_skid", "0");
	set_margin(0);
	return done();
}
