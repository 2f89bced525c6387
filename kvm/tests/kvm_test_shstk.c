// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs with shadow stacks (CET): while they are stepped KVM completes SYSCALL and SYSRET with SSP, and what they
 * do is recorded as that of other programs.
 *
 * The processor raises #CP for a RET that the shadow stack does not confirm. So a program that runs to its end has had
 * the right SSP at each of its RETs.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include "counted.h"

#define CR0_WP 0x10000
#define CR4_CET (1 << 23)
#define U_CET 0x6a0
#define S_CET 0x6a2
#define PL3_SSP 0x6a7
#define SHSTK_EN 1
#define CP 21

#define SHADOW 0x2a0000 /* a page */
#define TOP (SHADOW + 0x1000)
#define SHADOW_PTE 0x65 /* dirty, accessed, user, not writable, present */

#define LEGACY_CR3 0x26000 /* a directory and a table */
#define ENTRY32 0x28000 /* the kernel's, for 32-bit code */

/* KVM_X86_REG_KVM(KVM_REG_GUEST_SSP), which older headers do not have. */
#define GUEST_SSP 0x2030000300000000

static u64 ssp(void)
{
	u64 value = 0;
	struct kvm_one_reg reg = { .id = GUEST_SSP, .addr = (u64)&value };

	if (ioctl(v->fd, KVM_GET_ONE_REG, &reg))
		ok(false, "KVM_GET_ONE_REG: errno %d", errno);
	return value;
}

/* The program begins with a shadow stack that is empty. */
static void give_shadow_stack(void)
{
	static const u64 spaces[] = { VM_CR3, VM_CR3_OTHER };
	u64 top = TOP;
	struct kvm_one_reg reg = { .id = GUEST_SSP, .addr = (u64)&top };
	struct kvm_sregs s;

	for (unsigned int i = 0; i < 2; i++)
		lwp_put64(vm->mem + spaces[i] + 0x3000 + (SHADOW >> 12) * 8, SHADOW | SHADOW_PTE);
	s = vm_sregs(v);
	s.cr0 |= CR0_WP;
	s.cr4 |= CR4_CET;
	if (ioctl(v->fd, KVM_SET_SREGS, &s) || ioctl(v->fd, KVM_SET_ONE_REG, &reg) ||
	    vm_set_msr(v, U_CET, SHSTK_EN))
		ok(false, "the program has a shadow stack");
}

/* Offsets of what counts in a call of 17: 19, 25, 26, 24; SYSCALL does not count. */
PROGRAM(calls, "	call 1f\n" /* 5 */
	       "	call 1f\n" /* 10 */
	       "	jmp 2f\n" /* 15 */
	       "1:	syscall\n" /* 17 */
	       "	call 3f\n" /* 19 */
	       "	ret\n" /* 24 */
	       "3:	nop\n" /* 25 */
	       "	ret\n" /* 26 */
	       "2:\n"); /* 27 */

static void begin_calls(void)
{
	begin(calls, calls_end, 2);
	give_shadow_stack();
}

static void calls_are_counted(const char *what)
{
	COUNTED(what, 5, 19, 25, 26, 24, 10, 19, 25, 26, 24, 15, 27);
}

TEST(system_calls_keep_ssp)
{
	begin_calls();
	is(vm_run(vm, v), VM_SYSCALL, "the first system call");
	is(vm_get_msr(v, PL3_SSP), TOP - 8, "PL3_SSP is the program's SSP");
	is(v->regs.rcx, VM_CODE + 19, "RCX is the address after SYSCALL");
	is(v->regs.r11 & TF, 0, "R11 has no TF");
	is(lwp_get64(vm->mem + TOP - 8), VM_CODE + 10, "CALL has written its shadow stack");
	is(vm_run(vm, v), VM_SYSCALL, "the second");
	is(vm_get_msr(v, PL3_SSP), TOP - 8, "PL3_SSP is the same there");
	run_to_end();
	is(vm_get_msr(v, PL3_SSP), TOP, "at the end the stack is empty");
	calls_are_counted("calls");
}

/* The guest's kernel switches the shadow stack, as for another thread or a signal. */
TEST(sysret_takes_the_ssp_that_the_kernel_set)
{
	begin_calls();
	is(vm_run(vm, v), VM_SYSCALL, "the first system call");
	lwp_put64(vm->mem + SHADOW + 0x800, VM_CODE + 10);
	vm_set_msr(v, PL3_SSP, SHADOW + 0x800);
	is(vm_run(vm, v), VM_SYSCALL, "the second");
	is(vm_get_msr(v, PL3_SSP), SHADOW + 0x800,
	   "PL3_SSP is in the stack of the kernel's choice");
	run_to_end();
	calls_are_counted("calls on two shadow stacks");
}

/*
 * The guest's kernel may have shadow stacks itself. (The processor of the nested lab ignores S_CET; a real one would
 * have the kernel set SSP before its first CALL.)
 */
TEST(a_kernel_with_shadow_stacks_begins_without_one)
{
	begin_calls();
	is(vm_set_msr(v, S_CET, SHSTK_EN), 0, "S_CET");
	is(vm_run(vm, v), VM_SYSCALL, "the first system call");
	is(ssp(), 0, "SSP");
	is(vm_get_msr(v, PL3_SSP), TOP - 8, "the program's is in PL3_SSP");
	is(vm_run(vm, v), VM_SYSCALL, "the second");
	run_to_end();
	calls_are_counted("calls of a program whose kernel has shadow stacks");
}

TEST(only_the_kernel_has_shadow_stacks)
{
	begin_calls();
	vm_set_msr(v, U_CET, 0);
	vm_set_msr(v, S_CET, SHSTK_EN);
	vm_set_msr(v, PL3_SSP, SHADOW + 0x400);
	is(vm_run(vm, v), VM_SYSCALL, "the first system call");
	is(ssp(), 0, "SSP");
	is(vm_get_msr(v, PL3_SSP), SHADOW + 0x400, "PL3_SSP is as it was");
	is(vm_run(vm, v), VM_SYSCALL, "the second");
	run_to_end();
	is(ssp(), 0, "SYSRET leaves SSP");
	calls_are_counted("calls of a program without a shadow stack");
}

/* The kernel masks no flag but IF. */
TEST(flags_and_segments_are_those_of_a_system_call)
{
	struct kvm_sregs s;

	begin_calls();
	vm_set_msr(v, 0xc0000084, 0x200); /* SFMASK: IF */
	v->regs.rflags = 0x202 | 1 << 6 | 1 << 10; /* ZF, DF */
	vm_set_regs(v);
	is(vm_run(vm, v), VM_SYSCALL, "the first system call");
	s = vm_sregs(v);
	is(s.cs.selector, 0x08, "CS");
	is(s.cs.dpl, 0, "its DPL");
	is(s.cs.l, 1, "it is 64-bit code");
	is(s.ss.selector, 0x10, "SS");
	is(s.ss.dpl, 0, "its DPL");
	is(v->regs.rflags & ~TF, 2 | 1 << 6 | 1 << 10, "RFLAGS: IF is clear");
	is(v->regs.r11 & ~(u64)RF, 0x202 | 1 << 6 | 1 << 10, "R11 is the program's RFLAGS");
	vm_run(vm, v);
	run_to_end();
}

/* 32-bit code under a 64-bit kernel: CALL pushes 4 bytes on each stack. */
PROGRAM32(calls32, "	call 1f\n" /* 5 */
		   "	jmp 2f\n" /* 10 */
		   "1:	syscall\n" /* 12 */
		   "	nop\n" /* 14 */
		   "	ret\n" /* 15 */
		   "2:\n"); /* 16 */

TEST(a_32_bit_program_enters_by_cstar)
{
	struct kvm_sregs s;

	begin(calls32, calls32_end, 2);
	give_shadow_stack();
	s = vm_sregs(v);
	s.cs.l = 0;
	s.cs.db = 1;
	vm_set_sregs(v, &s);
	memcpy(vm->mem + ENTRY32, "\xe6\xff\x0f\x07", 4); /* out %al, $0xff; sysretl */
	vm_set_msr(v, 0xc0000082, 0); /* LSTAR */
	vm_set_msr(v, 0xc0000083, ENTRY32); /* CSTAR */
	is(vm_run(vm, v), VM_SYSCALL, "the system call");
	s = vm_sregs(v);
	is(s.cs.l, 1, "the kernel is 64-bit code");
	is(v->regs.rcx, VM_CODE + 14, "RCX is the address after SYSCALL");
	is(vm_get_msr(v, PL3_SSP), TOP - 4, "PL3_SSP is the program's SSP");
	RUN_COUNTED("calls of 32-bit code", 5, 14, 15, 10, 16);
}

/* Tables of 32-bit paging: one directory, and one table with the same entries as the others. */
static void map_legacy(void)
{
	lwp_put32(vm->mem + LEGACY_CR3, (LEGACY_CR3 + 0x1000) | 7);
	for (unsigned int i = 0; i < 1024; i++)
		lwp_put32(vm->mem + LEGACY_CR3 + 0x1000 + i * 4, i << 12 | 7);
	lwp_put32(vm->mem + LEGACY_CR3 + 0x1000 + (SHADOW >> 12) * 4, SHADOW | SHADOW_PTE);
}

/* A kernel without long mode is entered at STAR[31:0]. */
TEST(a_legacy_guest_enters_by_star)
{
	struct kvm_sregs s;

	begin(calls32, calls32_end, 2);
	vm_start32(vm, v);
	map_legacy();
	give_shadow_stack();
	s = vm_sregs(v);
	s.cr0 |= 0x80000000; /* PG */
	s.cr3 = LEGACY_CR3;
	s.efer = 1; /* SCE */
	s.tr.type = 9; /* as in vm_start32(); KVM_GET_SREGS says busy */
	vm_set_sregs(v, &s);
	memcpy(vm->mem + ENTRY32, "\xe6\xff\x0f\x07", 4);
	/* SYSRET loads 43h and 4Bh, SYSCALL 30h and 38h. */
	vm_set_msr(v, 0xc0000081, (u64)0x40 << 48 | (u64)0x30 << 32 | ENTRY32);
	is(vm_run(vm, v), VM_SYSCALL, "the system call");
	s = vm_sregs(v);
	is(s.cs.selector, 0x30, "CS");
	is(s.cs.db, 1, "the kernel is 32-bit code");
	is(v->regs.rcx, VM_CODE + 14, "ECX is the address after SYSCALL");
	is(v->regs.rflags & 0x200, 0, "IF is clear");
	is(vm_get_msr(v, PL3_SSP), TOP - 4, "PL3_SSP is the program's SSP");
	RUN_COUNTED("calls of a legacy guest", 5, 14, 15, 10, 16);
}

/* A RET to another address than CALL has pushed does not retire. */
PROGRAM(stray, "	call 1f\n" /* 5 */
	       "	nop\n" /* 10 */
	       "1:	addq $1, (%rsp)\n" /* 11 */
	       "	ret\n"); /* 16 */

TEST(a_ret_that_faults_leaves_no_record)
{
	begin(stray, stray_end, 2);
	give_shadow_stack();
	is(vm_run(vm, v), CP, "#CP");
	is(vm_frame(vm, v, CP).error, 1, "of a near RET");
	is(vm_frame(vm, v, CP).rip, VM_CODE + 16, "at the RET");
	is(vm_frame(vm, v, CP).rflags & TF, 0, "without TF");
	COUNTED("before the fault", 5, 11);
}

/* 1 and 1,000 times 5: CALL, NOP, RET, DEC, JNZ; INT3 and SYSCALL do not count. */
PROGRAM(loop, "	mov $1000, %r8d\n"
	      "1:	call 2f\n"
	      "	dec %r8d\n"
	      "	jnz 1b\n"
	      "	jmp 3f\n"
	      "2:	syscall\n"
	      "	int3\n"
	      "	nop\n"
	      "	ret\n"
	      "3:\n");

TEST(a_long_profile_is_right)
{
	u32 wrong = 0;

	if (parameter_is("lwp_source", "perf"))
		set_margin(80); /* with nets */
	begin_delivery(loop, loop_end, 0, LWP_F_IRE);
	event_each(2, 100);
	give_shadow_stack();
	is(run_past(VM_SYSCALL, 3), 2000, "system calls and INT3s");
	is(block_head(vm), 50, "50 records of 5,002 instructions");
	/* 100 are twenty rounds: the same instruction each time. */
	for (u32 i = 1; i < block_head(vm); i++)
		wrong += ring_record(vm, i).address != ring_record(vm, 0).address;
	is(wrong, 0, "each at the same place of a round");
	is(vm_get_msr(v, PL3_SSP), TOP, "the shadow stack is empty");
}

TEST(without_a_shadow_stack_nothing_is_written)
{
	begin_calls();
	vm_set_msr(v, U_CET, 0);
	vm_set_msr(v, PL3_SSP, SHADOW + 0x400);
	is(vm_run(vm, v), VM_SYSCALL, "the first system call");
	is(vm_run(vm, v), VM_SYSCALL, "the second");
	run_to_end();
	is(vm_get_msr(v, PL3_SSP), SHADOW + 0x400, "PL3_SSP is as it was");
	calls_are_counted("calls of a program without a shadow stack");
}

static void need_shadow_stacks(void)
{
	vm = vm_new(true);
	if (!(vm_leaf(vm, 7)->ecx & 1 << 7))
		skip_all("KVM offers no shadow stacks: the host's processor has none");
}

int main(void)
{
	need_shadow_stacks();
	run_tests();
	return done();
}
