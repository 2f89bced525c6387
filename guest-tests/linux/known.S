/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code whose retired instructions are known by heart: each routine switches LWP on, runs, and switches it
 * off. What counts (43724-701, 43724-712): not LLWPCB, not SYSCALL, everything else once. The comments at the
 * right are the counts; known.h has the sums.
 */

	.macro	BEGIN name
	.globl	\name, \name\()_begin, \name\()_end
	.type	\name, @function
\name:
	.endm

	.macro	ON
	llwpcb	%rdi
	.endm

	.text

/* void known_loop(void *block, u64 n) */
	BEGIN	known_loop
	mov	%rsi, %rcx
	ON
known_loop_begin:
1:	dec	%rcx				/* n */
	jnz	1b				/* n */
	xor	%eax, %eax			/* 1 */
known_loop_end:
	llwpcb	%rax
	ret

/* void known_yield(void *block, u64 rounds, u64 n): gives the CPU away in every round */
	BEGIN	known_yield
	push	%r12
	mov	%rsi, %r12
	ON
known_yield_begin:
2:	mov	%rdx, %r8			/* rounds */
1:	dec	%r8				/* rounds * n */
	jnz	1b				/* rounds * n */
	mov	$24, %eax			/* rounds; sched_yield */
	syscall
	dec	%r12				/* rounds */
	jnz	2b				/* rounds */
	xor	%eax, %eax			/* 1 */
known_yield_end:
	llwpcb	%rax
	pop	%r12
	ret

/* void known_touch(void *block, void *memory, u64 pages): every store faults once, then retires */
	BEGIN	known_touch
	ON
known_touch_begin:
1:	movb	$1, (%rsi)			/* pages */
	add	$4096, %rsi			/* pages */
	dec	%rdx				/* pages */
	jnz	1b				/* pages */
	xor	%eax, %eax			/* 1 */
known_touch_end:
	llwpcb	%rax
	ret

/* void known_rep(void *block, u64 rounds, void *to, const void *from): 64 bytes by REP MOVSB a round */
	BEGIN	known_rep
	mov	%rdi, %rax
	mov	%rdx, %r8
	mov	%rcx, %r9
	llwpcb	%rax
known_rep_begin:
1:	mov	%r8, %rdi			/* rounds */
	mov	%r9, %rdx			/* rounds */
	xchg	%rdx, %rsi			/* rounds: rsi = from, rdx = rounds left */
	mov	$64, %ecx			/* rounds */
	rep movsb				/* rounds */
	mov	%rdx, %rsi			/* rounds */
	dec	%rsi				/* rounds */
	jnz	1b				/* rounds */
	xor	%eax, %eax			/* 1 */
known_rep_end:
	llwpcb	%rax
	ret

/* void known_sequence(void *block, u64 n, u64 turns): LWPINS with the numbers 0..n-1, a loop after each */
	BEGIN	known_sequence
	mov	%rsi, %rcx
	xor	%r9d, %r9d
	ON
known_sequence_begin:
1:	lwpins	$0, %r9d, %r9			/* n */
	mov	%rdx, %r8			/* n */
2:	dec	%r8				/* n * turns */
	jnz	2b				/* n * turns */
	inc	%r9d				/* n */
	dec	%rcx				/* n */
	jnz	1b				/* n */
	xor	%eax, %eax			/* 1 */
known_sequence_end:
	llwpcb	%rax
	ret

/*
 * Signal handler and its restorer: 10 instructions for a signal that hits between known_loop_begin and
 * known_loop_end. 168 is the offset of the interrupted rIP in the ucontext.
 */
	.globl	known_handler, known_handler_end, known_restorer
	.type	known_handler, @function
known_handler:
	mov	168(%rdx), %rax			/* 1 */
	lea	known_loop_begin(%rip), %rcx	/* 1 */
	cmp	%rcx, %rax			/* 1 */
	jb	1f				/* 1 */
	lea	known_loop_end(%rip), %rcx	/* 1 */
	cmp	%rcx, %rax			/* 1 */
	ja	1f				/* 1 */
	incq	known_signals(%rip)		/* 1 */
1:	ret					/* 1 */
known_restorer:
	mov	$15, %eax			/* 1; rt_sigreturn */
	syscall
known_handler_end:

	.bss
	.globl	known_signals
	.balign	8
known_signals:
	.quad	0

	.section .note.GNU-stack, "", @progbits
