/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code whose retired instructions are known by heart: each routine switches LWP on, runs, and switches it
 * off. What counts (43724-701, 43724-712): not LLWPCB, not SYSCALL, everything else once. The comments at the
 * right are the counts; known.h has the sums. In 32 bits the arguments come from the stack.
 */
#ifdef __i386__
#define rax eax
#define rcx ecx
#define rdx edx
#define rsi esi
#define rdi edi
#define r8 ebx
#define r9 ebp
#define r9d ebp
#define AT(symbol) symbol
#define INTERRUPTED 76(%ecx)
#define SCHED_YIELD mov $158, %eax; call *%gs:16
#define SIGRETURN mov $173, %eax; int $128
#define ARGUMENTS pusha; mov 36(%esp), %edi; mov 40(%esp), %esi; mov 44(%esp), %edx; mov 48(%esp), %ecx
#define RETURN popa; ret
#else
#define AT(symbol) symbol(%rip)
#define INTERRUPTED 168(%rdx)
#define SCHED_YIELD mov $24, %eax; syscall
#define SIGRETURN mov $15, %eax; syscall
#define ARGUMENTS
#define RETURN ret
#endif

	.macro	BEGIN name
	.globl	\name, \name\()_begin, \name\()_end
	.type	\name, @function
\name:
	ARGUMENTS
	.endm

	.macro	END
	llwpcb	%rax
	RETURN
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
	END

/* void known_yield(void *block, u64 rounds, u64 n): gives the CPU away in every round */
	BEGIN	known_yield
	mov	%rsi, %r9
	ON
known_yield_begin:
2:	mov	%rdx, %r8			/* rounds */
1:	dec	%r8				/* rounds * n */
	jnz	1b				/* rounds * n */
	SCHED_YIELD				/* rounds * KNOWN_SCHED_YIELD */
	dec	%r9				/* rounds */
	jnz	2b				/* rounds */
	xor	%eax, %eax			/* 1 */
known_yield_end:
	END

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
	END

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
	END

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
	END

/*
 * Signal handler and its restorer: 10 instructions for a signal that hits between known_loop_begin and
 * known_loop_end. INTERRUPTED is its rIP in the ucontext.
 */
	.globl	known_handler, known_handler_end, known_restorer
	.type	known_handler, @function
known_handler:
	mov	INTERRUPTED, %rax			/* 1 */
	lea	AT(known_loop_begin), %rcx	/* 1 */
	cmp	%rcx, %rax			/* 1 */
	jb	1f				/* 1 */
	lea	AT(known_loop_end), %rcx	/* 1 */
	cmp	%rcx, %rax			/* 1 */
	ja	1f				/* 1 */
	incl	AT(known_signals)		/* 1 */
1:	ret					/* 1 */
known_restorer:
	SIGRETURN				/* 1; rt_sigreturn */
known_handler_end:

	.bss
	.globl	known_signals
	.balign	8
known_signals:
	.quad	0

	.section .note.GNU-stack, "", @progbits
