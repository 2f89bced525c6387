// SPDX-License-Identifier: GPL-2.0-or-later
/* The snippets that pmcbench brings along. */
#include <string.h>

#include "pmcbench.h"

#define SNIPPET(name, code)                        \
	extern const uint8_t name[], name##_end[]; \
	__asm__(".pushsection .rodata\n" #name ":\n" code "\n" #name "_end:\n.popsection\n")

SNIPPET(code_empty, "");
SNIPPET(code_nop4, ".rept 4\n nop\n .endr");
SNIPPET(code_nop100, ".rept 100\n nop\n .endr");
SNIPPET(code_jmp, "jmp 1f\n nop\n 1:");
SNIPPET(code_call, "call 1f\n jmp 2f\n 1: ret\n 2:");
SNIPPET(code_loop10, "mov $10, %ecx\n 1: dec %ecx\n jnz 1b");
SNIPPET(code_load, "mov (%rsp), %rax");
SNIPPET(code_rep, "mov %rsp, %rdi\n mov (%rdi), %rax\n mov $1, %ecx\n rep stosq");
SNIPPET(code_div, "xor %edx, %edx\n mov $100, %eax\n mov $7, %ecx\n div %ecx");
SNIPPET(code_cpuid, "mov %rbx, %r8\n xor %eax, %eax\n xor %ecx, %ecx\n cpuid\n mov %r8, %rbx");

#define ROW(name, text)                                     \
	{                                                   \
#name, text, code_##name, code_##name##_end \
	}

const struct snippet snippet_empty = ROW(empty, "nothing");

static const struct snippet snippets[] = {
	ROW(nop4, "4 NOPs"),
	ROW(nop100, "100 NOPs"),
	ROW(jmp, "a JMP over a NOP"),
	ROW(call, "a CALL, the RET, a JMP"),
	ROW(loop10, "10 rounds of DEC, JNZ after a MOV"),
	ROW(load, "a load"),
	ROW(rep, "REP STOSQ after 3 MOVs"),
	ROW(div, "a DIV after XOR and 2 MOVs"),
	ROW(cpuid, "CPUID among 2 MOVs and 2 XORs"),
	ROW(empty, "nothing"),
};

const struct snippet *snippet_at(size_t index)
{
	return index < sizeof(snippets) / sizeof(snippets[0]) ? &snippets[index] : NULL;
}

const struct snippet *snippet_find(const char *name)
{
	const struct snippet *s;

	for (size_t i = 0; (s = snippet_at(i)); i++) {
		if (!strcmp(s->name, name))
			return s;
	}
	return NULL;
}
