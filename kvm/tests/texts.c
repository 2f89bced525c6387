// SPDX-License-Identifier: GPL-2.0-or-later
/* See texts.h. */
#include "counted.h"
#include "texts.h"

asm(".globl parts, parts_end, windows, windows_end, wrfsbase, wrfsbase_end\n"
    ".globl straight, straight_end, flags, flags_end, loop, loop_end, profiled, profiled_end\n"
    ".globl mixed, mixed_end, loops, loops_end, iret, iret_end, skip_div, skip_div_end\n");

PROGRAM(parts, "	nop\n"
	       "	nop\n"
	       "	syscall\n"
	       "	nop\n"
	       "	nop\n"
	       "	nop\n"
	       "	syscall\n"
	       "	nop\n");

GUEST_CODE(windows, "	swapgs\n"
		    "	mov %rcx, %r9\n"
		    "	mov $0xc0000102, %ecx\n"
		    "	mov %r8d, %eax\n"
		    "	xor %edx, %edx\n"
		    "	wrmsr\n"
		    "	mov %r9, %rcx\n"
		    "	swapgs\n"
		    "	sysretq\n");

GUEST_CODE(wrfsbase, "	out %al, $0x50\n"
		     "	wrfsbase %r8\n"
		     "	sysretq\n");

PROGRAM(straight, "	nop\n"
		  "	push %rdx\n"
		  "	pop %rcx\n"
		  "	mov $3, %ecx\n"
		  "1:	nop\n"
		  "	loop 1b\n"
		  "	nop\n");

PROGRAM(flags, "	stc\n"
	       "	pushf\n"
	       "	pop %r8\n"
	       "	push $0x46\n"
	       "	popf\n"
	       "	jnz 1f\n"
	       "	pushf\n"
	       "	pop %r9\n"
	       "1:	nop\n");

PROGRAM(loop, "	mov $20000, %ecx\n" /* ROUNDS */
	      "1:	nop\n"
	      "	dec %ecx\n"
	      "	jnz 1b\n");

PROGRAM(profiled, "	mov $20000, %ecx\n"
		  "1:	nop\n"
		  "	dec %ecx\n"
		  "	jnz 1b\n"
		  "	xor %edx, %edx\n"
		  "	llwpcb %rdx\n");

PROGRAM(iret, "	mov %rsp, %rcx\n"
	      "	mov %ss, %eax\n"
	      "	push %rax\n"
	      "	push %rcx\n"
	      "	pushfq\n"
	      "	mov %cs, %eax\n"
	      "	push %rax\n"
	      "	lea 1f(%rip), %rax\n"
	      "	push %rax\n"
	      "	iretq\n"
	      "1:	nop\n"
	      "	mov $0x200000, %ebx\n");

PROGRAM(loops, "	.rept 3\n"
	       "	mov $1000, %ecx\n"
	       "1:	loop 1b\n"
	       "	syscall\n"
	       "	.endr\n"
	       "	mov $0x200000, %ebx\n");

PROGRAM(mixed, "	mov $500, %r8d\n"
	       "1:	lwpval $1, %r8d, %r8d\n"
	       "	cpuid\n"
	       "	int $3\n"
	       "	int3\n"
	       "	syscall\n"
	       "	mov %cs, %ebx\n"
	       "	push %rbx\n"
	       "	lea 2f(%rip), %rbx\n"
	       "	push %rbx\n"
	       "	lretq\n"
	       "2:	xor %ebx, %ebx\n"
	       "	div %ebx\n"
	       "	jmp 3f\n"
	       "3:	dec %r8\n"
	       "	jnz 1b\n"
	       "	mov $0x200000, %ebx\n");

GUEST_CODE(skip_div, "	addq $2, (%rsp)\n"
		     "	iretq\n");

void begin_loop(u32 rounds, u32 delivery, u32 events)
{
	begin_delivery(loop, loop_end, delivery, events);
	lwp_put32(vm->mem + VM_CODE + 6, rounds);
}

void run_loop(u32 rounds, u32 delivery, u32 event, u32 period)
{
	begin_loop(rounds, delivery, LWP_BIT(event));
	event_each(event, period);
	run_to_end();
}

void begin_mixed(u32 delivery, u32 events)
{
	begin_delivery(mixed, mixed_end, delivery, events);
	vm_handler(vm, 0, skip_div, skip_div_end);
}

u64 loop_place(u32 n)
{
	static const u8 offset[] = { 13, 10, 11 };

	return VM_CODE + (n == 1 ? 5 : offset[(n - 1) % 3]);
}
