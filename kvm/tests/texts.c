// SPDX-License-Identifier: GPL-2.0-or-later
/* See texts.h. */
#include "counted.h"
#include "texts.h"

asm(".globl parts, parts_end, windows, windows_end, wrfsbase, wrfsbase_end\n"
    ".globl straight, straight_end, flags, flags_end\n");

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
