// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The four instructions at CPL 3 under KVM: enable, query, LWPINS and LWPVAL records, flags and
 * rIP, faults (43724-501, 43724-505, 43724-601 to 43724-603, 43724-606, 43724-607, 43724-611,
 * 43724-613, 43724-620, 43724-621, 43724-625, 43724-629, 43724-631, 43724-632, 43724-712,
 * 2007-501).
 */
#include <sys/ioctl.h>
#include "counted.h"

/* rbx: block, rdi: data */
extern const u8 basic_ins[];
GUEST_CODE(basic, "	slwpcb %rax\n" /* off: 0 */
		  "	mov %rax, %r8\n"
		  "	llwpcb %rbx\n"
		  "	slwpcb %r9\n"
		  "	stc\n"
		  "	mov $0x11223344aabbccdd, %rdx\n"
		  "	mov $0x55667788, %ecx\n"
		  "basic_ins:\n"
		  "	lwpins $0x700d1234, %ecx, %rdx\n"
		  "	setc %r10b\n"
		  "	movl $0xcafe0001, (%rdi)\n"
		  "	lwpins $0x5678, (%rdi), %edx\n"
		  "	xor %r11d, %r11d\n"
		  "	llwpcb %r11\n"
		  "	slwpcb %rax\n"
		  "	int $0x80\n");

TEST(lwpins_stores_records)
{
	struct lwp_record r;

	begin(basic, basic_end, 2);
	block_init(vm, 0, 32);
	ok(vm_finish(vm, v), "the program runs to its end");
	is(v->regs.r8, 0, "SLWPCB while LWP is off gives 0");
	is(v->regs.r9, VM_BLOCK, "SLWPCB gives the block");
	is(v->regs.r10 & 0xff, 0, "LWPINS with room in the ring clears CF");
	is(v->regs.rax, 0, "LLWPCB 0 switches LWP off");
	is(block_head(vm), 2, "two records, flushed head");
	r = ring_record(vm, 0);
	is(r.event_id, LWP_EVENT_ID_INS, "EventId of LWPINS");
	is(r.flags, 0x1234, "Flags are imm[15:0]");
	is(r.data1, 0x55667788, "Data1 is r/m32");
	is(r.data2, 0x11223344aabbccddull, "Data2 is operand 1, 64 bits");
	is(r.address, VM_AT(basic, basic_ins), "address of LWPINS");
	r = ring_record(vm, 1);
	is(r.data1, 0xcafe0001, "Data1 from memory");
	is(r.data2, 0xaabbccdd, "Data2 is operand 1, 32 bits, zero-extended");
}

PROGRAM(val, "	mov $10, %esi\n"
	     "1:	lwpval $7, %esi, %rsi\n"
	     "	dec %esi\n"
	     "	jnz 1b\n");

/* Counter 0, interval 3: the 1st, 5th and 9th of ten LWPVALs store; the 10th leaves the counter at 2. */
TEST(lwpval_samples_every_interval_plus_one)
{
	begin(val, val_end, 1);
	block_event(vm, 1, 3, 0);
	ok(vm_finish(vm, v), "the program runs to its end");
	is(block_head(vm), 3, "three records");
	is(ring_record(vm, 0).data1, 10, "the first LWPVAL stores");
	is(ring_record(vm, 1).data1, 6, "the fifth stores");
	is(ring_record(vm, 2).data1, 2, "the ninth stores");
	is(block_counter(vm, 1), 2, "counter after the tenth");
}

/* The ring's page is missing: #PF for a user write, rIP at LWPINS; the restart stores. */
TEST(lwpins_faults_and_restarts)
{
	struct vm_frame f;

	begin(basic, basic_end, 2);
	block_init(vm, 0, 32);
	vm_map(vm, VM_RING, false);
	is(vm_run(vm, v), 14, "LWPINS into a missing ring raises #PF");
	f = vm_frame(vm, v, 14);
	is(f.rip, VM_AT(basic, basic_ins), "rIP is that of LWPINS");
	is(f.error, 6, "error code: user, write, not present");
	is(vm_sregs(v).cr2, VM_RING, "CR2 is the lowest missing byte");
	vm_map(vm, VM_RING, true);
	ok(vm_finish(vm, v), "the program continues");
	is(block_head(vm), 2, "nothing lost, nothing twice");
}

/* An instruction that crosses into a page that is missing: #PF for a user fetch there. */
TEST(fetch_faults_on_the_second_page)
{
	begin(basic, basic_end, 2);
	memcpy(vm->mem + VM_CODE + 0xffc, "\x8f\xe9\xf8\x12\xc8\xcd\x80",
	       7); /* slwpcb %rax; int $0x80 */
	v->regs.rax = 1;
	vm_go_to(v, VM_CODE + 0xffc);
	vm_map(vm, VM_CODE + 0x1000, false);
	is(vm_run(vm, v), 14, "the missing half raises #PF");
	is(vm_frame(vm, v, 14).error, 0x14, "error code: user, fetch");
	is(vm_sregs(v).cr2, VM_CODE + 0x1000, "CR2 is the second page");
	vm_map(vm, VM_CODE + 0x1000, true);
	ok(vm_finish(vm, v), "the instruction restarts");
	is(v->regs.rax, 0, "and executes");
}

extern const u8 tf_trap[];
GUEST_CODE(tf, "	pushf\n"
	       "	orl $0x100, (%rsp)\n"
	       "	popf\n"
	       "	slwpcb %rax\n"
	       "tf_trap:\n"
	       "	int $0x80\n");

TEST(guest_single_step_traps_after_an_lwp_instruction)
{
	struct vm_frame f;

	begin(tf, tf_end, 2);
	is(vm_run(vm, v), 1, "#DB after SLWPCB");
	f = vm_frame(vm, v, 1);
	is(f.rip, VM_AT(tf, tf_trap), "at the next instruction");
	is(f.rflags & 0x100, 0x100, "RFLAGS.TF is the guest's own");
}

/* #UD stays #UD: undefined XOP encodings, and everything while LWP is not in CPUID. */
TEST(undefined_stays_undefined)
{
	vm_free(vm);
	vm = vm_new(true);
	vm_leaf(vm, LWP_CPUID_PRESENT_LEAF)->ecx &= ~LWP_CPUID_PRESENT_ECX;
	v = vm_add_vcpu(vm);
	vm_load(vm, basic, basic_end);
	is(vm_run(vm, v), 6, "#UD without LWP in CPUID");
	is(vm_frame(vm, v, 6).rip, VM_CODE, "at the instruction");

	begin(basic, basic_end, 2);
	memcpy(vm->mem + VM_CODE, "\x8f\xe9\x70\x12\xc8", 5); /* vvvv is not 1111b */
	is(vm_run(vm, v), 6, "#UD for SLWPCB with vvvv");
}

/* A migration sends it again. */
TEST(a_page_with_a_record_is_dirty)
{
	u64 dirty[VM_SIZE / 4096 / 64] = { 0 };
	struct kvm_dirty_log log = { .dirty_bitmap = dirty };
	struct kvm_userspace_memory_region region = {
		.flags = KVM_MEM_LOG_DIRTY_PAGES,
		.memory_size = VM_SIZE,
	};

	begin(basic, basic_end, 2);
	region.userspace_addr = (u64)vm->mem;
	is(ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region), 0,
	   "pages that are written to are logged");
	run_to_end();
	is(ioctl(vm->fd, KVM_GET_DIRTY_LOG, &log), 0, "the log");
	ok(dirty[VM_RING / 4096 / 64] >> VM_RING / 4096 % 64 & 1, "the page of the ring is dirty");
}
