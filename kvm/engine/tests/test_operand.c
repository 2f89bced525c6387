// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory operands of LWPINS: every addressing form, segment, address; and fetching values. */
#include "decoder_test.h"

#define NONE LWP_GPR_NONE
#define IP LWP_GPR_IP
#define DS LWP_SEG_DS
#define SS LWP_SEG_SS

/* LWPINS eax, operand, 0 with the given prefixes: they are moved before the opcode bytes. */
struct form {
	struct code prefixes;
	struct code operand; /* ModRM, SIB, displacement */
	struct lwp_mem want;
};

#define NO_PREFIX        \
	{                \
		{ 0 }, 0 \
	}

static void expect_form(enum lwp_code_bits bits, const struct form *form, size_t number)
{
	static const u8 opcode[] = { 0x8f, 0xea, 0x78, 0x12 };
	const struct lwp_mem *want = &form->want;
	u8 bytes[40] = { 0 };
	size_t n = 0;

	memcpy(bytes, form->prefixes.byte, form->prefixes.count);
	n += form->prefixes.count;
	memcpy(bytes + n, opcode, sizeof(opcode));
	n += sizeof(opcode);
	memcpy(bytes + n, form->operand.byte, form->operand.count);
	n += form->operand.count + 4;
	cr_assert(eq(int, xop_of(bits, bytes, n), LWP_DECODE_OK), "form %zu", number);
	cr_expect(eq(int, x.length, n), "form %zu", number);
	cr_expect(x.rm.is_mem, "form %zu", number);
	cr_expect(eq(int, x.rm.mem.seg, want->seg), "form %zu", number);
	cr_expect(eq(int, x.rm.mem.base, want->base), "form %zu", number);
	cr_expect(eq(int, x.rm.mem.index, want->index), "form %zu", number);
	cr_expect(eq(int, x.rm.mem.scale, want->scale), "form %zu", number);
	cr_expect(eq(int, x.rm.mem.addr_bits, want->addr_bits), "form %zu", number);
	cr_expect(eq(int, x.rm.mem.code_bits, bits), "form %zu", number);
	cr_expect(eq(i32, x.rm.mem.disp, want->disp), "form %zu", number);
}

Test(operand, forms_of_64_bit_addressing) /* 43724-604 */
{
	static const struct form forms[] = {
		{ NO_PREFIX, CODE(0x00), { DS, 0, NONE, 0, 64, 0, 0 } },
		{ NO_PREFIX, CODE(0x01), { DS, 1, NONE, 0, 64, 0, 0 } },
		{ NO_PREFIX, CODE(0x07), { DS, 7, NONE, 0, 64, 0, 0 } },
		/* [rip + disp32] */
		{ NO_PREFIX, CODE(0x05, 0x10, 0, 0, 0), { DS, IP, NONE, 0, 64, 0, 0x10 } },
		{ NO_PREFIX, CODE(0x05, 0xf0, 0xff, 0xff, 0xff), { DS, IP, NONE, 0, 64, 0, -16 } },
		/* disp8 is signed; rBP is based on the stack segment */
		{ NO_PREFIX, CODE(0x45, 0xf8), { SS, 5, NONE, 0, 64, 0, -8 } },
		{ NO_PREFIX, CODE(0x47, 0x7f), { DS, 7, NONE, 0, 64, 0, 127 } },
		{ NO_PREFIX, CODE(0x85, 0, 0, 0, 0x80), { SS, 5, NONE, 0, 64, 0, INT32_MIN } },
		/* SIB: [rsp], [rsp+8], index 4 = none whatever the scale */
		{ NO_PREFIX, CODE(0x04, 0x24), { SS, 4, NONE, 0, 64, 0, 0 } },
		{ NO_PREFIX, CODE(0x44, 0xe4, 8), { SS, 4, NONE, 0, 64, 0, 8 } },
		/* [rax + rcx*2], [rbx + rbp*4 + 1]: an index of rBP is not the base */
		{ NO_PREFIX, CODE(0x04, 0x48), { DS, 0, 1, 1, 64, 0, 0 } },
		{ NO_PREFIX, CODE(0x44, 0xab, 1), { DS, 3, 5, 2, 64, 0, 1 } },
		/* [rbp + rax*8 + 0]; with mod 0 no base but disp32 */
		{ NO_PREFIX, CODE(0x44, 0xc5, 0), { SS, 5, 0, 3, 64, 0, 0 } },
		{ NO_PREFIX, CODE(0x04, 0xc5, 4, 3, 2, 1), { DS, NONE, 0, 3, 64, 0, 0x01020304 } },
		{ NO_PREFIX,
		  CODE(0x04, 0x25, 4, 3, 2, 1),
		  { DS, NONE, NONE, 0, 64, 0, 0x01020304 } },
		/* overrides: FS and GS count, the others do not, not even after FS */
		{ CODE(0x64), CODE(0x00), { LWP_SEG_FS, 0, NONE, 0, 64, 0, 0 } },
		{ CODE(0x65), CODE(0x04, 0x24), { LWP_SEG_GS, 4, NONE, 0, 64, 0, 0 } },
		{ CODE(0x26), CODE(0x00), { DS, 0, NONE, 0, 64, 0, 0 } },
		{ CODE(0x3e), CODE(0x45, 0), { SS, 5, NONE, 0, 64, 0, 0 } },
		{ CODE(0x64, 0x36), CODE(0x00), { LWP_SEG_FS, 0, NONE, 0, 64, 0, 0 } },
		{ CODE(0x64, 0x65), CODE(0x00), { LWP_SEG_GS, 0, NONE, 0, 64, 0, 0 } },
		/* 67: 32-bit addresses, EIP */
		{ CODE(0x67), CODE(0x00), { DS, 0, NONE, 0, 32, 0, 0 } },
		{ CODE(0x67), CODE(0x05, 1, 0, 0, 0), { DS, IP, NONE, 0, 32, 0, 1 } },
	};

	for (size_t i = 0; i < COUNT(forms); i++)
		expect_form(LWP_CODE64, &forms[i], i);
}

/* B extends the base, X the index: second byte CA (B), AA (X), 8A (both). */
Test(operand, extended_registers)
{
	static const struct {
		enum lwp_code_bits bits;
		u8 base, index;
		struct code code;
	} forms[] = {
		/* [r8]; [r12] needs SIB, [r13 + 0] disp8; neither uses the stack segment */
		{ LWP_CODE64, 8, NONE, CODE(0x8f, 0xca, 0x78, 0x12, 0x00, 0, 0, 0, 0) },
		{ LWP_CODE64, 12, NONE, CODE(0x8f, 0xca, 0x78, 0x12, 0x04, 0x24, 0, 0, 0, 0) },
		{ LWP_CODE64, 13, NONE, CODE(0x8f, 0xca, 0x78, 0x12, 0x45, 0, 0, 0, 0, 0) },
		/* r/m 101b with mod 0 is rIP-relative whatever B says, and SIB base 101b is none */
		{ LWP_CODE64, IP, NONE, CODE(0x8f, 0xca, 0x78, 0x12, 5, 1, 0, 0, 0, 0, 0, 0, 0) },
		{ LWP_CODE64, NONE, NONE,
		  CODE(0x8f, 0xca, 0x78, 0x12, 0x04, 0x25, 1, 0, 0, 0, 0, 0, 0, 0) },
		/* R12 is an index, although 100b without X is none: [rax + r12*1] */
		{ LWP_CODE64, 0, 12, CODE(0x8f, 0xaa, 0x78, 0x12, 0x04, 0x20, 0, 0, 0, 0) },
		/* [r15 + r14*8], of which code that is not 64-bit sees the first eight registers */
		{ LWP_CODE32, 7, 6, CODE(0x8f, 0x8a, 0x78, 0x12, 0x04, 0xf7, 0, 0, 0, 0) },
		{ LWP_CODE64, 15, 14, CODE(0x8f, 0x8a, 0x78, 0x12, 0x04, 0xf7, 0, 0, 0, 0) },
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		const struct code *code = &forms[i].code;

		cr_expect(eq(int, xop_of(forms[i].bits, code->byte, code->count), LWP_DECODE_OK),
			  "form %zu", i);
		cr_expect(eq(int, x.length, code->count), "form %zu", i);
		cr_expect(eq(int, x.rm.mem.base, forms[i].base), "form %zu", i);
		cr_expect(eq(int, x.rm.mem.index, forms[i].index), "form %zu", i);
		cr_expect(eq(int, x.rm.mem.seg, DS), "form %zu", i);
	}
	cr_expect(eq(int, x.rm.mem.scale, 3));
	cr_expect(eq(int, xop_of(LWP_CODE64, BYTES(0x8f, 0xca, 0x78, 0x12, 0xc7, 0, 0, 0, 0)),
		     LWP_DECODE_OK));
	cr_expect(eq(int, x.rm.reg, 15));
}

Test(operand, forms_of_32_bit_addressing) /* 43724-604 */
{
	static const struct form forms[] = {
		{ NO_PREFIX, CODE(0x03), { DS, 3, NONE, 0, 32, 0, 0 } },
		/* no EIP-relative form: disp32 alone */
		{ NO_PREFIX, CODE(0x05, 4, 3, 2, 1), { DS, NONE, NONE, 0, 32, 0, 0x01020304 } },
		{ NO_PREFIX, CODE(0x45, 0x80), { SS, 5, NONE, 0, 32, 0, -128 } },
		{ NO_PREFIX, CODE(0x04, 0x4c), { SS, 4, 1, 1, 32, 0, 0 } },
		{ NO_PREFIX, CODE(0x84, 0x90, 1, 0, 0, 0), { DS, 0, 2, 2, 32, 0, 1 } },
		{ CODE(0x2e), CODE(0x03), { LWP_SEG_CS, 3, NONE, 0, 32, 0, 0 } },
		{ CODE(0x36), CODE(0x03), { LWP_SEG_SS, 3, NONE, 0, 32, 0, 0 } },
		{ CODE(0x3e), CODE(0x45, 0), { DS, 5, NONE, 0, 32, 0, 0 } },
		{ CODE(0x26), CODE(0x45, 0), { LWP_SEG_ES, 5, NONE, 0, 32, 0, 0 } },
		{ CODE(0x64, 0x26), CODE(0x03), { LWP_SEG_ES, 3, NONE, 0, 32, 0, 0 } },
		/* 67: 16-bit addresses */
		{ CODE(0x67), CODE(0x07), { DS, 3, NONE, 0, 16, 0, 0 } },
	};

	for (size_t i = 0; i < COUNT(forms); i++)
		expect_form(LWP_CODE32, &forms[i], i);
}

Test(operand, forms_of_16_bit_addressing) /* 43724-604 */
{
	static const struct form forms[] = {
		{ NO_PREFIX, CODE(0x00), { DS, 3, 6, 0, 16, 0, 0 } }, /* bx + si */
		{ NO_PREFIX, CODE(0x01), { DS, 3, 7, 0, 16, 0, 0 } }, /* bx + di */
		{ NO_PREFIX, CODE(0x02), { SS, 5, 6, 0, 16, 0, 0 } }, /* bp + si */
		{ NO_PREFIX, CODE(0x03), { SS, 5, 7, 0, 16, 0, 0 } }, /* bp + di */
		{ NO_PREFIX, CODE(0x04), { DS, 6, NONE, 0, 16, 0, 0 } }, /* si */
		{ NO_PREFIX, CODE(0x05), { DS, 7, NONE, 0, 16, 0, 0 } }, /* di */
		{ NO_PREFIX, CODE(0x06, 0x34, 0x12), { DS, NONE, NONE, 0, 16, 0, 0x1234 } },
		{ NO_PREFIX, CODE(0x07), { DS, 3, NONE, 0, 16, 0, 0 } }, /* bx */
		{ NO_PREFIX, CODE(0x46, 0xff), { SS, 5, NONE, 0, 16, 0, -1 } }, /* bp - 1 */
		{ NO_PREFIX, CODE(0x40, 0x80), { DS, 3, 6, 0, 16, 0, -128 } },
		{ NO_PREFIX, CODE(0x82, 0xff, 0x7f), { SS, 5, 6, 0, 16, 0, 0x7fff } },
		{ NO_PREFIX, CODE(0x86, 0x00, 0x80), { SS, 5, NONE, 0, 16, 0, -0x8000 } },
		{ CODE(0x65), CODE(0x02), { LWP_SEG_GS, 5, 6, 0, 16, 0, 0 } },
		/* 67: 32-bit addresses */
		{ CODE(0x67), CODE(0x04, 0x48), { DS, 0, 1, 1, 32, 0, 0 } },
		{ CODE(0x67), CODE(0x05, 4, 3, 2, 1), { DS, NONE, NONE, 0, 32, 0, 0x01020304 } },
	};

	for (size_t i = 0; i < COUNT(forms); i++)
		expect_form(LWP_CODE16, &forms[i], i);
}

struct address {
	struct lwp_mem mem;
	u64 offset, linear;
};

/* Register n = 1111111111111111h * n, segment n at (n + 1) << 20, next instruction at 7fff0010h. */
Test(operand, addresses)
{
	static const struct address addresses[] = {
		/* rbx + rsi*4 - 16 = 3333333333333333 + 9999999999999998 - 10, DS has no base */
		{ { DS, 3, 6, 2, 64, 64, -16 }, 0xccccccccccccccbb, 0xccccccccccccccbb },
		/* the same through FS at 500000h */
		{ { LWP_SEG_FS, 3, 6, 2, 64, 64, -16 }, 0xccccccccccccccbb, 0xcccccccccd1cccbb },
		/* SS, ES, CS have none either */
		{ { SS, 4, NONE, 0, 64, 64, 8 }, 0x444444444444444c, 0x444444444444444c },
		/* r15*2 wraps at 64 bits: ffffffffffffffff * 2 */
		{ { DS, NONE, 15, 1, 64, 64, 0 }, 0xfffffffffffffffe, 0xfffffffffffffffe },
		/* rIP-relative: the next instruction */
		{ { DS, IP, NONE, 0, 64, 64, 0x100 }, 0x7fff0110, 0x7fff0110 },
		{ { LWP_SEG_GS, IP, NONE, 0, 64, 64, -0x10 }, 0x7fff0000, 0x805f0000 },
		/* 67 in 64-bit code: cut to 32 bits, then the base of GS is added in 64 */
		{ { DS, 8, NONE, 0, 32, 64, 0 }, 0x88888888, 0x88888888 },
		{ { LWP_SEG_GS, 15, NONE, 0, 32, 64, 0 }, 0xffffffff, 0x1005fffff },
		{ { DS, IP, NONE, 0, 32, 64, INT32_MIN }, 0xffff0010, 0xffff0010 },
		/* 32-bit code: DS at 400000h; the sum wraps at 32 bits */
		{ { DS, 1, NONE, 0, 32, 32, 1 }, 0x11111112, 0x11511112 },
		{ { SS, 15, NONE, 0, 32, 32, 0 }, 0xffffffff, 0x002fffff },
		{ { DS, NONE, NONE, 0, 32, 32, -1 }, 0xffffffff, 0x003fffff },
		/* 16-bit addresses: bx + si = 3333 + 6666 = 9999; bp + di + 7fff = 5555 + 7777 + 7fff */
		{ { DS, 3, 6, 0, 16, 16, 0 }, 0x9999, 0x409999 },
		{ { SS, 5, 7, 0, 16, 16, 0x7fff }, 0x4ccb, 0x304ccb },
		{ { LWP_SEG_CS, NONE, NONE, 0, 16, 16, -1 }, 0xffff, 0x20ffff },
	};
	struct lwp_ea ea;
	struct cpu cpu;

	cpu_init(&cpu, 64);
	for (size_t i = 0; i < COUNT(addresses); i++) {
		lwp_mem_ea(&addresses[i].mem, 0x7fff0010, &cpu.access, &ea);
		cr_expect(eq(u64, ea.offset, addresses[i].offset), "address %zu", i);
		cr_expect(eq(u64, ea.linear, addresses[i].linear), "address %zu", i);
		cr_expect(eq(int, ea.seg, addresses[i].mem.seg), "address %zu", i);
	}
}

Test(operand, a_failed_read_is_handed_on) /* 43724-629 */
{
	struct lwp_operand memory = { .is_mem = true, .mem = { DS, 3, NONE, 0, 64, 64, 0 } };
	struct cpu cpu;
	u64 value = 1;

	cpu_init(&cpu, 64);
	cpu.error = -14;
	cr_expect(eq(int, lwp_operand_read(&memory, 4, 0, &cpu.access, &value), -14));
	cr_expect(eq(u64, value, 0));
	value = 1;
	cr_expect(eq(int, lwp_stack_read(LWP_CODE64, 8, &cpu.access, &value), -14));
	cr_expect(eq(u64, value, 0));
}

/* rSP = 4444444444444444h, SS at 300000h. */
Test(operand, top_of_the_stack)
{
	struct cpu cpu;
	u64 value;

	cpu_init(&cpu, 64);
	cr_expect(eq(int, lwp_stack_read(LWP_CODE64, 8, &cpu.access, &value), 0));
	cr_expect(eq(u64, value, 0x8192a3b4c5d6e7f8));
	cr_expect(eq(int, cpu.last.seg, SS));
	cr_expect(eq(u64, cpu.last.offset, 0x4444444444444444));
	cr_expect(eq(u64, cpu.last.linear, 0x4444444444444444));

	cpu_init(&cpu, 32);
	cr_expect(eq(int, lwp_stack_read(LWP_CODE32, 4, &cpu.access, &value), 0));
	cr_expect(eq(u64, value, 0xc5d6e7f8));
	cr_expect(eq(u64, cpu.last.offset, 0x44444444));
	cr_expect(eq(u64, cpu.last.linear, 0x44744444));

	/* A 16-bit stack under 32-bit code. */
	cpu_init(&cpu, 16);
	cr_expect(eq(int, lwp_stack_read(LWP_CODE32, 2, &cpu.access, &value), 0));
	cr_expect(eq(u64, value, 0xe7f8));
	cr_expect(eq(u64, cpu.last.offset, 0x4444));
	cr_expect(eq(u64, cpu.last.linear, 0x304444));
}
