/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way into and out of user mode. user_enter() leaves its own frame on the kernel stack and makes
 * that place the stack for traps from CPL 3 (TSS.RSP0), so that user_leave() can return from it.
 */
#include "layout.h"

#define TSS_RSP0 4
#define FRAME_VECTOR (15 * 8)
#define FRAME_RIP (17 * 8)
#define FRAME_RFLAGS (19 * 8)
#define FRAME_RSP (20 * 8)

.macro push_regs
	.irp reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	push %\reg
	.endr
.endm

.macro pop_regs
	.irp reg, r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax
	pop %\reg
	.endr
.endm

	.text
	.code64
	/* One stub per vector, 16 bytes each. Vectors 8, 10-14, 17, 21, 29 and 30 push an error code. */
	.balign 16
	.globl trap_stubs
trap_stubs:
	.set vector, 0
	.rept 256
	.balign 16
	.if !(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21 || \
	      vector == 29 || vector == 30)
	push $0
	.endif
	push $vector
	jmp trap_common
	.set vector, vector + 1
	.endr

trap_common:
	push_regs
	cld
	mov %rsp, %rdi
	call trap_handle
	pop_regs
	add $16, %rsp
	iretq

	/* SYSCALL: build the frame that a trap would have left. */
	.globl syscall_entry
syscall_entry:
	swapgs
	mov %rsp, %gs:CPU_USER_RSP
	mov %gs:CPU_RSP0, %rsp
	push $USER_DS
	push %gs:CPU_USER_RSP
	push %r11
	push $USER_CS64
	push %rcx
	push $0
	push $VEC_SYSCALL
	swapgs
	jmp trap_common

	/* void user_enter(const struct regs *r, struct cpu *cpu, struct tss *tss, bool by_sysret) */
	.globl user_enter
user_enter:
	.irp reg, rbx, rbp, r12, r13, r14, r15
	push %\reg
	.endr
	mov %rsp, CPU_RSP0(%rsi)
	mov %rsp, TSS_RSP0(%rdx)
	mov %rdi, %rsp
	test %cl, %cl
	jnz 1f
	pop_regs
	add $16, %rsp
	iretq
1:
	/* AMD's SYSRET keeps the attributes of SS, which a trap from CPL 3 left without any. */
	mov $KERNEL_DS, %eax
	mov %eax, %ss
	pop_regs
	mov FRAME_RIP - FRAME_VECTOR(%rsp), %rcx
	mov FRAME_RFLAGS - FRAME_VECTOR(%rsp), %r11
	mov FRAME_RSP - FRAME_VECTOR(%rsp), %rsp
	sysretq

	/* _Noreturn void user_leave(struct cpu *cpu): return from user_enter(). */
	.globl user_leave
user_leave:
	mov CPU_RSP0(%rdi), %rsp
	.irp reg, r15, r14, r13, r12, rbp, rbx
	pop %\reg
	.endr
	ret

	.section .note.GNU-stack, "", @progbits
