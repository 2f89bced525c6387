/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What random programs are made of: position-independent pieces of code for CPL 3, each a row of the
 * histogram. In: rdi = data, rsp = stack, r13 = the local APIC's page; kept: these, r14 and rbp, which count
 * loops. rbx is where the kernel continues when a fault ends a piece. What differs from one processor to
 * another (CPUID, the clock) is wiped.
 */
#include "layout.h"
#include "diff.h"

.macro snip name, bits
	.section .rodata
	.code\bits
	.balign 8
900:
	.pushsection .data.diff_snips, "aw"
	.quad 901f, 900b, 902f
	.long \bits, 0
	.popsection
	.pushsection .rodata.str
901:	.asciz "\name"
	.popsection
.endm

.macro end_snip
902:
.endm

	/* rbx = what follows the piece, whatever its place. */
.macro resume_behind label
	call 910f
910:	pop %rbx
	add $(\label - 910b), %rbx
.endm

.macro resume_behind32 label
	call 910f
910:	pop %ebx
	add $(\label - 910b), %ebx
.endm

.macro system_call code
	mov $\code, %eax
	syscall
.endm

	.section .data.diff_snips, "aw"
	.balign 8
	.globl diff_snips
diff_snips:

	/* The flags' image, folded into the data so that TF would show. */
	snip "pushf", 64
	pushfq
	pop %rax
	add %rax, 0x40(%rdi)
	rolq $7, 0x40(%rdi)
	end_snip
	snip "pushf word", 64
	pushfw
	popw 0x48(%rdi)
	end_snip
	snip "popf", 64
	pushfq
	xorq $0x8d5, (%rsp)
	popfq
	setc 0x50(%rdi)
	seto 0x51(%rdi)
	end_snip
	snip "guest's TF", 64
	pushfq
	orq $0x100, (%rsp)
	popfq
	nop
	add %ecx, %edx
	pushfq
	popq 0x58(%rdi)
	mov %ss, %eax
	mov %eax, %ss
	inc %edx
	end_snip
	snip "mov ss", 64
	mov %ss, %eax
	mov %eax, %ss
	inc %ecx
	end_snip
	snip "mov ss, pushf", 64
	mov %ss, %eax
	mov %eax, %ss
	pushfq
	popq 0x60(%rdi)
	end_snip
	snip "mov ss, jump", 64
	mov %ss, %eax
	mov %eax, %ss
	jmp 1f
	ud2
1:	nop
	end_snip
	snip "rep movs", 64
	mov %rdi, %rdx
	lea 0x100(%rdi), %rsi
	lea 0x180(%rdi), %rdi
	mov $13, %ecx
	rep movsb
	mov %rdx, %rdi
	end_snip
	snip "rep stos, none", 64
	xor %ecx, %ecx
	rep stosq
	end_snip
	snip "repe cmps", 64
	mov %rdi, %rdx
	lea 0x100(%rdi), %rsi
	mov $9, %ecx
	repe cmpsb
	mov %rdx, %rdi
	end_snip
	snip "repne scas", 64
	mov %rdi, %rdx
	mov $7, %ecx
	mov $0x5a, %eax
	repne scasb
	mov %rdx, %rdi
	end_snip
	snip "rep lods", 64
	lea 0x100(%rdi), %rsi
	mov $5, %ecx
	rep lodsl
	end_snip
	snip "rep stos that faults", 64
	mov %rdi, %rdx
	add $0xff0, %rdi
	mov $0x20, %ecx
	rep stosb
	mov %rdx, %rdi
	end_snip
	snip "rep outs", 64
	mov $0x80, %edx
	lea 0x100(%rdi), %rsi
	mov $4, %ecx
	rep outsb
	end_snip
	snip "out", 64
	out %al, $0x80
	end_snip
	snip "in", 64
	in $0x80, %al
	xor %eax, %eax
	end_snip
	snip "cpuid", 64
	xor %eax, %eax
	xor %ecx, %ecx
	cpuid
	xor %eax, %eax
	xor %ebx, %ebx
	xor %ecx, %ecx
	xor %edx, %edx
	end_snip
	snip "rdtsc", 64
	rdtsc
	xor %eax, %eax
	xor %edx, %edx
	end_snip
	snip "pause", 64
	pause
	end_snip
	snip "mmio", 64
	mov 0x30(%r13), %eax
	xor %eax, %eax
	end_snip
	snip "interrupt", 64
	movl $(0x44000 | DIFF_IRQ), 0x300(%r13)
	nop
	inc %edx
	end_snip
	snip "interrupt in a shadow", 64
	movl $0, 0x310(%r13)
	mov %ss, %eax
	movl $(0x44000 | DIFF_IRQ), 0x300(%r13)
	mov %eax, %ss
	inc %edx
	end_snip
	snip "nmi", 64
	movl $0, 0x310(%r13)
	movl $0x4400, 0x300(%r13)
	/* An emulator looks for it at a jump; it must not wait for the kernel's SYSCALL entry, on this stack. */
	jmp 1f
1:	nop
	inc %edx
	end_snip
	snip "int3", 64
	int3
	end_snip
	snip "int n", 64
	.byte 0xcd, 3
	end_snip
	snip "int n that faults", 64
	resume_behind 1f
	int $0x31
1:
	end_snip
	snip "icebp", 64
	.byte 0xf1
	end_snip
	snip "syscall", 64
	system_call DIFF_SYS_NOTHING
	end_snip
	snip "sysenter", 64
	resume_behind 1f
	sysenter
1:
	end_snip
	snip "ring moves on", 64
	system_call DIFF_SYS_DRAIN
	end_snip
	snip "ring or block unmapped", 64
	system_call DIFF_SYS_UNMAP
	end_snip
	snip "thread switch", 64
	system_call DIFF_SYS_THREAD
	end_snip
	snip "process switch", 64
	system_call DIFF_SYS_PROCESS
	end_snip
	snip "signal", 64
	resume_behind 1f
	system_call DIFF_SYS_SIGNAL
1:
	end_snip
	snip "#DE", 64
	resume_behind 1f
	xor %ecx, %ecx
	div %ecx
1:
	end_snip
	snip "#UD", 64
	resume_behind 1f
	ud2
1:
	end_snip
	snip "#GP", 64
	resume_behind 1f
	hlt
1:
	end_snip
	snip "#PF, load", 64
	resume_behind 1f
	lea DIFF_ABSENT_VA, %rdx
	mov (%rdx), %eax
1:
	end_snip
	snip "#PF, call", 64
	resume_behind 1f
	lea DIFF_ABSENT_VA, %rdx
	call *%rdx
	nop
1:	nop
	end_snip
	snip "#PF, data page comes", 64
	mov 0x1008(%rdi), %eax
	add %eax, 0x1010(%rdi)
	end_snip
	snip "#NP", 64
	resume_behind 1f
	mov $(USER_FREE_DS), %eax
	mov %eax, %ds
1:
	end_snip
	snip "#SS", 64
	resume_behind 1f
	mov $(USER_FREE_DS), %eax
	mov %eax, %ss
1:
	end_snip
	snip "#NM", 64
	fnop
	end_snip
	snip "#MF", 64
	resume_behind 1f
	fninit
	movw $0x37b, 0x70(%rdi)
	fldcw 0x70(%rdi)
	fld1
	fldz
	fdivrp
	fwait
1:	fninit
	end_snip
	snip "iret at CPL 3", 64
	mov %rsp, %rdx
	resume_behind 1f
	push $USER_DS
	push %rdx
	pushfq
	push $USER_CS64
	push %rbx
	iretq
1:	nop
	end_snip
	snip "far return", 64
	resume_behind 1f
	push $USER_CS64
	push %rbx
	lretq
1:	nop
	end_snip
	snip "call and ret", 64
	call 1f
	jmp 2f
1:	inc %ecx
	ret
2:	nop
	end_snip
	snip "call through a register", 64
	resume_behind 1f
	call *%rbx
	jmp 2f
1:	ret
2:	nop
	end_snip
	snip "ret n", 64
	push %rcx
	call 1f
	jmp 2f
1:	ret $8
2:	nop
	end_snip
	snip "jump through memory", 64
	resume_behind 1f
	mov %rbx, 0x78(%rdi)
	jmp *0x78(%rdi)
	ud2
1:	nop
	end_snip
	snip "jrcxz", 64
	xor %ecx, %ecx
	jrcxz 1f
	nop
1:	inc %ecx
	jrcxz 1b
	end_snip
	snip "loop", 64
	mov $3, %ecx
1:	nop
	loop 1b
	end_snip
	snip "loopne", 64
	mov $5, %ecx
1:	cmp $2, %ecx
	loopne 1b
	end_snip
	snip "jump of no distance", 64
	jmp 1f
1:	jnz 2f
2:	jz 3f
3:	nop
	end_snip
	snip "watchpoint", 64
	movl $1, DIFF_WATCH(%rdi)
	nop
	mov DIFF_WATCH(%rdi), %eax
	end_snip
	snip "lwpins", 64
	lwpins $0x1234, %ecx, %rdx
	setc 0x80(%rdi)
	end_snip
	snip "lwpins from memory", 64
	lwpins $0xffff0001, 0x100(%rdi), %edx
	setc 0x81(%rdi)
	end_snip
	snip "lwpval", 64
	lwpval $0x55, %ecx, %edx
	end_snip
	snip "lwpval that faults", 64
	lwpval $0x56, 0x1020(%rdi), %edx
	end_snip
	snip "lwpval over and over", 64
	mov $6, %ecx
1:	lwpval $0x57, %ecx, %rdx
	loop 1b
	end_snip
	snip "slwpcb", 64
	slwpcb %rax
	mov %rax, 0x88(%rdi)
	end_snip
	snip "llwpcb again", 64
	slwpcb %rax
	llwpcb %rax
	end_snip
	snip "llwpcb off and on", 64
	slwpcb %rdx
	xor %eax, %eax
	llwpcb %rax
	nop
	mov %rdx, %rax
	llwpcb %rax
	end_snip

	snip "32-bit code", 32
	push %ecx
	pop %edx
	inc %edx
	xchg %edx, 0x90(%edi)
	end_snip
	snip "32-bit pushf", 32
	pushf
	popl 0x98(%edi)
	end_snip
	snip "32-bit popf", 32
	pushf
	xorl $0x41, (%esp)
	popf
	end_snip
	snip "32-bit pop ss", 32
	push %ss
	pop %ss
	inc %ecx
	end_snip
	snip "32-bit call and ret", 32
	call 1f
	jmp 2f
1:	ret
2:	nop
	end_snip
	snip "32-bit jcxz", 32
	xor %ecx, %ecx
	jcxz 1f
	nop
1:	nop
	end_snip
	snip "32-bit rep movs", 32
	mov %edi, %edx
	lea 0x100(%edi), %esi
	lea 0x1a0(%edi), %edi
	mov $3, %ecx
	rep movsl
	mov %edx, %edi
	end_snip
	snip "32-bit int3", 32
	xor %eax, %eax
	int3
	end_snip
	snip "into", 32
	mov $0x7fffffff, %eax
	inc %eax
	into
	end_snip
	snip "into, no overflow", 32
	xor %eax, %eax
	into
	end_snip
	snip "bound", 32
	resume_behind32 1f
	movl $1, 0xa0(%edi)
	movl $5, 0xa4(%edi)
	mov $9, %eax
	bound %eax, 0xa0(%edi)
1:
	end_snip
	snip "32-bit #UD", 32
	resume_behind32 1f
	ud2
1:
	end_snip
	snip "32-bit #PF", 32
	resume_behind32 1f
	mov DIFF_ABSENT_VA, %eax
1:
	end_snip
	snip "32-bit segment load", 32
	push %ds
	pop %es
	push %es
	pop %ds
	end_snip
	snip "32-bit lwpins", 32
	lwpins $0x99, %ecx, %edx
	end_snip
	snip "32-bit lwpval", 32
	lwpval $0x9a, %ecx, %edx
	end_snip
	snip "32-bit system call", 32
	mov $DIFF_SYS_UNMAP, %eax
	int3
	end_snip

	.section .data.diff_snips, "aw"
	.globl diff_snips_end
diff_snips_end:

	/* The program's signal handler, at a place of its own. */
	.section .rodata
	.code64
	.globl diff_handler, diff_handler_end
diff_handler:
	incl 0xb0(%rdi)
	pushfq
	pop %rcx
	add %rcx, 0xb8(%rdi)
	jnc 1f
	nop
1:	system_call DIFF_SYS_RETURN
diff_handler_end:

	.section .note.GNU-stack, "", @progbits
