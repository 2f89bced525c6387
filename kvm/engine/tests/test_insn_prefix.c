// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every combination of prefixes: all sequences of up to four of the eleven legacy prefixes and three REX
 * prefixes, before instructions of each sort, in each mode. What they must do is written down once more
 * here, rule by rule.
 */
#include "decoder_test.h"

static const u8 prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66,
			       0x67, 0xf0, 0xf2, 0xf3, 0x40, 0x41, 0x48 };

#define MAX_SEQUENCE 4

/* The first sequence that goes wrong ends the test: the others would say the same. */
#define expect(s, have, want)                                                          \
	cr_assert(eq(i64, have, want), "%u prefixes: %02x %02x %02x %02x", (s)->count, \
		  (s)->byte[0], (s)->byte[1], (s)->byte[2], (s)->byte[3])

struct sequence {
	u8 byte[MAX_SEQUENCE];
	unsigned int count;
};

static bool contains(const struct sequence *s, u8 prefix)
{
	return memchr(s->byte, prefix, s->count) != NULL;
}

static bool is_rex(u8 prefix)
{
	return prefix >= 0x40 && prefix <= 0x4f;
}

/* REX counts only as the last prefix. */
static u8 rex_of(const struct sequence *s)
{
	return s->count && is_rex(s->byte[s->count - 1]) ? s->byte[s->count - 1] : 0;
}

/* In 64-bit code: REX.W, else 66, else the default; in legacy code 66 swaps 16 and 32. */
static int op_bits_of(const struct sequence *s, enum lwp_code_bits bits, int default64)
{
	bool has_66 = contains(s, 0x66);

	if (bits == LWP_CODE64)
		return rex_of(s) == 0x48 ? 64 : has_66 ? 16 : default64;
	if (bits == LWP_CODE32)
		return has_66 ? 16 : 32;
	return has_66 ? 32 : 16;
}

static int addr_bits_of(const struct sequence *s, enum lwp_code_bits bits)
{
	bool has_67 = contains(s, 0x67);

	if (bits == LWP_CODE64)
		return has_67 ? 32 : 64;
	if (bits == LWP_CODE32)
		return has_67 ? 16 : 32;
	return has_67 ? 32 : 16;
}

static int rep_of(const struct sequence *s)
{
	for (unsigned int i = s->count; i > 0; i--)
		if (s->byte[i - 1] == 0xf2 || s->byte[i - 1] == 0xf3)
			return s->byte[i - 1];
	return 0;
}

/* The last override; in 64-bit code only FS and GS are any. Default for [rAX], [bx + si]: DS. */
static int seg_of(const struct sequence *s, enum lwp_code_bits bits)
{
	static const u8 override[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65 };
	const u8 *p;

	for (unsigned int i = s->count; i > 0; i--) {
		p = memchr(override, s->byte[i - 1], sizeof(override));
		if (p && (bits != LWP_CODE64 || *p >= 0x64))
			return (int)(p - override);
	}
	return LWP_SEG_DS;
}

/* Decodes the sequence, then tail, then bytes of 0 up to 15. */
static enum lwp_decode decode(const struct sequence *s, enum lwp_code_bits bits, const u8 *tail,
			      size_t count)
{
	u8 bytes[15] = { 0 };

	memcpy(bytes, s->byte, s->count);
	memcpy(bytes + s->count, tail, count);
	return insn_of(bits, bytes, sizeof(bytes));
}

static void expect_kind(const struct sequence *s, enum lwp_code_bits bits, enum lwp_insn_kind kind,
			const u8 *tail, size_t count)
{
	expect(s, decode(s, bits, tail, count), LWP_DECODE_OK);
	expect(s, insn.kind, kind);
}

static void check_relative(const struct sequence *s, enum lwp_code_bits bits)
{
	int op_bits = op_bits_of(s, bits, 64);

	expect_kind(s, bits, LWP_INSN_JCC, BYTES(0x7c, 0x80));
	expect(s, insn.length, s->count + 2);
	expect(s, insn.op_bits, op_bits);
	expect(s, insn.addr_bits, addr_bits_of(s, bits));
	expect(s, insn.rel, -128);

	expect_kind(s, bits, LWP_INSN_CALL_REL, BYTES(0xe8, 0xfe, 0xff));
	expect(s, insn.length, s->count + (op_bits == 16 ? 3 : 5));
	expect(s, insn.rel, op_bits == 16 ? -2 : 0xfffe);

	expect_kind(s, bits, LWP_INSN_JCC, BYTES(0x0f, 0x85, 0x34, 0x12));
	expect(s, insn.length, s->count + (op_bits == 16 ? 4 : 6));
	expect(s, insn.rel, 0x1234);
}

static void check_indirect(const struct sequence *s, enum lwp_code_bits bits)
{
	bool b = bits == LWP_CODE64 && rex_of(s) == 0x41;
	int addr_bits = addr_bits_of(s, bits);

	expect_kind(s, bits, LWP_INSN_CALL_IND, BYTES(0xff, 0x10));
	expect(s, insn.length, s->count + 2);
	expect(s, insn.op_bits, op_bits_of(s, bits, 64));
	expect(s, insn.rm.mem.addr_bits, addr_bits);
	expect(s, insn.rm.mem.seg, seg_of(s, bits));
	expect(s, insn.rm.mem.base, addr_bits == 16 ? LWP_GPR_RBX : b ? 8 : LWP_GPR_RAX);

	expect_kind(s, bits, LWP_INSN_JMP_IND, BYTES(0xff, 0xe3));
	expect(s, insn.rm.reg, b ? 11 : 3);
}

static void check_others(const struct sequence *s, enum lwp_code_bits bits)
{
	expect_kind(s, bits, LWP_INSN_MOVS, BYTES(0xa5));
	expect(s, insn.rep, rep_of(s));
	expect(s, insn.op_bits, op_bits_of(s, bits, 32));
	expect(s, insn.addr_bits, addr_bits_of(s, bits));
	expect(s, decode(s, bits, BYTES(0xa4)), LWP_DECODE_OK);
	expect(s, insn.op_bits, 8);

	expect_kind(s, bits, LWP_INSN_PUSHF, BYTES(0x9c));
	expect(s, insn.op_bits, op_bits_of(s, bits, 64));
	expect_kind(s, bits, LWP_INSN_MOV_SS, BYTES(0x8e, 0xd0));
	expect_kind(s, bits, LWP_INSN_INT, BYTES(0xcd, 0x80));
	expect_kind(s, bits, LWP_INSN_SYSCALL, BYTES(0x0f, 0x05));
	expect_kind(s, bits, LWP_INSN_RET, BYTES(0xc3));
	expect(s, insn.length, s->count + 1);
}

/* 66, F2, F3 and REX stand before neither XOP nor VEX; LOCK is refused elsewhere. */
static void check_xop(const struct sequence *s, enum lwp_code_bits bits)
{
	bool barred = contains(s, 0x66) || rep_of(s) || (bits == LWP_CODE64 && rex_of(s));

	expect(s, decode(s, bits, BYTES(0x8f, 0xe9, 0x78, 0x12, 0xc0)),
	       barred ? LWP_DECODE_UD : LWP_DECODE_OK);
	expect(s, insn.kind, barred ? LWP_INSN_OTHER : LWP_INSN_LLWPCB);
	expect(s, decode(s, bits, BYTES(0xc5, 0xf8, 0x77)), barred ? LWP_DECODE_UD : LWP_DECODE_OK);
}

static void check(const struct sequence *s, enum lwp_code_bits bits)
{
	if (contains(s, 0xf0)) {
		expect(s, decode(s, bits, BYTES(0xeb, 0)), LWP_DECODE_UD);
		expect(s, decode(s, bits, BYTES(0x8f, 0xe9, 0x78, 0x12, 0xc0)), LWP_DECODE_UD);
		return;
	}
	check_relative(s, bits);
	check_indirect(s, bits);
	check_others(s, bits);
	check_xop(s, bits);
}

/* In legacy code 40, 41 and 48 are INC and DEC, not prefixes. */
static void check_all(enum lwp_code_bits bits)
{
	unsigned int usable = bits == LWP_CODE64 ? COUNT(prefixes) : COUNT(prefixes) - 3;
	struct sequence s = { .count = 0 };
	unsigned int end = 1;

	for (s.count = 0; s.count <= MAX_SEQUENCE; s.count++, end *= usable) {
		for (unsigned int number = 0; number < end; number++) {
			for (unsigned int i = 0, rest = number; i < s.count; i++, rest /= usable)
				s.byte[i] = prefixes[rest % usable];
			check(&s, bits);
		}
	}
}

Test(insn_prefix, every_sequence_in_64_bit_code)
{
	check_all(LWP_CODE64);
}

Test(insn_prefix, every_sequence_in_32_bit_code)
{
	check_all(LWP_CODE32);
}

Test(insn_prefix, every_sequence_in_16_bit_code)
{
	check_all(LWP_CODE16);
}
