// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All third bytes of the XOP prefix (W, vvvv, L, pp) with all values of ModRM.reg, in 64-, 32- and 16-bit code: what
 * has no register in vvvv needs 1111, in each mode; L and pp are zero (43724-601, 43724-604, 43724-607).
 */
#include "cpu.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define XOP 0x8f
#define OPCODE 0x12
#define MAP_9 9
#define MAP_A 10
/* R, X and B are inverted. */
#define NO_RXB 0xe0
#define VVVV 0x78
#define L_PP 0x07
#define MOD_REG 0xc0

static const struct mode {
	const char *name;
	u16 cs;
} modes[] = {
	{ "64-bit code", USER_CS64 },
	{ "32-bit code", USER_CS32 },
	{ "16-bit code", USER_FREE_CS },
};

static bool exists(u8 second, u8 third, u8 modrm)
{
	if (third & L_PP || (modrm >> 3 & 7) > 1)
		return false;
	if ((second & 0x1f) == MAP_A)
		return true;
	return modrm >= MOD_REG && (third & VVVV) == VVVV;
}

/* Run it at the start of the data page, LWP off, all registers zero. Does it raise #UD? */
static bool raises_ud(struct lwp *l, const struct mode *mode, u8 second, u8 third, u8 modrm)
{
	const u8 code[] = { XOP, second, third, OPCODE, modrm };
	u64 start = mode->cs == USER_FREE_CS ? 0 : DATA_VA;
	struct user *u = &l->u;
	u32 end = sizeof(code);

	memcpy(l->data, code, sizeof(code));
	if ((second & 0x1f) == MAP_A) {
		memset(l->data + end, 0, 4);
		end += 4;
	}
	/* INT VEC_EXIT_GATE */
	l->data[end] = 0xcd;
	l->data[end + 1] = VEC_EXIT_GATE;
	user_init64(u, start, STACK_TOP);
	u->r.cs = mode->cs;
	user_run(u);
	if (user_exited(u))
		return false;
	if (u->r.vector != VEC_UD || u->r.rip != start)
		bail("%s: 8F %02x %02x 12 %02x ends with vector %u at %lx", mode->name, second,
		     third, modrm, (u32)u->r.vector, u->r.rip);
	return true;
}

/* Register and memory operands. Result: how many are not as they should be. */
static u32 wrong(struct lwp *l, const struct mode *mode, u8 second, u8 third)
{
	static const u8 operands[] = { MOD_REG | 1, 7 };
	u32 count = 0;

	for (u32 i = 0; i < sizeof(operands); i++) {
		for (u32 reg = 0; reg < 8; reg++) {
			u8 modrm = (u8)(operands[i] | reg << 3);

			if (raises_ud(l, mode, second, third, modrm) !=
			    exists(second, third, modrm))
				continue;
			report_note("8F %02x %02x 12 %02x", second, third, modrm);
			count++;
		}
	}
	return count;
}

LWP_TEST(xop_forms)
{
	u32 bad;

	rule("43724-601 43724-604 43724-607", RECALLED);
	seg_set(USER_FREE_CS, DATA_VA, 0xffff, SEG_USER_CODE, SEG_16BIT_BYTES);
	for (u32 i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		for (u32 map = MAP_9; map <= MAP_A; map++) {
			bad = 0;
			for (u32 byte = 0; byte < 256; byte++)
				bad += wrong(l, &modes[i], (u8)(NO_RXB | map), (u8)byte);
			report_eq(bad, 0, "%s, map %u: forms that are decoded wrongly",
				  modes[i].name, map);
			bad = 0;
			for (u32 rxb = 0; rxb < 8; rxb++)
				bad += wrong(l, &modes[i], (u8)(rxb << 5 | map), VVVV);
			report_eq(bad, 0, "%s, map %u: the same with R, X and B", modes[i].name,
				  map);
		}
	}
}
