// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `prompt` delivery with counters whose interrupts come late by thousands of instructions: records and missed
 * events together are the periods that have passed, whatever the period, and no record names an instruction
 * that the program has not reached. System calls cause no exit while a counter counts. And a thread whose kernel
 * switches by one MSR counts nothing for another (43724-823).
 */
#include "counted.h"
#include "exit_reasons.h"
#include "texts.h"

/*
 * r8d rounds of 8 instructions, 5 of which branch; one more jump at the end. SYSCALL in one of SYSCALLS of them is an
 * instruction, as the counter has it, and no near branch.
 */
PROGRAM(rounds, "1:	nop\n" /* 5 */
		"	testl $0x3fff, %r8d\n" /* 6; 7 bytes */
		"	jnz 2f\n" /* 13 */
		"	syscall\n" /* 15 */
		"2:	call 4f\n" /* 17; 5 bytes */
		"	jmp 3f\n" /* 22 */
		"	.fill 32, 1, 0x90\n" /* 24, not reached */
		"3:	dec %r8d\n" /* 56; 3 bytes */
		"	jnz 1b\n" /* 59 */
		"	jmp 5f\n" /* 61 */
		"4:	ret\n" /* 63 */
		"5:\n"); /* 64: SLWPCB */
#define SYSCALLS 0x4000
#define INSNS 8
#define BRANCHES 5

static const u8 reached[] = { 5, 6, 13, 15, 17, 22, 56, 59, 61, 63, 64 };
static const u8 branch[] = { 13, 17, 22, 59, 61, 63 };

static bool is_in(u64 address, const u8 *offset, size_t n)
{
	while (n--) {
		if (address == (u64)VM_CODE + offset[n])
			return true;
	}
	return false;
}

/* Run to the end; continue after SYSCALLs. */
static bool run_rounds(u32 n)
{
	int stop;

	v->regs.r8 = n;
	vm_set_regs(v);
	while ((stop = vm_run_interruptible(vm, v)) == VM_SYSCALL)
		;
	return stop == VM_DONE;
}

/*
 * Run `periods` periods and one event. At the end the last interrupts may not have come yet: the counter is below
 * zero by the events that have passed, and is due.
 */
static void samples(u32 event, u32 periods, u32 period)
{
	u32 each = event == 3 ? BRANCHES : INSNS, n = periods * period / each, strays = 0;
	const char *name = event == 3 ? "branches" : "instructions";
	u64 records, lost, seen;

	begin_delivery(rounds, rounds_end, 1, 0);
	block_init(vm, LWP_BIT(event), periods);
	event_each(event, period);
	ok(run_rounds(n), "%u rounds, a record each %u %s", n, period, name);
	records = block_head(vm);
	lost = missed();
	for (u32 i = 0; i < records; i++) {
		u64 address = ring_record(vm, i).address;

		strays += event == 3 ? !is_in(address, branch, sizeof(branch)) :
				       !is_in(address, reached, sizeof(reached));
	}
	diag("each %u %s: %lu records, %lu missed (%.1f%%)", period, name, records, lost,
	     100.0 * (double)lost / (double)(records + lost));
	seen = (records + lost) * period + period - 1;
	is(seen - (u64)lwp_sext26(block_counter(vm, event)),
	   (u64)n * each + 1 + (event == 2 ? n / SYSCALLS : 0),
	   "with what the counter says, not one event is lost or doubled");
	ok(records + lost + periods / 1000 >= periods && records + lost <= periods,
	   "records and missed events are the %u periods: %lu", periods, records + lost);
	ok(records > periods / 20, "not all of them are missed");
	is(strays, 0, "no record names what was not reached");
	is(vm_stat(v, "lwp_overshoots"), 0, "which is no overshoot");
	is(vm_stat(v, "lwp_no_counter"), 0, "there was always a counter");
}

/* The guest's kernel returns at once, by SYSRET, or by IRET as after a fault. */
GUEST_CODE(back, "	sysretq\n");
GUEST_CODE(back_by_iret, "	mov %rsp, %r9\n"
			 "	push $0x1b\n" /* SS */
			 "	push %r9\n"
			 "	push %r11\n"
			 "	push $0x23\n" /* CS */
			 "	push %rcx\n"
			 "	iretq\n");

#define CALLS 1000
PROGRAM(calls, "	mov $1000, %r12d\n"
	       "1:	syscall\n"
	       "	dec %r12d\n"
	       "	jnz 1b\n");

static u64 uds, irets;

static void note_exit(unsigned int reason, unsigned int count)
{
	uds += reason == 0x46 ? count : 0;
	irets += reason == 0x74 ? count : 0;
}

/* exact: KVM completes each SYSCALL and SYSRET, and LWP counts neither. */
static void system_calls(u32 delivery, const u8 *kernel, const u8 *kernel_end, u64 exits,
			 u64 counted)
{
	begin_delivery(calls, calls_end, delivery, LWP_F_IRE);
	count_only(2);
	memcpy(vm->mem + VM_DATA, kernel, (size_t)(kernel_end - kernel));
	vm_set_msr(v, LSTAR, VM_DATA);
	uds = irets = 0;
	exit_reasons_begin();
	run_to_end();
	exit_reasons_end(note_exit);
	is(uds, exits, "exits for #UD: LLWPCB, SLWPCB, and what system calls cost");
	is(irets, 0, "and none for IRET");
	is(count_of(2), counted, "instructions");
}

static void system_calls_cause_no_exit_while_only_counting(void)
{
	system_calls(KVM_LWP_DELIVERY_PROMPT, back, back_end, 2, 1 + 3 * CALLS);
	system_calls(KVM_LWP_DELIVERY_PROMPT, back_by_iret, back_by_iret_end, 2, 1 + 3 * CALLS);
	system_calls(KVM_LWP_DELIVERY_EXACT, back, back_end, 2 + 2 * CALLS, 1 + 2 * CALLS);
}

/*
 * Two threads by GS base, as 64-bit Windows has them. SYSCALL goes to a kernel in the guest, which returns to the
 * thread whose GS base is in r8. The second runs 5,001 instructions; the first five: NOPs, a MOV, a SYSCALL.
 */
PROGRAM(threads, "	nop\n"
		 "	mov $0x2000, %r8d\n"
		 "	syscall\n"
		 "	mov $5000, %ecx\n"
		 "1:	loop 1b\n"
		 "	mov $0x1000, %r8d\n"
		 "	syscall\n"
		 "	nop\n"
		 "	nop\n");

static void a_switch_of_gs_base_needs_no_exit_of_its_own(void)
{
	begin_delivery(threads, threads_end, 1, LWP_F_IRE);
	count_only(2);
	memcpy(vm->mem + VM_DATA, windows, (size_t)(windows_end - windows));
	vm_set_msr(v, LSTAR, VM_DATA);
	vm_set_msr(v, KERNEL_GS_BASE, 0x40000000);
	vm_set_msr(v, GS_BASE, 0x1000);
	run_to_end();
	is(v->regs.rax, VM_BLOCK, "the first thread ends with its block");
	is(count_of(2), 5, "which counts nothing of the second");
}

int main(void)
{
	static const struct {
		u32 periods;
		u32 period;
	} runs[] = { { 5000, 1000 }, { 5000, 3000 }, { 1000, 10000 }, { 1000, 100000 } };

	need_source("perf");
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		samples(2, runs[i].periods, runs[i].period);
		samples(3, runs[i].periods, runs[i].period);
	}
	system_calls_cause_no_exit_while_only_counting();
	a_switch_of_gs_base_needs_no_exit_of_its_own();
	return done();
}
