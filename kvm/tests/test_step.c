// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting by single steps is exact, and the guest never sees the RFLAGS.TF that does it.
 *
 * With EventInterval 2 = 0 every counted instruction stores a record, so the ring is the list of what was
 * counted; each test has that list written down. The program is bracketed by LLWPCB, which never counts,
 * and SLWPCB, which counts after its flush: its record is the last, stored before INT 80h.
 */
#include <sys/ioctl.h>
#include <stdio.h>
#include "vm.h"

#define TF 0x100
#define RF 0x10000

#define PROGRAM(name, text)                                         \
	extern const u8 name[], name##_end[];                       \
	asm(".pushsection .text\n" #name ":\n	llwpcb %rbx\n" text \
	    "	slwpcb %rax\n	int $0x80\n" #name "_end:\n.popsection\n")

struct vm *vm;
struct vcpu *v;

static void begin(const u8 *from, const u8 *to, u32 event)
{
	vm = vm_new(true);
	v = vm_add_vcpu(vm);
	block_init(vm, LWP_BIT(event), 128);
	block_event(vm, event, 0, 0);
	vm_load(vm, from, to);
}

/* The counted instructions, as offsets from the program's start; -1 ends the list. */
static void counted(const int *offsets, const char *what)
{
	u32 n = 0, head = block_head(vm);

	for (; offsets[n] >= 0; n++) {
		u64 address = n < head ? ring_record(vm, n).address - VM_CODE : ~(u64)0;

		if (address == (u64)offsets[n])
			continue;
		ok(false, "%s", what);
		diag("record %u of %u: offset 0x%llx, wanted 0x%x", n, head,
		     (unsigned long long)address, offsets[n]);
		return;
	}
	ok(n == head, "%s: %u instructions counted", what, head);
	if (n != head)
		diag("wanted %u; the next is 0x%llx", n,
		     (unsigned long long)ring_record(vm, n).address - VM_CODE);
}
/* How many instructions have counted, of a counter that was 1000; SLWPCB itself comes after its flush. */
static void total(u32 wanted, const char *what)
{
	is(1000 - block_counter(vm, 2), wanted, what);
}

static void begin_total(const u8 *from, const u8 *to)
{
	begin(from, to, 2);
	block_event(vm, 2, 1000, 1000);
}

#define COUNTED(what, ...) counted((const int[]){ __VA_ARGS__, -1 }, what)

static void run_to_end(void)
{
	if (!vm_finish(vm, v))
		ok(false, "the program runs to its end");
}

/* Offsets: llwpcb is 5 bytes. */
PROGRAM(straight, "	nop\n" /* 5 */
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

static void every_instruction_counts_once(void)
{
	begin(straight, straight_end, 2);
	run_to_end();
	COUNTED("straight code, loop, call, CPUID", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 23, 21,
		24, 26, 28, 30, 32, 34, 39);
	vm_free(vm);
}

static void every_branch_has_direction_and_target(void)
{
	begin(straight, straight_end, 3);
	run_to_end();
	COUNTED("branches", 14, 14, 14, 16, 23, 21, 26, 28);
	is(ring_record(vm, 0).flags, LWP_RECORD_TKN, "LOOP with rCX = 3 is taken");
	is(ring_record(vm, 0).data2, VM_CODE + 13, "its target");
	is(ring_record(vm, 2).flags, 0, "LOOP with rCX = 1 is not taken");
	is(ring_record(vm, 2).data2, VM_CODE + 16, "its fall-through");
	is(ring_record(vm, 3).data2, VM_CODE + 23, "target of CALL");
	is(ring_record(vm, 4).data2, VM_CODE + 21, "target of RET");
	is(ring_record(vm, 6).flags, 0, "JNZ with ZF = 1 is not taken");
	is(ring_record(vm, 7).flags, LWP_RECORD_TKN, "JZ to the next instruction is taken");
	vm_free(vm);
}

PROGRAM(flags, "	stc\n" /* 5 */
	       "	pushf\n" /* 6 */
	       "	pop %r8\n" /* 7 */
	       "	push $0x46\n" /* 9 */
	       "	popf\n" /* 11 */
	       "	jnz 1f\n" /* 12 */
	       "	pushf\n" /* 14 */
	       "	pop %r9\n" /* 15 */
	       "1:	nop\n"); /* 17 */

static void pushf_image_has_no_tf(void)
{
	begin(flags, flags_end, 2);
	run_to_end();
	COUNTED("PUSHF and POPF", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
	is(v->regs.r8, 0x203, "first image: IF, CF");
	is(v->regs.r9, 0x246, "second image: what POPF loaded, IF kept out of reach");
	vm_free(vm);
}

PROGRAM(call_os, "	nop\n" /* 5 */
		 "	mov $0x42, %r11d\n" /* 6 */
		 "	syscall\n" /* 12, not counted */
		 "	mov %r11, %r8\n" /* 14 */
		 "	syscall\n" /* 17 */
		 "	nop\n"); /* 19 */

static void syscall_saves_no_tf_and_sysret_resumes(void)
{
	begin(call_os, call_os_end, 2);
	is(vm_run(vm, v), VM_SYSCALL, "SYSCALL reaches the kernel");
	is(v->regs.rcx, VM_CODE + 14, "rCX is the return address");
	is(v->regs.r11, 0x202, "R11 has no TF");
	is(v->regs.rflags & 0x202, 0x002, "SFMASK took IF away");
	is(vm_run(vm, v), VM_SYSCALL, "SYSRET returns, the next SYSCALL comes");
	is(v->regs.r11, 0x202, "R11 has no TF again");
	run_to_end();
	COUNTED("SYSCALL and SYSRET do not count", 5, 6, 14, 19, 20);
	is(v->regs.r8, 0x202, "the program sees what SYSCALL saved");
	vm_free(vm);
}

PROGRAM(traps, "	nop\n" /* 5 */
	       "	int3\n" /* 6 */
	       "	nop\n" /* 7 */
	       "	.byte 0xf1\n" /* 8: ICEBP */
	       "	nop\n" /* 9 */
	       "	int $4\n" /* 10 */
	       "	nop\n"); /* 12 */

static void software_interrupts_push_no_tf(void)
{
	begin(traps, traps_end, 2);
	is(vm_run(vm, v), 3, "INT3");
	is(vm_frame(vm, v, 3).rflags & TF, 0, "no TF in its frame");
	is(vm_frame(vm, v, 3).rip, VM_CODE + 7, "its return address");
	is(vm_run(vm, v), 1, "ICEBP");
	is(vm_frame(vm, v, 1).rflags & TF, 0, "no TF in its frame");
	is(vm_run(vm, v), 4, "INT 4");
	is(vm_frame(vm, v, 4).rflags & TF, 0, "no TF in its frame");
	run_to_end();
	COUNTED("INT3, ICEBP, INT n do not count", 5, 7, 9, 12, 13);
	vm_free(vm);
}

PROGRAM(stack_segment, "	mov %ss, %eax\n" /* 5 */
		       "	mov %eax, %ss\n" /* 7 */
		       "	nop\n" /* 9 */
		       "	mov %eax, %ss\n" /* 10 */
		       "	pushf\n" /* 12 */
		       "	pop %r8\n" /* 13 */
		       "	mov %eax, %ss\n" /* 15 */
		       "	syscall\n" /* 17 */
		       "	nop\n"); /* 19 */

static void mov_ss_does_not_swallow_a_step(void)
{
	begin_total(stack_segment, stack_segment_end);
	is(vm_run(vm, v), VM_SYSCALL, "SYSCALL in the shadow of MOV SS");
	is(v->regs.r11 & TF, 0, "saves no TF");
	run_to_end();
	total(8, "MOV SS and what follows count, SYSCALL does not");
	is(v->regs.r8, 0x202, "PUSHF in the shadow of MOV SS pushes no TF");
	vm_free(vm);
}

/* The record of MOV SS at 7 waits for the end of the shadow, after NOP at 9. */
static void nothing_is_stored_in_the_shadow_of_mov_ss(void)
{
	begin(stack_segment, stack_segment_end, 2);
	block_event(vm, 2, 100, 1);
	vm_map(vm, VM_RING, false);
	is(vm_run(vm, v), 14, "#PF of the store");
	is(vm_frame(vm, v, 14).rip, VM_CODE + 10,
	   "not before the instruction after MOV SS is done");
	vm_map(vm, VM_RING, true);
	vm_run(vm, v);
	run_to_end();
	COUNTED("the record names MOV SS", 7);
	vm_free(vm);
}

PROGRAM(repeat, "	mov $5, %ecx\n" /* 5 */
		"	rep stosb\n" /* 10 */
		"	rep stosb\n" /* 12: rCX = 0 */
		"	nop\n"); /* 14 */

static void rep_counts_once(void)
{
	begin(repeat, repeat_end, 2);
	run_to_end();
	COUNTED("REP with 5 and with 0 iterations", 5, 10, 12, 14, 15);
	is(v->regs.rdi, VM_DATA + 5, "all iterations ran");
	vm_free(vm);
}

PROGRAM(faults, "	nop\n" /* 5 */
		"	mov (%rdi), %eax\n" /* 6: #PF */
		"	nop\n" /* 8 */
		"	xor %ecx, %ecx\n" /* 9 */
		"	div %ecx\n" /* 11: #DE, restarted */
		"	mov %rsp, %cr0\n" /* 13: #GP, skipped */
		"	ud2\n" /* 16: #UD, skipped */
		"	nop\n"); /* 18 */

static void skip(int vector, unsigned int bytes)
{
	u64 at = v->regs.rsp + (vector == 13 ? 8 : 0);

	lwp_put64(vm->mem + at, vm_frame(vm, v, vector).rip + bytes);
}

static void faulting_instructions_do_not_count(void)
{
	struct kvm_sregs s;

	begin(faults, faults_end, 2);
	vm_map(vm, VM_DATA, false);
	is(vm_run(vm, v), 14, "#PF in mid-step");
	is(vm_frame(vm, v, 14).rflags & TF, 0, "no TF in its frame");
	is(vm_frame(vm, v, 14).error, 4, "its error code");
	vm_get_sregs(v, &s);
	is(s.cr2, VM_DATA, "CR2 is the guest's linear address");
	vm_map(vm, VM_DATA, true);
	is(vm_run(vm, v), 0, "#DE");
	is(vm_frame(vm, v, 0).rflags & TF, 0, "no TF in its frame");
	v->regs.rcx = 1;
	v->regs.rdx = 0;
	vm_set_regs(v);
	is(vm_run(vm, v), 13, "#GP");
	is(vm_frame(vm, v, 13).rflags & TF, 0, "no TF in its frame");
	is(vm_frame(vm, v, 13).error, 0, "its error code");
	skip(13, 3);
	is(vm_run(vm, v), 6, "#UD");
	is(vm_frame(vm, v, 6).rflags & TF, 0, "no TF in its frame");
	skip(6, 2);
	run_to_end();
	COUNTED("what faults counts when it is restarted, once", 5, 6, 8, 9, 11, 18, 19);
	vm_free(vm);
}

PROGRAM(own_tf, "	pushf\n" /* 5 */
		"	orl $0x100, (%rsp)\n" /* 6 */
		"	popf\n" /* 13 */
		"	nop\n" /* 14: #DB at 15 */
		"	mov %ss, %eax\n" /* 15: #DB at 17 */
		"	mov %eax, %ss\n" /* 17: held back */
		"	nop\n" /* 19: #DB at 20 */
		"	pushf\n" /* 20: #DB at 21 */
		"	andl $~0x100, (%rsp)\n" /* 21: #DB at 28 */
		"	popf\n" /* 28: #DB at 29 */
		"	nop\n"); /* 29 */

static void guests_own_single_step_goes_on(void)
{
	static const u64 stops[] = { 15, 17, 20, 21, 28, 29 };
	u32 i;

	begin_total(own_tf, own_tf_end);
	for (i = 0; i < 6; i++) {
		int stop = vm_run(vm, v);

		ok(stop == 1 && vm_frame(vm, v, 1).rip == VM_CODE + stops[i],
		   "#DB of the guest at offset %llu", (unsigned long long)stops[i]);
		if (stop != 1 || vm_frame(vm, v, 1).rip != VM_CODE + stops[i])
			diag("got %d at 0x%llx", stop,
			     (unsigned long long)vm_frame(vm, v, 1).rip - VM_CODE);
		if (stop != 1)
			break;
	}
	if (i == 6)
		run_to_end();
	total(11, "all instructions count while the guest single-steps itself");
	vm_free(vm);
}

static void guests_breakpoint_still_hits(void)
{
	struct kvm_debugregs d = { .dr6 = 0xffff0ff0, .dr7 = 0x402 };

	begin(straight, straight_end, 2);
	d.db[0] = VM_CODE + 16; /* CALL: instruction breakpoint */
	if (ioctl(v->fd, KVM_SET_DEBUGREGS, &d))
		ok(false, "KVM_SET_DEBUGREGS");
	is(vm_run(vm, v), 1, "#DB of the guest's breakpoint");
	is(vm_frame(vm, v, 1).rip, VM_CODE + 16, "before the instruction");
	is(vm_frame(vm, v, 1).rflags & TF, 0, "no TF in its frame");
	ioctl(v->fd, KVM_GET_DEBUGREGS, &d);
	is(d.dr6 & 0x400f, 1, "DR6: B0, not BS");
	/* As a kernel does for an instruction breakpoint: set RF in the frame. */
	lwp_put64(vm->mem + v->regs.rsp + 16, vm_frame(vm, v, 1).rflags | RF);
	run_to_end();
	d.dr7 = 0x400;
	ioctl(v->fd, KVM_SET_DEBUGREGS, &d);
	COUNTED("around a breakpoint of the guest", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 23, 21,
		24, 26, 28, 30, 32, 34, 39);
	vm_free(vm);
}

static void user_space_single_steps_beside(void)
{
	struct kvm_guest_debug dbg = { .control = KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP };
	static const u64 stops[] = { 6, 7, 9, 11, 12, 14, 15, 17, 18 };
	struct kvm_guest_debug off = { 0 };
	u32 i;

	begin(flags, flags_end, 2);
	/* LLWPCB first: it is completed by KVM. */
	if (ioctl(v->fd, KVM_SET_GUEST_DEBUG, &dbg))
		ok(false, "KVM_SET_GUEST_DEBUG");
	is(vm_run(vm, v), VM_DEBUG, "stop after LLWPCB");
	is(v->regs.rip, VM_CODE + 5, "at the next instruction");
	for (i = 0; i < 9; i++) {
		ioctl(v->fd, KVM_SET_GUEST_DEBUG, &dbg);
		if (vm_run(vm, v) != VM_DEBUG || v->regs.rip != VM_CODE + stops[i])
			break;
	}
	is(i, 9, "one stop for each instruction");
	if (i != 9)
		diag("at 0x%llx, wanted 0x%llx", (unsigned long long)v->regs.rip - VM_CODE,
		     (unsigned long long)stops[i]);
	ioctl(v->fd, KVM_SET_GUEST_DEBUG, &off);
	run_to_end();
	COUNTED("while user space single-steps", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
	is(v->regs.r8 & TF, 0, "PUSHF pushes no TF of user space's");
	vm_free(vm);
}

/* An NMI hits the program between two steps; its handler returns with IRET. */
static void interrupts_push_no_tf_and_iret_resumes(void)
{
	struct kvm_guest_debug dbg = { .control = KVM_GUESTDBG_ENABLE | KVM_GUESTDBG_SINGLESTEP };
	struct kvm_guest_debug off = { 0 };

	begin(straight, straight_end, 2);
	ioctl(v->fd, KVM_SET_GUEST_DEBUG, &dbg);
	vm_run(vm, v);
	ioctl(v->fd, KVM_SET_GUEST_DEBUG, &dbg);
	vm_run(vm, v);
	ioctl(v->fd, KVM_SET_GUEST_DEBUG, &off);
	ioctl(v->fd, KVM_NMI);
	is(vm_run(vm, v), 2, "NMI");
	is(vm_frame(vm, v, 2).rip, VM_CODE + 6, "between two instructions of the program");
	is(vm_frame(vm, v, 2).rflags & TF, 0, "no TF in its frame");
	run_to_end();
	COUNTED("around an NMI", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 23, 21, 24, 26, 28, 30, 32,
		34, 39);
	vm_free(vm);
}

/* The ring's second page is missing when record 129 is due: #PF at the next instruction, then retried. */
PROGRAM(counting, "	mov $200, %ecx\n" /* 5 */
		  "1:	loop 1b\n"); /* 10 */

static void a_store_that_faults_is_retried_at_its_rip(void)
{
	struct kvm_sregs s;

	begin(counting, counting_end, 2);
	block_init(vm, LWP_F_IRE, 512);
	block_event(vm, 2, 0, 0);
	vm_map(vm, VM_RING + 0x1000, false);
	is(vm_run(vm, v), 14, "#PF of the store");
	is(vm_frame(vm, v, 14).rip, VM_CODE + 10, "rIP of the next instruction");
	is(vm_frame(vm, v, 14).error, 6, "user write");
	is(vm_frame(vm, v, 14).rflags & TF, 0, "no TF in its frame");
	vm_get_sregs(v, &s);
	is(s.cr2, VM_RING + 0x1000, "CR2 is the record's place");
	vm_map(vm, VM_RING + 0x1000, true);
	run_to_end();
	is(block_head(vm), 202, "all 202 instructions counted");
	vm_free(vm);
}

int main(void)
{
	every_instruction_counts_once();
	every_branch_has_direction_and_target();
	pushf_image_has_no_tf();
	syscall_saves_no_tf_and_sysret_resumes();
	software_interrupts_push_no_tf();
	mov_ss_does_not_swallow_a_step();
	nothing_is_stored_in_the_shadow_of_mov_ss();
	rep_counts_once();
	faulting_instructions_do_not_count();
	guests_own_single_step_goes_on();
	user_space_single_steps_beside();
	interrupts_push_no_tf_and_iret_resumes();
	a_store_that_faults_is_retried_at_its_rip();
	guests_breakpoint_still_hits();
	return done();
}
