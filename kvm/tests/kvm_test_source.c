// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `exact` and `prompt` delivery with counters whose interrupts all come 40 instructions late.
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

/* 50 pairs: the n-th branch is at offset 2 + 3 * n, and is instruction 2 * n - 1. */
PROGRAM(jumps, "	.rept 50\n"
	       "	jmp 1f\n"
	       "1:	nop\n"
	       "	.endr\n");

/*
 * A run, and again if the host's interrupts have ended a run of the guest meanwhile: KVM reads the counter there, which
 * may have reached its number.
 */
#define UNDISTURBED(run)                                                     \
	for (u32 n_ = 0; !n_ || (n_ < 100 && vm_stat(v, "irq_exits")); n_++) \
	run

/*
 * Armed for 50; late by 40: 90 have passed, the record names the 91st. Then 29 of 60 are left, armed for 19: the 151st.
 * Armed for 19 once more: 200 have passed when SLWPCB reads the counter, and the record names SLWPCB.
 */
TEST(exact_counts_an_overshoot_and_keeps_the_rate)
{
	set_margin(10);
	UNDISTURBED(run_with(nops, nops_end, 0, 2, 60));
	COUNTED("each is late", 95, 155, 205);
	is(block_counter(vm, 2), 39, "200 - 180 are 20 of the next 60");
	is(vm_stat(v, "lwp_overshoots"), 3, "three overshoots");
	is(missed(), 0, "nothing is missed");
}

/*
 * Armed for 30: 70 have passed, of which the 60th is missed, and the record names the 71st. 90 is due next, armed for
 * 19: 120 is missed, the 131st. 150: 180 is missed, the 191st.
 */
TEST(prompt_names_the_next_instruction_and_counts_what_it_skips)
{
	UNDISTURBED(run_with(nops, nops_end, 1, 2, 30));
	COUNTED("the instruction at the interrupt", 75, 135, 195);
	is(missed(), 3, "MissedEvents");
	is(block_counter(vm, 2), 9, "210 are due next");
	is(vm_stat(v, "lwp_missed"), 3, "three missed in the statistics");
	is(vm_stat(v, "lwp_overshoots"), 0, "which is no overshoot");
}

/*
 * Armed for 15 branches, late by 40 instructions, of which 20 are branches: 35 have passed, the 30th is missed, the
 * 36th takes the record. The 45th is due, 50 have passed when SLWPCB comes, and it waits.
 */
TEST(prompt_branches_name_the_next_branch)
{
	struct lwp_record r;

	UNDISTURBED(run_with(jumps, jumps_end, 1, 3, 15));
	COUNTED("the next branch", 110);
	r = ring_record(vm, 0);
	is(r.data2, VM_CODE + 112, "its target");
	is(r.flags, LWP_RECORD_TKN, "it is taken");
	is(missed(), 1, "MissedEvents");
	is(block_counter(vm, 3), LWP_COUNTER_MASK - 5, "due since five branches");
}

static void run_both_events(void)
{
	begin_delivery(jumps, jumps_end, 0, LWP_F_IRE | LWP_F_BRE);
	event_each(2, 61);
	event_each(3, 20);
	run_to_end();
}

/*
 * Branches: armed for 10 of 20, the 19th instruction; 40 later 30 have passed, and the 31st would take the record. It is
 * the 61st instruction, of which a record is due; so the 32nd branch takes it. The 40th is in time again.
 */
TEST(a_late_branch_takes_no_record_that_is_in_time)
{
	set_margin(10);
	UNDISTURBED(run_both_events());
	COUNTED("the 31st branch, the 32nd, the 40th", 95, 98, 122);
	is(ring_record(vm, 0).event_id, 2, "the 61st instruction");
	is(ring_record(vm, 1).event_id, 3, "the late branch");
	is(ring_record(vm, 2).event_id, 3, "the branch in time");
	is(vm_stat(v, "lwp_overshoots"), 1, "one overshoot");
	is(missed(), 0, "nothing is missed");
	is(block_counter(vm, 2), 60 - 39, "100 - 61 instructions");
	is(block_counter(vm, 3), 19 - 10, "50 - 40 branches");
}

/* R9D: few branches, none of which pass in 40 instructions, or each second instruction is one. */
PROGRAM(few_or_many, "	mov $4000, %ecx\n"
		     "	test %r9d, %r9d\n"
		     "	jnz 2f\n"
		     "1:	.rept 60\n"
		     "	nop\n"
		     "	.endr\n"
		     "	dec %ecx\n"
		     "	jnz 1b\n"
		     "	jmp 3f\n"
		     "2:	dec %ecx\n"
		     "	jnz 2b\n"
		     "3:	nop\n");

/* Interrupts that are always on time make the margin smaller: for that thread. The next one's come late. */
TEST(a_thread_has_its_own_margin)
{
	u64 second = VM_BLOCK + 0x1000;

	set_parameter("lwp_row", "late=0/20/20/20/20/40,rate=1000"); /* a margin of 22 branches */
	begin_delivery(few_or_many, few_or_many_end, 0, LWP_F_BRE);
	event_each(3, 30);
	memcpy(vm->mem + second, vm->mem + VM_BLOCK, 0x1000);
	lwp_put64(vm->mem + second + LWP_CB_BASE, VM_RING + 0x10000);
	run_to_end();
	vm_start(vm, v);
	vm_set_msr(v, FS_BASE, 0x2000);
	v->regs.rbx = second;
	v->regs.r9 = 1;
	vm_set_regs(v);
	run_to_end();
	is(v->regs.rax, second, "the second thread has its block");
	is(vm_stat(v, "lwp_overshoots"), 0, "all records of both are in time");
}

/* The kernel comes in between, and the state is put away and found again: nothing is lost. */
PROGRAM(halves, "	.rept 80\n" /* 5 */
		"	nop\n"
		"	.endr\n"
		"	syscall\n" /* 85, not counted */
		"	.rept 80\n" /* 87 */
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

	set_margin(50);
	begin(halves, halves_end, 2);
	event_each(2, 140);
	is(vm_run(vm, v), VM_SYSCALL, "after 80 instructions");
	contexts(KVM_GET_DEVICE_ATTR, entry);
	is(lwp_get32(entry + LWP_CTX_ENTRY_IMAGE + LWP_IMAGE_COUNTERS + 4), 59,
	   "139 - 80 are left");
	/* Setting the contexts parks them all. */
	contexts(KVM_SET_DEVICE_ATTR, entry);
	is(vm_get_msr(v, LWP_MSR_CBADDR), 0, "the state is put away");
	RUN_COUNTED("the 140th", 146);
	is(block_counter(vm, 2), 119, "160 - 140 are 20 of the next 140");
}

/* r8, r9: FS base of this thread and of another one */
PROGRAM(fibers, "	nop\n"
		"	wrfsbase %r9\n"
		"	nop\n"
		"	nop\n"
		"	slwpcb %r12\n"
		"	nop\n"
		"	wrfsbase %r8\n"
		"	nop\n");

TEST(a_program_can_write_its_fs_base)
{
	begin_total(fibers, fibers_end);
	vm_start(vm, v);
	vm_set_msr(v, FS_BASE, 0x1000);
	v->regs.r8 = 0x1000;
	v->regs.r9 = 0x2000;
	vm_set_regs(v);
	is(vm_run(vm, v), VM_DONE, "a program that writes its FS base");
	is(v->regs.r12, 0, "is another thread, without a block");
	total(3, "a NOP and WRFSBASE before, and a NOP after it is back");
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

static void run_in_the_kernel(u8 entry[LWP_CTX_ENTRY_SIZE])
{
	begin_delivery(both, both_end, 0, LWP_F_IRE | LWP_F_BRE);
	event_each(2, 15);
	event_each(3, 4);
	if (vm_run(vm, v) != VM_SYSCALL)
		ok(false, "after 20 instructions");
	contexts(KVM_GET_DEVICE_ATTR, entry);
	run_to_end();
}

TEST(what_gives_way_to_a_late_record_is_late)
{
	u8 entry[LWP_CTX_ENTRY_SIZE] = { 0 };

	set_margin(2);
	UNDISTURBED(run_in_the_kernel(entry));
	COUNTED("the next instruction, and the branch after it", 30, 32);
	is(ring_record(vm, 0).event_id, 2, "the instruction");
	is(ring_record(vm, 1).event_id, 3, "the branch that gave way");
	is(vm_stat(v, "lwp_overshoots"), 2, "both are late");
}

/* KVM steps for filters: an IP filter lets only the 101st to the 110th instruction pass. */
TEST(filters_are_stepped)
{
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
	need_source("perf");
	run_tests();
	set_margin(0);
	return done();
}
