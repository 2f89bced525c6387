// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threshold interrupt: after a record is stored and Threshold bytes or more of the ring are in use, vector
 * LWP_CFG[47:40] is requested at the vCPU's local APIC, as any other interrupt is.
 *
 * The program counts 61 instructions (MOV, 60 LOOPs) and stores a record at every 10th: six records
 * (43724-206, 43724-808, 43724-811, 43724-812).
 */
#include "counted.h"

#define CFG(vector) ((u64)(vector) << LWP_CFG_VECTOR_SHIFT | LWP_F_INT | LWP_F_IRE)
#define LOOP (VM_CODE + 10)

PROGRAM(sixty, "	mov $60, %ecx\n" /* 5 */
	       "1:	loop 1b\n" /* 10 */
	       "	mov %rdi, %rdi\n");

PROGRAM(masked, "	mov $60, %ecx\n" /* 5 */
		"1:	loop 1b\n" /* 10 */
		"	mov %rdi, %rdi\n" /* 12 */
		"	sti\n" /* 15 */
		"	nop\n" /* 16 */
		"	nop\n"); /* 17 */

static void start(const u8 *from, const u8 *to, u64 cfg, u32 flags, u32 threshold)
{
	begin(from, to, 2);
	block_init(vm, flags, 128);
	block_event(vm, 2, 9, 9);
	lwp_put32(vm->mem + VM_BLOCK + LWP_CB_THRESHOLD, threshold);
	vm_apic_on(v);
	is(vm_set_msr(v, LWP_MSR_CFG, cfg), 0, "LWP_CFG with a vector");
}

/* Run to the end; returns how often `vector` came. */
static u32 interrupts(int vector)
{
	u32 n = run_past(vector, vector);

	is(block_head(vm), 6, "six records");
	return n;
}

/* Threshold 2 records: the 2nd record is that of the 20th instruction, MOV and 19 LOOPs: rCX = 41. */
TEST(it_comes_at_each_record_from_threshold_on)
{
	start(sixty, sixty_end, CFG(VM_EOI_VECTOR), LWP_F_INT | LWP_F_IRE, 64);
	is(vm_run(vm, v), VM_EOI_VECTOR, "interrupt");
	is(block_head(vm), 2, "after the 2nd record");
	is(vm_frame(vm, v, VM_EOI_VECTOR).rip, LOOP, "before the next instruction");
	is(v->regs.rcx, 41, "which is the 21st");
	is(vm_frame(vm, v, VM_EOI_VECTOR).rflags & TF, 0, "no TF in its frame");
	is(interrupts(VM_EOI_VECTOR), 4, "and again at the 3rd to the 6th");
}

TEST(consuming_records_holds_it_back)
{
	start(sixty, sixty_end, CFG(VM_EOI_VECTOR), LWP_F_INT | LWP_F_IRE, 64);
	is(vm_run(vm, v), VM_EOI_VECTOR, "interrupt at the 2nd record");
	lwp_put32(vm->mem + VM_BLOCK + LWP_CB_TAIL, 64);
	is(vm_run(vm, v), VM_EOI_VECTOR, "and the next one");
	is(block_head(vm), 4, "at the 4th");
	lwp_put32(vm->mem + VM_BLOCK + LWP_CB_TAIL, 128);
	is(interrupts(VM_EOI_VECTOR), 1, "the last at the 6th");
}

TEST(threshold_zero_means_every_record)
{
	start(sixty, sixty_end, CFG(VM_EOI_VECTOR), LWP_F_INT | LWP_F_IRE, 0);
	is(interrupts(VM_EOI_VECTOR), 6, "one interrupt each");
}

TEST(it_waits_for_rflags_if)
{
	start(masked, masked_end, CFG(VM_EOI_VECTOR), LWP_F_INT | LWP_F_IRE, 64);
	v->regs.rflags = 0x3002; /* IOPL 3, IF clear */
	vm_set_regs(v);
	is(vm_run(vm, v), VM_EOI_VECTOR, "interrupt");
	is(vm_frame(vm, v, VM_EOI_VECTOR).rip, VM_CODE + 17, "after the shadow of STI");
	is(interrupts(VM_EOI_VECTOR), 0, "five requests are one interrupt");
}

TEST(it_waits_for_eoi)
{
	start(sixty, sixty_end, CFG(0x41), LWP_F_INT | LWP_F_IRE, 64);
	is(interrupts(0x41), 1, "one interrupt without EOI");
	ok(vm_apic_pending(v, 0x41), "the next one waits in the APIC");
}

TEST(it_needs_flags_and_lwp_cfg_and_a_vector)
{
	start(sixty, sixty_end, CFG(VM_EOI_VECTOR), LWP_F_IRE, 0);
	is(interrupts(VM_EOI_VECTOR), 0, "none without LWPCB.Flags.INT");
	start(sixty, sixty_end, CFG(VM_EOI_VECTOR) & ~(u64)LWP_F_INT, LWP_F_INT | LWP_F_IRE, 0);
	is(interrupts(VM_EOI_VECTOR), 0, "none without LWP_CFG.INT");
	start(sixty, sixty_end, CFG(15), LWP_F_INT | LWP_F_IRE, 0);
	is(interrupts(15), 0, "vectors below 16 do not exist");
	ok(!vm_apic_pending(v, 15), "and are not requested");
}
