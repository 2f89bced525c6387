// SPDX-License-Identifier: GPL-2.0-or-later
/* In real mode the four instructions raise #UD: tried by a processor that comes from INIT (2007-607). */
#include "apic.h"
#include "report.h"
#include "test.h"
#include "x86.h"

#define CODE 0x9000u
#define COUNT (CODE + 0xf00)
#define DONE (CODE + 0xf04)
#define SPINS 2000000000ull

extern char rm_code[], rm_end[];

/* The #UD handler counts and returns to BP. */
asm(".pushsection .rodata\n"
    ".code16\n"
    "rm_code: cli\n"
    "mov %cs, %ax\n"
    "mov %ax, %ds\n"
    "mov %ax, %ss\n"
    "mov $0xe00, %sp\n"
    "xor %bx, %bx\n"
    "mov %bx, %es\n"
    "movw $(rm_ud - rm_code), %es:6*4\n"
    "mov %ax, %es:6*4+2\n"
    "mov $(1f - rm_code), %bp\n"
    ".byte 0x8f, 0xe9, 0x78, 0x12, 0xc0\n" /* LLWPCB eax */
    "1: mov $(2f - rm_code), %bp\n"
    ".byte 0x8f, 0xe9, 0x78, 0x12, 0xc8\n" /* SLWPCB eax */
    "2: mov $(3f - rm_code), %bp\n"
    ".byte 0x8f, 0xea, 0x78, 0x12, 0xc1, 1, 0, 0, 0\n" /* LWPINS eax, ecx */
    "3: mov $(4f - rm_code), %bp\n"
    ".byte 0x8f, 0xea, 0x78, 0x12, 0xc9, 1, 0, 0, 0\n" /* LWPVAL eax, ecx */
    "4: mov $(5f - rm_code), %bp\n"
    "ud2\n" /* the handler itself */
    "5: movl $1, 0xf04\n"
    "6: hlt\n"
    "jmp 6b\n"
    "rm_ud: incl 0xf00\n"
    "mov %sp, %si\n"
    "mov %bp, %ss:(%si)\n"
    "iret\n"
    "rm_end:\n"
    ".code64\n"
    ".popsection\n");

FLAT_TEST(realmode)
{
	volatile u32 *count = (volatile u32 *)(u64)COUNT, *done = (volatile u32 *)(u64)DONE;

	memcpy((void *)(u64)CODE, rm_code, (size_t)(rm_end - rm_code));
	*count = 0;
	*done = 0;
	apic_start(1, CODE / PAGE_SIZE);
	for (u64 i = 0; !*done; i++) {
		if (i == SPINS)
			bail("the second processor does not answer");
		pause();
	}
	rule("43724-605", CERTAIN);
	report_eq(*count, 5, "four LWP instructions and UD2 raise #UD in real mode");
}
