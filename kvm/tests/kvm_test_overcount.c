// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A processor whose counter of instructions overcounts at each entry of a guest at CPL 3 and at each return to
 * CPL 3 (pmu-overcount-ring). KVM measures by how much, and the records are those of single steps.
 */
#include "counted.h"

#define PERIOD 500

/*
 * 1 and 2,000 times 4 instructions, and 2,000 faults, whose handler returns behind DIV: number n > 1 is at
 * offset 11, 15, 16 or 19 as (n - 2) % 4 is 0 to 3.
 */
PROGRAM(faults, "	mov $2000, %r8d\n" /* 5; 6 bytes */
		"1:	xor %ecx, %ecx\n" /* 11 */
		"	div %ecx\n" /* 13, does not retire */
		"	nop\n" /* 15 */
		"	dec %r8d\n" /* 16 */
		"	jnz 1b\n"); /* 19 */

extern const u8 skip_div[], skip_div_end[];
asm(".pushsection .text\n"
    "skip_div:\n"
    "	addq $2, (%rsp)\n"
    "	iretq\n"
    "skip_div_end:\n"
    ".popsection\n");

static void run_faults(u32 delivery)
{
	begin_delivery(faults, faults_end, delivery, LWP_F_IRE);
	vm_handler(vm, 0, skip_div, skip_div_end);
	event_each(2, PERIOD);
	run_to_end();
}

static void counts_are_true(const char *when)
{
	is(block_head(vm), 16, when);
	is(block_counter(vm, 2), PERIOD - 1 - 1, "8,001 - 16 * 500: one of the next period");
	is(lwp_get64(vm->mem + VM_BLOCK + LWP_CB_MISSED), 0, "nothing is missed");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
	is(vm_stat(v, "lwp_no_counter"), 0, "there was always a counter");
}

int main(void)
{
	if (!parameter_is("lwp_source", "perf"))
		skip_all("kvm-amd is not loaded with lwp_source=perf");
	set_parameter("lwp_margin", "2");
	run_faults(0);
	counts_are_true("exact: 16 records of 8,001 instructions, while it is measured");
	/* (500 k - 2) % 4 = 2 */
	COUNTED("each 500th", 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16);
	vm_free(vm);

	run_faults(0);
	counts_are_true("exact: 16 records when it is known");
	COUNTED("each 500th", 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16);
	ok(vm_stat(v, "lwp_steps") < 8001 / 4, "a counter counts: %llu steps",
	   (unsigned long long)vm_stat(v, "lwp_steps"));
	vm_free(vm);

	run_faults(1);
	counts_are_true("prompt: 16 records");
	vm_free(vm);
	return done();
}
