// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cross-modifying code, as Linux patches a static branch (text_poke_bp()): INT3 over the first byte, then the other
 * bytes, then the first byte, and after each step every other processor serializes in an interrupt. Another
 * processor that executes the code meets INT3 only while the patching lasts, and never the old instruction after it.
 */
#include "apic.h"
#include "cpu.h"
#include "paging.h"
#include "report.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#define SYNC_VECTOR 0x40
#define PATCHES 1000u
#define CALLS_A_TURN 64
#define INSN_SIZE 5
#define INT3 0xcc

/* NOP of 5 bytes; and the JMP over "mov $1, %eax". What stands at the branch decides what the function returns. */
static const u8 nop[INSN_SIZE] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
static const u8 jmp[INSN_SIZE] = { 0xe9, 5, 0, 0, 0 };
/* xor %eax, %eax; the branch; mov $1, %eax; ret */
static const u8 function[] = { 0x31, 0xc0, 0x0f, 0x1f, 0x44, 0, 0, 0xb8, 1, 0, 0, 0, 0xc3 };
#define BRANCH 2

static u8 *code;
static volatile u32 synced;
static volatile bool patching, stop;
static volatile u64 traps, strays, calls, old;
/* What the function returns; 2 while it is patched. */
static volatile u32 wanted;

static void on_sync(struct regs *r)
{
	/* CPUID serializes, as IRET does. */
	cpuid(0, 0);
	synced++;
	apic_eoi();
}

/* The trap's address lies after INT3: the program continues as if it were the NOP. */
static void on_int3(struct regs *r)
{
	traps++;
	if (!patching)
		strays++;
	r->rip = (u64)code + BRANCH + INSN_SIZE;
}

static void execute(void *arg)
{
	asm volatile("sti");
	while (!stop) {
		u32 before = wanted, value, behind;

		asm volatile("call *%1" : "=a"(value) : "r"(code) : "memory", "cc");
		behind = wanted;
		/* Processors that share one thread take turns here. */
		if (!(++calls % CALLS_A_TURN))
			pause();
		if (before == behind && before < 2 && value != before)
			old++;
	}
	asm volatile("cli");
}

static void synchronize(void)
{
	u32 before = synced;

	apic_send(1, SYNC_VECTOR);
	while (synced == before)
		pause();
}

static void patch(const u8 *insn, u32 value)
{
	volatile u8 *at = code + BRANCH;

	wanted = 2;
	patching = true;
	synchronize();
	at[0] = INT3;
	synchronize();
	for (u32 i = 1; i < INSN_SIZE; i++)
		at[i] = insn[i];
	synchronize();
	at[0] = insn[0];
	synchronize();
	patching = false;
	wanted = value;
}

FLAT_TEST(code_patch)
{
	code = (u8 *)phys_alloc(1, PAGE_SIZE);
	memcpy(code, function, sizeof(function));
	irq_set_handler(SYNC_VECTOR, on_sync);
	irq_set_handler(VEC_BP, on_int3);
	wanted = 1;
	smp_start();
	smp_run(1, execute, NULL);
	for (u32 i = 0; i < PATCHES; i++) {
		u64 before = calls;

		patch(i & 1 ? nop : jmp, i & 1);
		/* The new instruction is executed before it goes again. */
		while (calls - before < 2)
			pause();
	}
	stop = true;
	smp_wait(1);
	report_eq(strays, 0, "INT3 is executed only while the branch is patched");
	report_eq(old, 0, "the old branch is not executed after the patching");
	report_note("%lu calls, INT3 %lu times", calls, traps);
}
