/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VMRUN, with the general registers that it leaves to software. */
	.text
	.code64
	/* void svm_vmrun(const u8 *vmcb, struct guest_regs *r) */
	.globl svm_vmrun
svm_vmrun:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	push %rsi
	mov %rdi, %rax
	mov 0x00(%rsi), %rbx
	mov 0x08(%rsi), %rcx
	mov 0x10(%rsi), %rdx
	mov 0x20(%rsi), %rdi
	mov 0x28(%rsi), %rbp
	mov 0x30(%rsi), %r8
	mov 0x38(%rsi), %r9
	mov 0x40(%rsi), %r10
	mov 0x48(%rsi), %r11
	mov 0x50(%rsi), %r12
	mov 0x58(%rsi), %r13
	mov 0x60(%rsi), %r14
	mov 0x68(%rsi), %r15
	mov 0x18(%rsi), %rsi
	clgi
	vmrun %rax
	stgi
	xchg %rsi, (%rsp)
	mov %rbx, 0x00(%rsi)
	mov %rcx, 0x08(%rsi)
	mov %rdx, 0x10(%rsi)
	mov %rdi, 0x20(%rsi)
	mov %rbp, 0x28(%rsi)
	mov %r8, 0x30(%rsi)
	mov %r9, 0x38(%rsi)
	mov %r10, 0x40(%rsi)
	mov %r11, 0x48(%rsi)
	mov %r12, 0x50(%rsi)
	mov %r13, 0x58(%rsi)
	mov %r14, 0x60(%rsi)
	mov %r15, 0x68(%rsi)
	pop %rax
	mov %rax, 0x18(%rsi)
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

	.section .note.GNU-stack, "", @progbits
