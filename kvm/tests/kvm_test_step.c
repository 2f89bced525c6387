// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting by single steps is exact: which instructions count, what their records say, and when a record that
 * could not be stored is stored (43724-507, 43724-509, 43724-701, 43724-704, 43724-716, 43724-718,
 * 43724-813, 43724-815, 2007-701).
 */
#include "counted.h"
#include "texts.h"

PROGRAM(various, "	nop\n" /* 5 */
		 "	push %rdx\n" /* 6 */
		 "	pop %rcx\n" /* 7 */
		 "	mov $3, %ecx\n" /* 8 */
		 "1:	nop\n" /* 13 */
		 "	loop 1b\n" /* 14 */
		 "	call 2f\n" /* 16 */
		 "	jmp 3f\n" /* 21 */
		 "2:	ret\n" /* 23 */
		 "3:	xor %ecx, %ecx\n" /* 24 */
		 "	jnz 4f\n" /* 26 */
		 "	jz 4f\n" /* 28 */
		 "4:	cpuid\n" /* 30 */
		 "	rdtsc\n" /* 32 */
		 "	mov $0x200000, %ebx\n"); /* 34; slwpcb 39 */

TEST(every_instruction_counts_once)
{
	begin(various, various_end, 2);
	RUN_COUNTED("straight code, loop, call, CPUID", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 23,
		    21, 24, 26, 28, 30, 32, 34, 39);
}

TEST(every_branch_has_direction_and_target)
{
	begin(various, various_end, 3);
	RUN_COUNTED("branches", 14, 14, 14, 16, 23, 21, 26, 28);
	is(ring_record(vm, 0).flags, LWP_RECORD_TKN, "LOOP with rCX = 3 is taken");
	is(ring_record(vm, 0).data2, VM_CODE + 13, "its target");
	is(ring_record(vm, 2).flags, 0, "LOOP with rCX = 1 is not taken");
	is(ring_record(vm, 2).data2, VM_CODE + 16, "its fall-through");
	is(ring_record(vm, 3).data2, VM_CODE + 23, "target of CALL");
	is(ring_record(vm, 4).data2, VM_CODE + 21, "target of RET");
	is(ring_record(vm, 6).flags, 0, "JNZ with ZF = 1 is not taken");
	is(ring_record(vm, 7).flags, LWP_RECORD_TKN, "JZ to the next instruction is taken");
}

/* The ring's second page is missing when record 129 is due: #PF at the next instruction, then retried. */
PROGRAM(counting, "	mov $200, %ecx\n" /* 5 */
		  "1:	loop 1b\n"); /* 10 */

TEST(a_store_that_faults_is_retried_at_its_rip)
{
	begin(counting, counting_end, 2);
	block_init(vm, LWP_F_IRE, 512);
	block_event(vm, 2, 0, 0);
	vm_map(vm, VM_RING + 0x1000, false);
	is(vm_run(vm, v), 14, "#PF of the store");
	is(vm_frame(vm, v, 14).rip, VM_CODE + 10, "rIP of the next instruction");
	is(vm_frame(vm, v, 14).error, 6, "user write");
	is(vm_frame(vm, v, 14).rflags & TF, 0, "no TF in its frame");
	is(vm_sregs(v).cr2, VM_RING + 0x1000, "CR2 is the record's place");
	vm_map(vm, VM_RING + 0x1000, true);
	run_to_end();
	is(block_head(vm), 202, "all 202 instructions counted");
}

TEST(an_iret_of_the_program_counts)
{
	begin(iret, iret_end, 2);
	RUN_COUNTED("IRET at CPL 3", 5, 8, 10, 11, 12, 13, 15, 16, 23, 24, 26, 27, 32);
}
