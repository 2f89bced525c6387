// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A processor whose counter of instructions overcounts at each entry of a guest at CPL 3 and at each return to
 * CPL 3. KVM measures by how much, and the records are those of single steps
 * (43724-822).
 */
#include "counted.h"
#include "host_counters.h"

#define PERIOD 500
#define STOP 0x51 /* port of the handler stop_div */

/*
 * 1 and 2,000 times 4 instructions, and 2,000 faults, whose handler returns after DIV: number n > 1 is at
 * offset 11, 15, 16 or 19 as (n - 2) % 4 is 0 to 3.
 */
PROGRAM(faults, "	mov $2000, %r8d\n" /* 5; 6 bytes */
		"1:	xor %ecx, %ecx\n" /* 11 */
		"	div %ecx\n" /* 13, does not retire */
		"	nop\n" /* 15 */
		"	dec %r8d\n" /* 16 */
		"	jnz 1b\n"); /* 19 */

GUEST_CODE(skip_div, "	addq $2, (%rsp)\n"
		     "	iretq\n");

/* The same; user space sees each fault. */
GUEST_CODE(stop_div, "	addq $2, (%rsp)\n"
		     "	out %al, $0x51\n"
		     "	iretq\n");

/* Two faults, and 150,002 instructions; DIV does not retire. */
PROGRAM(two_faults, "	xor %ecx, %ecx\n"
		    "	div %ecx\n"
		    "	div %ecx\n"
		    "	mov $50000, %ecx\n"
		    "1:	nop\n"
		    "	dec %ecx\n"
		    "	jnz 1b\n");

/*
 * The host takes all counters before the first return to CPL 3. Nothing is measured with the counter that is lost, and
 * the measurement is made when there is a counter again.
 */
static void a_lost_counter_measures_nothing(void)
{
	begin_delivery(two_faults, two_faults_end, 0, LWP_F_IRE);
	vm_handler(vm, 0, stop_div, stop_div_end);
	block_event(vm, 2, 1 << 24, 1 << 24);
	is(vm_run(vm, v), STOP, "the first fault, while the first steps measure");
	take_counters();
	is(vm_run(vm, v), STOP, "the return and the second fault, without a counter");
	give_counters_back();
	run_to_end();
	is((1 << 24) - block_counter(vm, 2), 2 + 150000, "XOR, MOV and the loop");
	ok(vm_stat(v, "lwp_steps") < 100000, "a counter counts soon: %llu steps",
	   (unsigned long long)vm_stat(v, "lwp_steps"));
}

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

/* Each CPUID exits, and a branch follows it. */
PROGRAM(exits, "	mov $600, %r8d\n"
	       "1:	xor %eax, %eax\n"
	       "	cpuid\n"
	       "	dec %r8d\n"
	       "	jnz 1b\n");

/*
 * A counter of far transfers that is too high makes C2h - C6h negative: then no branch has passed. There is no record
 * and nothing is missed that has not happened.
 */
static void far_transfers_in_excess_make_no_events(u32 delivery)
{
	begin_delivery(exits, exits_end, delivery, LWP_F_BRE);
	event_each(3, PERIOD);
	run_to_end();
	ok(block_head(vm) <= 1, "600 branches: %u records", block_head(vm));
	ok(block_counter(vm, 3) < PERIOD, "the counter is within the period: %u",
	   block_counter(vm, 3));
	is(missed(), 0, "nothing is missed");
}

static int far_transfers(void)
{
	far_transfers_in_excess_make_no_events(KVM_LWP_DELIVERY_EXACT);
	far_transfers_in_excess_make_no_events(KVM_LWP_DELIVERY_PROMPT);
	return done();
}

int main(int argc, char **argv)
{
	if (!parameter_is("lwp_source", "perf"))
		skip_all("kvm-amd is not loaded with lwp_source=perf");
	set_parameter("lwp_margin", "2");
	if (argc > 1 && !strcmp(argv[1], "far"))
		return far_transfers();
	a_lost_counter_measures_nothing();
	run_faults(0);
	counts_are_true("exact: 16 records of 8,001 instructions, while it is measured");
	/* (500 k - 2) % 4 = 2 */
	COUNTED("each 500th", 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16);

	run_faults(0);
	counts_are_true("exact: 16 records when it is known");
	COUNTED("each 500th", 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16);
	ok(vm_stat(v, "lwp_steps") < 8001 / 4, "a counter counts: %llu steps",
	   (unsigned long long)vm_stat(v, "lwp_steps"));

	run_faults(1);
	counts_are_true("prompt: 16 records");
	return done();
}
