// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How late the interrupts of this machine's counters come under KVM, in instructions: for ./vlwp test kvm --here.
 *
 * The program is a loop of many thousand NOPs, so that the address in a record tells how many instructions had retired
 * when the counter's interrupt ended the guest. A turn of the loop is a period long, and what is late is subtracted from the
 * next period; so the same instruction is due each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "counted.h"

#define NOPS 0x20000u /* the loop has two instructions more, DEC and JNZ */
#define PERIOD (NOPS + 2) /* longer than any lateness that was measured on Zen */
#define PROMPT 1500u /* records */
#define EXACT 50u
#define HEAD 11u /* bytes of LLWPCB and MOV */
#define CLASSES 18 /* less than 1, 2, 4 ... instructions late */

extern const u8 head[], head_end[], tail[], tail_end[];
asm(".pushsection .text\n"
    "head:	llwpcb %rbx\n"
    "	mov $0x11223344, %r8d\n"
    "head_end:\n"
    "tail:	dec %r8d\n"
    "	.byte 0x0f, 0x85\n" /* JNZ to the first NOP */
    "	.long -(0x20000 + 3 + 6)\n"
    "	slwpcb %rax\n"
    "	int $0x80\n"
    "tail_end:\n.popsection\n");

/* A machine in which `rounds` records are due. The ring has room for all: a record that is missed could be late unseen. */
static void begin_loop(u32 delivery, u32 rounds)
{
	static u8 code[HEAD + NOPS + 64];

	memcpy(code, head, HEAD);
	memcpy(code + HEAD - sizeof(rounds), &rounds, sizeof(rounds));
	memset(code + HEAD, 0x90, NOPS);
	memcpy(code + HEAD + NOPS, tail, (size_t)(tail_end - tail));
	begin_delivery(code, code + HEAD + NOPS + (tail_end - tail), delivery, 0);
	block_init(vm, LWP_BIT(2), rounds + 1);
	event_each(2, PERIOD);
}

/* The instruction that a record names, counted from the first NOP. The DEC has 3 bytes. */
static u32 named(u32 record)
{
	u64 offset = ring_record(vm, record).address - VM_CODE - HEAD;

	return offset <= NOPS ? (u32)offset : NOPS + 1;
}

/*
 * How many instructions late the record is. MOV is number 1 of the first period, so each DEC is due; a record that is on
 * time names the JNZ after it.
 */
static u32 late_by(u32 record)
{
	return (named(record) + 1) % PERIOD;
}

static int ascending(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

static void show(u32 *late, u32 n)
{
	u32 count[CLASSES + 1] = { 0 }, bin, i;

	qsort(late, n, sizeof(*late), ascending);
	for (i = 0; i < n; i++) {
		for (bin = 0; bin < CLASSES && late[i] >= 1u << bin; bin++)
			;
		count[bin]++;
	}
	diag("lateness of %u interrupts: median %u, 99%% %u, most %u instructions", n, late[n / 2],
	     late[n * 99 / 100], late[n - 1]);
	for (bin = 0; bin < CLASSES; bin++) {
		if (count[bin])
			diag("lateness below %6u: %u", 1u << bin, count[bin]);
	}
	if (count[CLASSES])
		diag("lateness from %6u: %u", 1u << (CLASSES - 1), count[CLASSES]);
}

static void prompt(void)
{
	static u32 late[PROMPT];
	u32 i, n;

	begin_loop(1, PROMPT);
	run_to_end();
	/* The interrupt of the last period may come after the end. */
	n = block_head(vm) + (u32)missed();
	ok(n == PROMPT || n == PROMPT - 1,
	   "prompt: each period has a record or is counted as missed: %u", n);
	is(vm_stat(v, "lwp_no_counter"), 0, "prompt: there was always a counter");
	for (i = 0; i < block_head(vm); i++)
		late[i] = late_by(i);
	ok(i > PROMPT / 2, "prompt: most periods have a record");
	diag("lateness of a whole period, %u instructions: %llu periods", PERIOD,
	     (unsigned long long)missed());
	show(late, i);
}

static void exact(void)
{
	u32 wrong = 0, i;

	begin_loop(0, EXACT);
	run_to_end();
	is(block_head(vm), EXACT, "exact: each period has a record");
	for (i = 0; i < block_head(vm); i++)
		wrong += named(i) != NOPS;
	diag("exact: %u of %u records late, %llu overshoots, %llu steps a record", wrong, EXACT,
	     (unsigned long long)vm_stat(v, "lwp_overshoots"),
	     (unsigned long long)vm_stat(v, "lwp_steps") / EXACT);
	is(vm_stat(v, "lwp_overshoots"), wrong,
	   "exact: each late record is counted as an overshoot");
}

int main(void)
{
	if (!parameter_is("lwp_source", "perf"))
		skip_all("kvm-amd is not loaded with lwp_source=perf");
	prompt();
	exact();
	return done();
}
