/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's code, copied to AT_CODE as a whole. A piece at CPL 3 ends with OUT to port 1, a handler at CPL 0 to
 * port 2. An instruction that KVM intercepts does not retire.
 */
	.section .rodata
	.globl guest, guest_end, at_out, at_cpuid, at_read, at_spin, at_nops, at_second_nop
	.globl at_int80, at_int81, at_int82, at_syscall, at_rep, at_lock
	.globl at_straight, at_chain, at_chase, at_branchy
	.globl in_out, in_iret, in_hlt, in_syscall, in_fault

.macro piece name, code
\name:	\code
	out %al, $1
.endm

/* LOOP instructions in each of %ecx turns */
.macro loop name, times, code
\name:
	.rept \times
	\code
	.endr
	nop
	nop
	dec %ecx
	jnz \name
	out %al, $1
.endm

	.balign 64
guest:
piece at_out
piece at_cpuid, "xor %eax, %eax; cpuid"
piece at_read, "mov (%rsi), %eax"
piece at_spin, "dec %ecx; jnz at_spin"
piece at_nops, "nop; at_second_nop: nop"
piece at_int80, "int $0x80"
piece at_int81, "int $0x81"
piece at_int82, "int $0x82"
piece at_syscall, "syscall"
piece at_rep, "mov $64, %ecx; mov $0x23000, %edi; rep stosb"
piece at_lock, ".rept 16; lock incl (%rsi); .endr"
loop at_straight, 252, "nop"
loop at_chain, 252, "imul %rax, %rax"
loop at_chase, 252, "mov (%rsi), %rsi"
loop at_branchy, 63, "rol %eax; jc 1f; 1: rol %eax; jmp 1f; 1:"

in_out:	out %al, $2
in_iret: iretq
in_hlt:	hlt
in_syscall: /* SYSRET, or OUT without %esi */
	test %esi, %esi
	jz in_out
	sysretq
in_fault: out %al, $3
guest_end:
	.section .note.GNU-stack, "", %progbits
