// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest never sees the RFLAGS.TF with which KVM steps, and each instruction counts however its step ends. The
 * flag could become visible by: PUSHF and POPF; signal frames and all other images of RFLAGS that exceptions,
 * interrupts, NMI and SMI push; SYSCALL, SYSENTER, INT n, INT3, INTO, ICEBP; the shadow of MOV SS; repeated
 * strings; instructions that KVM completes; user space that reads registers (kvm_test_debug has the debuggers of
 * guest and user space). KVM completes task gates with the RFLAGS that user space sees; the
 * emulated processor of the nested lab does not intercept them (43724-604, 43724-702, 43724-713 to
 * 43724-715, 43724-816, 43724-819, 43724-920, 2007-810).
 */
#include <sys/ioctl.h>
#include <sys/time.h>
#include "counted.h"
#include "texts.h"

TEST(pushf_image_has_no_tf)
{
	begin(flags, flags_end, 2);
	RUN_COUNTED("PUSHF and POPF", 5, 6, 7, 9, 11, 12, 14, 15, 17, 18);
	is(v->regs.r8, 0x203, "first image: IF, CF");
	is(v->regs.r9, 0x246, "second image: what POPF loaded, IF kept out of reach");
}

PROGRAM(call_os, "	nop\n" /* 5 */
		 "	mov $0x42, %r11d\n" /* 6 */
		 "	syscall\n" /* 12, not counted */
		 "	mov %r11, %r8\n" /* 14 */
		 "	syscall\n" /* 17 */
		 "	nop\n"); /* 19 */

TEST(syscall_saves_no_tf_and_sysret_resumes)
{
	begin(call_os, call_os_end, 2);
	is(vm_run(vm, v), VM_SYSCALL, "SYSCALL reaches the kernel");
	is(v->regs.rcx, VM_CODE + 14, "rCX is the return address");
	is(v->regs.r11, 0x202, "R11 has no TF");
	is(v->regs.rflags & 0x202, 0x002, "SFMASK took IF away");
	is(vm_run(vm, v), VM_SYSCALL, "SYSRET returns, the next SYSCALL comes");
	is(v->regs.r11, 0x202, "R11 has no TF again");
	RUN_COUNTED("SYSCALL and SYSRET do not count", 5, 6, 14, 19, 20);
	is(v->regs.r8, 0x202, "the program sees what SYSCALL saved");
}

/* The next stop is an exception or interrupt. */
static void stops_without_tf(int vector, const char *what)
{
	is(vm_run(vm, v), vector, what);
	is(vm_frame(vm, v, vector).rflags & TF, 0, "no TF in its frame");
}

PROGRAM(traps, "	nop\n" /* 5 */
	       "	int3\n" /* 6 */
	       "	nop\n" /* 7 */
	       "	.byte 0xf1\n" /* 8: ICEBP */
	       "	nop\n" /* 9 */
	       "	int $4\n" /* 10 */
	       "	nop\n"); /* 12 */

TEST(software_interrupts_push_no_tf)
{
	begin(traps, traps_end, 2);
	stops_without_tf(3, "INT3");
	is(vm_frame(vm, v, 3).rip, VM_CODE + 7, "its return address");
	stops_without_tf(1, "ICEBP");
	stops_without_tf(4, "INT 4");
	RUN_COUNTED("INT3, ICEBP, INT n do not count", 5, 7, 9, 12, 13);
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

TEST(mov_ss_does_not_swallow_a_step)
{
	begin_total(stack_segment, stack_segment_end);
	is(vm_run(vm, v), VM_SYSCALL, "SYSCALL in the shadow of MOV SS");
	is(v->regs.r11 & TF, 0, "saves no TF");
	run_to_end();
	total(8, "MOV SS and what follows count, SYSCALL does not");
	is(v->regs.r8, 0x202, "PUSHF in the shadow of MOV SS pushes no TF");
}

PROGRAM(behind_stack_segment, "	mov %ss, %eax\n"
			      "	mov %eax, %ss\n" /* 7 */
			      "	int $4\n" /* not counted */
			      "	mov %rsp, %rdx\n"
			      "	mov %cs, %ebx\n"
			      "	lea 2f(%rip), %rdi\n"
			      "	mov $3, %ecx\n"
			      "1:	mov %eax, %ss\n"
			      "	loop 1b\n"
			      "	push %rax\n"
			      "	push %rdx\n"
			      "	pushf\n"
			      "	push %rbx\n"
			      "	push %rdi\n"
			      "	mov %eax, %ss\n"
			      "	iretq\n"
			      "2:	nop\n");

TEST(what_is_behind_mov_ss_counts_as_without_it)
{
	begin_total(behind_stack_segment, behind_stack_segment_end);
	stops_without_tf(4, "INT 4 in the shadow of MOV SS");
	run_to_end();
	total(20, "LOOP back to MOV SS and IRET in its shadow");
	begin(behind_stack_segment, behind_stack_segment_end, 2);
	stops_without_tf(4, "INT 4 in the shadow of MOV SS");
	RUN_COUNTED("what is in the shadow has no record while another waits", 5, 7, 11, 14, 16, 23,
		    28, 28, 28, 32, 33, 34, 35, 36, 37, 41, 42);
}

/* INT 4 comes before the record of MOV SS is stored. */
TEST(nothing_is_stored_before_int_in_the_shadow)
{
	begin(behind_stack_segment, behind_stack_segment_end, 2);
	block_event(vm, 2, 100, 1);
	vm_map(vm, VM_RING, false);
	stops_without_tf(4, "INT 4 first");
	is(vm_run(vm, v), 14, "then #PF of the store");
	vm_map(vm, VM_RING, true);
	run_to_end();
	is(ring_record(vm, 0).address, VM_CODE + 7, "the record names MOV SS");
}

/* The record of MOV SS at 7 waits for the end of the shadow, after NOP at 9. */
TEST(nothing_is_stored_in_the_shadow_of_mov_ss)
{
	begin(stack_segment, stack_segment_end, 2);
	block_event(vm, 2, 100, 1);
	vm_map(vm, VM_RING, false);
	is(vm_run(vm, v), 14, "#PF of the store");
	is(vm_frame(vm, v, 14).rip, VM_CODE + 10,
	   "not before the instruction after MOV SS is done");
	vm_map(vm, VM_RING, true);
	vm_run(vm, v);
	RUN_COUNTED("the record names MOV SS", 7);
}

PROGRAM(repeat, "	mov $5, %ecx\n" /* 5 */
		"	rep stosb\n" /* 10 */
		"	rep stosb\n" /* 12: rCX = 0 */
		"	nop\n"); /* 14 */

TEST(rep_counts_once)
{
	begin(repeat, repeat_end, 2);
	RUN_COUNTED("REP with 5 and with 0 iterations", 5, 10, 12, 14, 15);
	is(v->regs.rdi, VM_DATA + 5, "all iterations ran");
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

TEST(faulting_instructions_do_not_count)
{
	begin(faults, faults_end, 2);
	vm_map(vm, VM_DATA, false);
	stops_without_tf(14, "#PF in mid-step");
	is(vm_frame(vm, v, 14).error, 4, "its error code");
	is(vm_sregs(v).cr2, VM_DATA, "CR2 is the guest's linear address");
	vm_map(vm, VM_DATA, true);
	stops_without_tf(0, "#DE");
	v->regs.rcx = 1;
	v->regs.rdx = 0;
	vm_set_regs(v);
	stops_without_tf(13, "#GP");
	is(vm_frame(vm, v, 13).error, 0, "its error code");
	skip(13, 3);
	stops_without_tf(6, "#UD");
	skip(6, 2);
	RUN_COUNTED("what faults counts when it is restarted, once", 5, 6, 8, 9, 11, 18, 19);
}

/* Stop the program between its instructions at VM_CODE + 5 and + 6, with LWP on and stepping. */
static void stop_at_6(void)
{
	for (int i = 0; i < 2; i++) {
		vm_debug(v, KVM_GUESTDBG_SINGLESTEP, 0);
		vm_run(vm, v);
	}
	vm_debug(v, 0, 0);
	is(v->regs.rip, VM_CODE + 6, "the program is in mid-step");
}

TEST(an_nmi_in_mid_step_pushes_no_tf)
{
	begin(straight, straight_end, 2);
	stop_at_6();
	ioctl(v->fd, KVM_NMI);
	stops_without_tf(2, "NMI");
	is(vm_frame(vm, v, 2).rip, VM_CODE + 6, "between two instructions of the program");
	RUN_COUNTED("around an NMI", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 17);
}

TEST(an_interrupt_in_mid_step_pushes_no_tf)
{
	begin(straight, straight_end, 2);
	vm_apic_on(v);
	stop_at_6();
	vm_interrupt(vm, 0x41);
	stops_without_tf(0x41, "external interrupt");
	is(vm_frame(vm, v, 0x41).rip, VM_CODE + 6, "between two instructions of the program");
	RUN_COUNTED("around an interrupt", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 17);
}

#define SMM_ENTRY 0x38000
#define SMM_RFLAGS 0x3ff70

TEST(an_smi_in_mid_step_saves_no_tf)
{
	begin(straight, straight_end, 2);
	memcpy(vm->mem + SMM_ENTRY, "\xe6\x60\x0f\xaa", 4); /* out %al, $0x60; rsm */
	stop_at_6();
	if (ioctl(v->fd, KVM_SMI))
		ok(false, "KVM_SMI");
	is(vm_run(vm, v), 0x60, "SMI");
	is(lwp_get64(vm->mem + SMM_RFLAGS) & TF, 0, "no TF in the save state");
	RUN_COUNTED("around an SMI", 5, 6, 7, 8, 13, 14, 13, 14, 13, 14, 16, 17);
}

/* KVM intercepts #GP for a while for itself, as long as EFER.SVME is set; stepping needs it all the time. */
TEST(stepping_shares_an_intercept_with_kvm)
{
	struct kvm_sregs s;
	u32 i;

	begin(faults, faults_end, 2);
	stop_at_6();
	s = vm_sregs(v);
	for (i = 0; i < 2; i++) {
		s.efer ^= 0x1000;
		vm_set_sregs(v, &s);
	}
	vm_go_to(v, VM_CODE + 13);
	stops_without_tf(13, "#GP after a change of EFER.SVME");
	skip(13, 3);
	is(vm_run(vm, v), 6, "#UD");
	skip(6, 2);
	RUN_COUNTED("around a change of EFER.SVME", 5, 18, 19);
}

/* To run a signal handler, a kernel stores the frame's RFLAGS in the program's memory. */
PROGRAM(signals, "	nop\n" /* 5 */
		 "	mov (%rdi), %eax\n" /* 6: #PF */
		 "	nop\n" /* 8 */
		 "	jmp 1f\n" /* 9 */
		 "	nop\n" /* 11: the handler */
		 "	syscall\n" /* 12: sigreturn */
		 "1:	nop\n"); /* 14 */

TEST(a_signal_handler_sees_no_tf_and_is_counted)
{
	struct vm_frame f;

	begin(signals, signals_end, 2);
	vm_map(vm, VM_DATA, false);
	is(vm_run(vm, v), 14, "#PF in mid-step");
	f = vm_frame(vm, v, 14);
	is(f.rflags & TF, 0, "no TF in what the signal frame will have");
	lwp_put64(vm->mem + v->regs.rsp + 8, VM_CODE + 11);
	lwp_put64(vm->mem + v->regs.rsp + 8 + 16, 0x202);
	is(vm_run(vm, v), VM_SYSCALL, "the handler returns by a system call");
	vm_map(vm, VM_DATA, true);
	v->regs.rcx = f.rip;
	v->regs.r11 = f.rflags;
	vm_set_regs(v);
	RUN_COUNTED("program and handler", 5, 11, 6, 8, 9, 14, 15);
}

PROGRAM(intercepted, "	cpuid\n" /* 5 */
		     "	rdtsc\n" /* 7 */
		     "	mov $0x200000, %ebx\n" /* 9 */
		     "	mov $100, %eax\n" /* 14 */
		     "	vmmcall\n" /* 19 */
		     "	out %al, $0x51\n" /* 22 */
		     "	mov (%rdi), %eax\n" /* 24: not RAM */
		     "	add %eax, (%rdi)\n" /* 26 */
		     "	nop\n"); /* 28 */

TEST(what_kvm_completes_counts_once)
{
	begin(intercepted, intercepted_end, 2);
	vm_remap(vm, VM_DATA, 0xd0000000);
	v->regs.rflags |= 0x3000; /* IOPL 3 */
	vm_set_regs(v);
	is(vm_run(vm, v), 0x51, "OUT at CPL 3");
	is(v->regs.rip, VM_CODE + 24, "completed");
	is(vm_run(vm, v), VM_MMIO, "a load from what is not RAM");
	is(vm_run(vm, v), VM_MMIO, "load of a read-modify-write");
	is(vm_run(vm, v), VM_MMIO, "its store");
	RUN_COUNTED("CPUID, RDTSC, VMMCALL, OUT, MMIO", 5, 7, 9, 14, 19, 22, 24, 26, 28, 29);
}

PROGRAM32(legacy, "	nop\n" /* 5 */
		  "	xor %eax, %eax\n" /* 6 */
		  "	into\n" /* 8: OF = 0, counts */
		  "	mov $0x7fffffff, %eax\n" /* 9 */
		  "	inc %eax\n" /* 14 */
		  "	into\n" /* 15: traps */
		  "	mov $0x10001b, %edx\n" /* 16: where SYSEXIT goes */
		  "	mov %esp, %ecx\n" /* 21 */
		  "	mov %esp, %ebp\n" /* 23 */
		  "	sysenter\n" /* 25 */
		  "	nop\n"); /* 27 */

/* The kernel's: RDMSR SYSENTER_CS; then SYSEXIT to ESI, EDI. */
GUEST_CODE(read_cs, ".code32\n"
		    "	mov $0x174, %ecx\n"
		    "	rdmsr\n"
		    "	out %al, $0x51\n"
		    "	mov %esi, %edx\n"
		    "	mov %edi, %ecx\n"
		    "	sysexit\n"
		    ".code64\n");

TEST(into_and_sysenter_leave_without_tf)
{
	begin(legacy, legacy_end, 2);
	memcpy(vm->mem + VM_DATA, read_cs, (size_t)(read_cs_end - read_cs));
	vm_start32(vm, v);
	stops_without_tf(4, "INTO with OF = 1");
	is(vm_frame(vm, v, 4).rip, VM_CODE + 16, "its return address");
	is(vm_run(vm, v), VM_SYSENTER, "SYSENTER reaches the kernel");
	is(v->regs.rflags & TF, 0, "which does not run with TF");
	is(v->regs.rflags & 0x200, 0, "but with interrupts off");
	is(vm_get_msr(v, 0x174), 0x30, "user space reads its SYSENTER_CS");
	v->regs.rsi = v->regs.rdx;
	v->regs.rdi = v->regs.rcx;
	vm_go_to(v, VM_DATA);
	is(vm_run(vm, v), 0x51, "the kernel reads its MSR");
	is(v->regs.rax, 0x30, "the kernel reads its SYSENTER_CS");
	run_to_end();
	is(v->regs.rax, VM_BLOCK, "32-bit code ends with LWP on");
	COUNTED("and all that it executed", 5, 6, 8, 9, 14, 16, 21, 23, 27, 28);
}

PROGRAM(long_loop, "	mov $3000, %ecx\n"
		   "1:	loop 1b\n");

/* Signals stop KVM_RUN between any two instructions; user space then reads the whole state. */
TEST(user_space_sees_no_tf_in_mid_step)
{
	struct itimerval timer = { .it_interval.tv_usec = 10000, .it_value.tv_usec = 10000 };
	struct itimerval stop = { 0 };
	struct kvm_debugregs d;
	u32 stops = 0, seen = 0;
	int r;

	begin_total(long_loop, long_loop_end);
	setitimer(ITIMER_REAL, &timer, NULL);
	while ((r = vm_run_interruptible(vm, v)) == VM_TIMEOUT) {
		stops++;
		ioctl(v->fd, KVM_GET_DEBUGREGS, &d);
		seen += v->regs.rflags & TF || d.dr6 & 0x4000;
	}
	setitimer(ITIMER_REAL, &stop, NULL);
	is(r, VM_DONE, "the program runs to its end");
	ok(stops > 0 || parameter_is("lwp_source", "perf"), "interrupted %u times", stops);
	is(seen, 0, "never TF in RFLAGS nor BS in DR6");
	total(3001, "nothing counted twice or not at all");
}
