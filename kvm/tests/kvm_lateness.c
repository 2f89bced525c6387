// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How late the interrupts of this machine's counters come under KVM, for ./vlwp test kvm --here: in instructions, and in
 * cycles where perf counts the guest's. Four kinds of code, because what a processor has in flight when a counter
 * overflows depends on the code.
 *
 * The program is a loop of many thousand instructions of one length, so that the address in a record tells how many had
 * retired when the counter's interrupt ended the guest. A turn of the loop is a period long, and what is late is
 * subtracted from the next period; so the same instruction is due each time.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "counted.h"

#define INSNS 0x20000u /* the loop has two instructions more, DEC and JNZ */
#define PERIOD (INSNS + 2) /* longer than any lateness that was measured on Zen */
#define PROMPT 1000u /* records of each kind of code, if there is time */
#define PROMPT_BATCH 50u /* of a machine */
#define EXACT 100u
#define EXACT_BATCH 4u
#define SECONDS 2 /* after which no batch begins */
#define HEAD 11u /* bytes of LLWPCB and MOV */
#define JNZ 9u /* the end of the JNZ, from the DEC */
#define LINE 64 /* bytes of a line of the cache */
#define LINES ((VM_APIC - VM_DATA) / LINE) /* more than L1D has */

static const struct code {
	const char *name;
	u32 size; /* bytes of an instruction */
	u8 text[8]; /* some of them */
} codes[] = {
	{ "NOPs", 1, { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 } },
	/* imul %rax, %rax */
	{ "a dependent chain", 4, { 0x48, 0x0f, 0xaf, 0xc0, 0x48, 0x0f, 0xaf, 0xc0 } },
	/* mov 0(%rsi), %rsi */
	{ "a pointer chase", 4, { 0x48, 0x8b, 0x76, 0x00, 0x48, 0x8b, 0x76, 0x00 } },
	/* rol %eax; jc to the next; rol %eax; jmp to the next */
	{ "branchy code", 2, { 0xd1, 0xc0, 0x72, 0x00, 0xd1, 0xc0, 0xeb, 0x00 } },
};

static const struct code *code;
static int cycles = -1; /* perf's counter of the guest's cycles at CPL 3 */

extern const u8 head[], head_end[], tail[], tail_end[];
asm(".pushsection .text\n"
    "head:	llwpcb %rbx\n"
    "	mov $0x11223344, %r8d\n"
    "head_end:\n"
    "tail:	dec %r8d\n"
    "	.byte 0x0f, 0x85\n" /* JNZ to the first instruction */
    "	.long 0\n"
    "	slwpcb %rax\n"
    "	int $0x80\n"
    "tail_end:\n.popsection\n");

/* A ring of pointers through all lines of VM_DATA, in a random order (Sattolo's algorithm). */
static void make_ring(void)
{
	static u32 next[LINES];
	u32 i;

	for (i = 0; i < LINES; i++)
		next[i] = i;
	for (i = LINES; --i;) {
		u32 other = (u32)rand() % i, line = next[i];

		next[i] = next[other];
		next[other] = line;
	}
	for (i = 0; i < LINES; i++)
		lwp_put64(vm->mem + VM_DATA + i * LINE, VM_DATA + next[i] * LINE);
}

/* A machine in which `rounds` records are due. The ring has room for all: a record that is missed could be late unseen. */
static void begin_loop(u32 delivery, u32 rounds)
{
	static u8 text[HEAD + INSNS * 4 + 64];
	u8 *end = text + HEAD + INSNS * code->size, *at;
	u32 back = -(INSNS * code->size + JNZ);

	memcpy(text, head, HEAD);
	memcpy(text + HEAD - sizeof(rounds), &rounds, sizeof(rounds));
	for (at = text + HEAD; at < end; at += sizeof(code->text))
		memcpy(at, code->text, sizeof(code->text));
	memcpy(end, tail, (size_t)(tail_end - tail));
	memcpy(end + JNZ - sizeof(back), &back, sizeof(back));
	begin_delivery(text, end + (tail_end - tail), delivery, 0);
	block_init(vm, LWP_BIT(2), rounds + 32); /* the least is 32 */
	event_each(2, PERIOD);
	make_ring();
	v->regs.rax = 0x9e3779b1;
	v->regs.rsi = VM_DATA;
	vm_set_regs(v);
}

/* The instruction that a record names, counted from the loop's first. DEC is INSNS, and has 3 bytes. */
static u32 named(u32 record)
{
	u64 offset = ring_record(vm, record).address - VM_CODE - HEAD;

	return offset <= INSNS * code->size ? (u32)(offset / code->size) : INSNS + 1;
}

/*
 * How many instructions late the record is. MOV is number 1 of the first period, so each DEC is due; a record that is on
 * time names the JNZ after it, or the DEC if KVM has stepped that.
 */
static u32 late_by(u32 record)
{
	u32 next = named(record);

	return next >= INSNS ? 0 : next + 1;
}

static int ascending(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/* `late` is sorted. */
static void show(const u32 *late, u32 n, double each, const char *unit)
{
	diag("lateness in %s, %u interrupts: min %.0f, median %.0f, 99%% %.0f, max %.0f %s",
	     code->name, n, late[0] * each, late[n / 2] * each, late[n * 99 / 100] * each,
	     late[n - 1] * each, unit);
}

static void count_cycles(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_host = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	cycles = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Cycles of an instruction, on average; 0: no counter was there all the time. */
static double cycles_each(double insns)
{
	u64 got[3] = { 0 }; /* count, time enabled, time running */
	ssize_t n = read(cycles, got, sizeof(got));

	close(cycles);
	return n == sizeof(got) && got[1] == got[2] ? (double)got[0] / insns : 0;
}

static void prompt(void)
{
	time_t end = time(NULL) + SECONDS;
	u32 records = 0, lost = 0, due = 0, i;
	static u32 late[PROMPT];
	u64 no_counter = 0;
	double each;

	count_cycles();
	do {
		begin_loop(KVM_LWP_DELIVERY_PROMPT, PROMPT_BATCH);
		run_to_end();
		for (i = 0; i < block_head(vm) && records < PROMPT; i++)
			late[records++] = late_by(i);
		lost += (u32)missed();
		no_counter += vm_stat(v, "lwp_no_counter");
		due += PROMPT_BATCH;
	} while (due < PROMPT && time(NULL) < end);
	each = cycles_each((double)due * PERIOD);
	/* The interrupt of a machine's last period may come after the end. */
	ok(records + lost <= due && records + lost + due / PROMPT_BATCH >= due,
	   "prompt: each period has a record or is counted as missed: %u", records + lost);
	is(no_counter, 0, "prompt: there was always a counter");
	ok(records > due / 2, "prompt: most periods have a record");
	if (lost)
		diag("lateness of a whole period, %u instructions: %u periods", PERIOD, lost);
	if (!records)
		return;
	qsort(late, records, sizeof(*late), ascending);
	show(late, records, 1, "instructions");
	if (each > 0)
		show(late, records, each, "cycles, by the average of an instruction");
	else
		diag("lateness in %s, in cycles: perf had no counter for cycles", code->name);
}

static void exact(void)
{
	time_t end = time(NULL) + SECONDS;
	u32 records = 0, wrong = 0, due = 0, i;
	u64 overshoots = 0, steps = 0;

	do {
		begin_loop(KVM_LWP_DELIVERY_EXACT, EXACT_BATCH);
		run_to_end();
		for (i = 0; i < block_head(vm); i++)
			wrong += named(i) != INSNS;
		records += block_head(vm);
		overshoots += vm_stat(v, "lwp_overshoots");
		steps += vm_stat(v, "lwp_steps");
		due += EXACT_BATCH;
	} while (due < EXACT && time(NULL) < end);
	is(records, due, "exact: each period has a record");
	diag("exact: %s: %u of %u records late, %llu overshoots, %llu steps a record", code->name,
	     wrong, due, (unsigned long long)overshoots, (unsigned long long)steps / due);
	is(overshoots, wrong, "exact: each late record is counted as an overshoot");
}

int main(void)
{
	if (!parameter_is("lwp_source", "perf"))
		skip_all("kvm-amd is not loaded with lwp_source=perf");
	for (code = codes; code < codes + sizeof(codes) / sizeof(*codes); code++) {
		prompt();
		exact();
	}
	return done();
}
