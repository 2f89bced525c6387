/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VMRUN, with the general registers that it leaves to software. */
	.text
	.code64
	/* Each register of struct guest_regs, loaded from there or stored; RSI, which points to it, is left. */
	.macro each_register load
	.set at, 0
	.irp reg, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	.ifnc \reg, rsi
	.if \load
	mov at(%rsi), %\reg
	.else
	mov %\reg, at(%rsi)
	.endif
	.endif
	.set at, at + 8
	.endr
	.endm

	/* void svm_vmrun(const u8 *vmcb, struct guest_regs *r) */
	.globl svm_vmrun
svm_vmrun:
	.irp reg, rbx, rbp, r12, r13, r14, r15, rsi
	push %\reg
	.endr
	mov %rdi, %rax
	each_register 1
	mov 0x18(%rsi), %rsi
	clgi
	vmrun %rax
	stgi
	xchg %rsi, (%rsp)
	each_register 0
	pop %rax
	mov %rax, 0x18(%rsi)
	.irp reg, r15, r14, r13, r12, rbp, rbx
	pop %\reg
	.endr
	ret

	.section .note.GNU-stack, "", @progbits
