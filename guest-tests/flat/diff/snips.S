/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What random programs are made of: position-independent pieces of code for CPL 3, each a row of the
 * histogram. In: rdi = data, rsp = stack, r13 = the local APIC's page; kept: these, r14 and rbp, which count
 * loops. rbx is where the kernel continues when a fault ends a piece. What differs from one processor to
 * another (CPUID, the clock) is wiped. In a process the kernel does nothing for a piece: no fault, no system call of
 * diff.h but one that is not there, no 32-bit code.
 */
#include "layout.h"
#include "diff.h"

	/* A piece ends at the label 902, where the next one begins. */
.macro snip name, bits=64, process=1
902:
	.section .rodata
	.code\bits
	.balign 8
900:
	.pushsection .data.diff_snips, "aw"
	.quad 901f, 900b, 902f
	.long \bits, \process, 0, 0
	.popsection
	.pushsection .rodata.str
901:	.asciz "\name"
	.popsection
.endm

	/* rbx, in 32-bit code ebx = what follows the piece, whatever its place. */
.macro resume_behind label, to=rbx
	call 910f
910:	pop %\to
	add $(\label - 910b), %\to
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
snip "pushf"
	pushfq
	pop %rax
	add %rax, 0x40(%rdi)
	rolq $7, 0x40(%rdi)
snip "pushf word"
	pushfw
	popw 0x48(%rdi)
snip "popf"
	pushfq
	xorq $0x8d5, (%rsp)
	popfq
	setc 0x50(%rdi)
	seto 0x51(%rdi)
snip "guest's TF", process=0
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
snip "mov ss"
	mov %ss, %eax
	mov %eax, %ss
	inc %ecx
snip "mov ss, pushf"
	mov %ss, %eax
	mov %eax, %ss
	pushfq
	popq 0x60(%rdi)
snip "mov ss, jump"
	mov %ss, %eax
	mov %eax, %ss
	jmp 1f
	ud2
1:	nop
snip "rep movs"
	mov %rdi, %rdx
	lea 0x100(%rdi), %rsi
	lea 0x180(%rdi), %rdi
	mov $13, %ecx
	rep movsb
	mov %rdx, %rdi
snip "rep stos, none"
	xor %ecx, %ecx
	rep stosq
snip "repe cmps"
	mov %rdi, %rdx
	lea 0x100(%rdi), %rsi
	mov $9, %ecx
	repe cmpsb
	mov %rdx, %rdi
snip "repne scas"
	mov %rdi, %rdx
	mov $7, %ecx
	mov $0x5a, %eax
	repne scasb
	mov %rdx, %rdi
snip "rep lods"
	lea 0x100(%rdi), %rsi
	mov $5, %ecx
	rep lodsl
snip "rep stos that faults"
	mov %rdi, %rdx
	add $0xff0, %rdi
	mov $0x20, %ecx
	rep stosb
	mov %rdx, %rdi
snip "rep outs", process=0
	mov $0x80, %edx
	lea 0x100(%rdi), %rsi
	mov $4, %ecx
	rep outsb
snip "out", process=0
	out %al, $0x80
snip "in", process=0
	in $0x80, %al
	xor %eax, %eax
snip "cpuid"
	xor %eax, %eax
	xor %ecx, %ecx
	cpuid
	xor %eax, %eax
	xor %ebx, %ebx
	xor %ecx, %ecx
	xor %edx, %edx
snip "rdtsc"
	rdtsc
	xor %eax, %eax
	xor %edx, %edx
snip "pause"
	pause
snip "mmio", process=0
	mov 0x30(%r13), %eax
	xor %eax, %eax
snip "interrupt", process=0
	movl $(0x44000 | DIFF_IRQ), 0x300(%r13)
	nop
	inc %edx
snip "interrupt in a shadow", process=0
	movl $0, 0x310(%r13)
	mov %ss, %eax
	movl $(0x44000 | DIFF_IRQ), 0x300(%r13)
	mov %eax, %ss
	inc %edx
snip "nmi", process=0
	movl $0, 0x310(%r13)
	movl $0x4400, 0x300(%r13)
	/* An emulator looks for it at a jump; it must not wait for the kernel's SYSCALL entry, on this stack. */
	jmp 1f
1:	nop
	inc %edx
snip "int3", process=0
	int3
snip "int n", process=0
	.byte 0xcd, 3
snip "int n that faults", process=0
	resume_behind 1f
	int $0x31
1:
snip "icebp", process=0
	.byte 0xf1
snip "syscall"
	system_call DIFF_SYS_NOTHING
	/* QEMU's emulator of programs keeps rcx; Linux says in rax that there is none. */
	xor %eax, %eax
	xor %ecx, %ecx
snip "sysenter", process=0
	resume_behind 1f
	sysenter
1:
snip "ring moves on", process=0
	system_call DIFF_SYS_DRAIN
snip "tail follows"
	slwpcb %rax
	mov DIFF_CB_HEAD(%rax), %edx
	mov %edx, DIFF_CB_TAIL(%rax)
snip "ring or block unmapped", process=0
	system_call DIFF_SYS_UNMAP
snip "thread switch", process=0
	system_call DIFF_SYS_THREAD
snip "process switch", process=0
	system_call DIFF_SYS_PROCESS
snip "signal", process=0
	resume_behind 1f
	system_call DIFF_SYS_SIGNAL
1:
snip "#DE", process=0
	resume_behind 1f
	xor %ecx, %ecx
	div %ecx
1:
snip "#UD", process=0
	resume_behind 1f
	ud2
1:
snip "#GP", process=0
	resume_behind 1f
	hlt
1:
snip "#PF, load", process=0
	resume_behind 1f
	lea DIFF_ABSENT_VA, %rdx
	mov (%rdx), %eax
1:
snip "#PF, call", process=0
	resume_behind 1f
	lea DIFF_ABSENT_VA, %rdx
	call *%rdx
	nop
1:	nop
snip "#PF, data page comes"
	mov 0x1008(%rdi), %eax
	add %eax, 0x1010(%rdi)
snip "#NP", process=0
	resume_behind 1f
	mov $(USER_FREE_DS), %eax
	mov %eax, %ds
1:
snip "#SS", process=0
	resume_behind 1f
	mov $(USER_FREE_DS), %eax
	mov %eax, %ss
1:
snip "#NM"
	fnop
snip "#MF", process=0
	resume_behind 1f
	fninit
	movw $0x37b, 0x70(%rdi)
	fldcw 0x70(%rdi)
	fld1
	fldz
	fdivrp
	fwait
1:	fninit
snip "iret at CPL 3"
	mov %rsp, %rdx
	resume_behind 1f
	push $USER_DS
	push %rdx
	pushfq
	push $USER_CS64
	push %rbx
	iretq
1:	nop
snip "far return"
	resume_behind 1f
	push $USER_CS64
	push %rbx
	lretq
1:	nop
snip "call and ret"
	call 1f
	jmp 2f
1:	inc %ecx
	ret
2:	nop
snip "call through a register"
	resume_behind 1f
	call *%rbx
	jmp 2f
1:	ret
2:	nop
snip "ret n"
	push %rcx
	call 1f
	jmp 2f
1:	ret $8
2:	nop
snip "jump through memory"
	resume_behind 1f
	mov %rbx, 0x78(%rdi)
	jmp *0x78(%rdi)
	ud2
1:	nop
snip "jrcxz"
	xor %ecx, %ecx
	jrcxz 1f
	nop
1:	inc %ecx
	jrcxz 1b
snip "loop"
	mov $3, %ecx
1:	nop
	loop 1b
snip "loopne"
	mov $5, %ecx
1:	cmp $2, %ecx
	loopne 1b
snip "jump of no distance"
	jmp 1f
1:	jnz 2f
2:	jz 3f
3:	nop
snip "watchpoint"
	movl $1, DIFF_WATCH(%rdi)
	nop
	mov DIFF_WATCH(%rdi), %eax
snip "lwpins"
	lwpins $0x1234, %ecx, %rdx
	setc 0x80(%rdi)
snip "lwpins from memory"
	lwpins $0xffff0001, 0x100(%rdi), %edx
	setc 0x81(%rdi)
snip "lwpval"
	lwpval $0x55, %ecx, %edx
snip "lwpval that faults"
	lwpval $0x56, 0x1020(%rdi), %edx
snip "lwpval over and over"
	mov $6, %ecx
1:	lwpval $0x57, %ecx, %rdx
	loop 1b
snip "slwpcb"
	slwpcb %rax
	mov %rax, 0x88(%rdi)
snip "llwpcb again"
	slwpcb %rax
	llwpcb %rax
snip "llwpcb off and on"
	slwpcb %rdx
	xor %eax, %eax
	llwpcb %rax
	nop
	mov %rdx, %rax
	llwpcb %rax

snip "32-bit code", 32, 0
	push %ecx
	pop %edx
	inc %edx
	xchg %edx, 0x90(%edi)
snip "32-bit pushf", 32, 0
	pushf
	popl 0x98(%edi)
snip "32-bit popf", 32, 0
	pushf
	xorl $0x41, (%esp)
	popf
snip "32-bit pop ss", 32, 0
	push %ss
	pop %ss
	inc %ecx
snip "32-bit call and ret", 32, 0
	call 1f
	jmp 2f
1:	ret
2:	nop
snip "32-bit jcxz", 32, 0
	xor %ecx, %ecx
	jcxz 1f
	nop
1:	nop
snip "32-bit rep movs", 32, 0
	mov %edi, %edx
	lea 0x100(%edi), %esi
	lea 0x1a0(%edi), %edi
	mov $3, %ecx
	rep movsl
	mov %edx, %edi
snip "32-bit int3", 32, 0
	xor %eax, %eax
	int3
snip "into", 32, 0
	mov $0x7fffffff, %eax
	inc %eax
	into
snip "into, no overflow", 32, 0
	xor %eax, %eax
	into
snip "bound", 32, 0
	resume_behind 1f, ebx
	movl $1, 0xa0(%edi)
	movl $5, 0xa4(%edi)
	mov $9, %eax
	bound %eax, 0xa0(%edi)
1:
snip "32-bit #UD", 32, 0
	resume_behind 1f, ebx
	ud2
1:
snip "32-bit #PF", 32, 0
	resume_behind 1f, ebx
	mov DIFF_ABSENT_VA, %eax
1:
snip "32-bit segment load", 32, 0
	push %ds
	pop %es
	push %es
	pop %ds
snip "32-bit lwpins", 32, 0
	lwpins $0x99, %ecx, %edx
snip "32-bit lwpval", 32, 0
	lwpval $0x9a, %ecx, %edx
snip "32-bit system call", 32, 0
	mov $DIFF_SYS_UNMAP, %eax
	int3
902:
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
