// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The generator: a control block and a program of random pieces, every one of them used in turn so that a
 * few dozen programs have them all.
 */
#include "diff.h"
#include "layout.h"
#include "x86.h"

/* Free space in which any one piece, or a change to 32-bit code and back, ends. */
#define PIECE_MAX 160
#define CODE32_BASE 0x1000

_Static_assert(DIFF_CB_HEAD == LWP_CB_HEAD && DIFF_CB_TAIL == LWP_CB_TAIL, "snips.S");

u32 diff_rows[DIFF_ROWS];
#define ROW_NAME(id, name) name,
const char *const diff_row_names[DIFF_ROWS] = { DIFF_ROW_TABLE(ROW_NAME) };

/* SplitMix64 (Steele, Lea, Flood 2014). */
u32 diff_random(struct diff_random *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (u32)(z >> 32);
}

u32 diff_below(struct diff_random *r, u32 n)
{
	return (u32)((u64)diff_random(r) * n >> 32);
}

static void emit(struct diff_program *p, const u8 *bytes, u32 n)
{
	if (p->length + n > p->room)
		bail("a program is longer than %u bytes", p->room);
	memcpy(p->code + p->length, bytes, n);
	p->length += n;
}

static void emit32(struct diff_program *p, u32 v)
{
	u8 bytes[4];

	lwp_put32(bytes, v);
	emit(p, bytes, sizeof(bytes));
}

#define EMIT(p, ...) emit(p, (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))

/* eax, ecx, edx or esi */
static u8 some_register(struct diff_random *r)
{
	static const u8 registers[] = { 0, 1, 2, 6 };

	return registers[diff_below(r, sizeof(registers))];
}

/* One instruction that is the same in 32- and 64-bit code. */
static void arithmetic(struct diff_program *p, struct diff_random *r)
{
	u8 reg = some_register(r), other = some_register(r);

	diff_rows[DIFF_ROW_ALU]++;
	switch (diff_below(r, 6)) {
	case 0: /* mov $imm32, reg */
		EMIT(p, (u8)(0xb8 + reg));
		emit32(p, diff_random(r));
		break;
	case 1: /* add, or, adc, sbb, and, sub, xor, cmp $imm8, reg */
		EMIT(p, 0x83, (u8)(0xc0 | diff_below(r, 8) << 3 | reg), (u8)diff_random(r));
		break;
	case 2: /* test reg, reg */
		EMIT(p, 0x85, (u8)(0xc0 | other << 3 | reg));
		break;
	case 3: /* add reg, disp8(rdi) */
		EMIT(p, 0x01, (u8)(0x47 | reg << 3), (u8)(4 * diff_below(r, 16)));
		break;
	case 4: /* imul disp8(rdi), reg */
		EMIT(p, 0x0f, 0xaf, (u8)(0x47 | reg << 3), (u8)(4 * diff_below(r, 16)));
		break;
	default: /* nop */
		EMIT(p, 0x90);
	}
}

/* Jcc over nothing or a NOP, short or near. */
static void conditional_jump(struct diff_program *p, struct diff_random *r)
{
	u8 condition = (u8)diff_below(r, 16), distance = (u8)diff_below(r, 2);

	diff_rows[DIFF_ROW_JCC]++;
	EMIT(p, 0x83, (u8)(0xf8 | some_register(r)), (u8)diff_random(r)); /* cmp $imm8, reg */
	if (diff_below(r, 2)) {
		EMIT(p, (u8)(0x70 | condition), distance);
	} else {
		EMIT(p, 0x0f, (u8)(0x80 | condition));
		emit32(p, distance);
	}
	EMIT(p, 0x90);
}

static void code32(struct diff_program *p, struct diff_random *r, struct snip *s)
{
	bool based = diff_below(r, 2);
	u32 here;

	diff_rows[based ? DIFF_ROW_CODE32_BASE : DIFF_ROW_CODE32]++;
	here = DIFF_CODE_VA + p->length + 9; /* after these three */
	EMIT(p, 0x6a, based ? USER_FREE_CS : USER_CS32); /* push selector */
	EMIT(p, 0x68); /* push offset */
	emit32(p, here - (based ? CODE32_BASE : 0));
	EMIT(p, 0x48, 0xcb); /* lretq */
	arithmetic(p, r);
	emit(p, s->start, (u32)(s->end - s->start));
	conditional_jump(p, r);
	EMIT(p, 0xea); /* ljmp */
	emit32(p, DIFF_CODE_VA + p->length + 6);
	EMIT(p, USER_CS64, 0);
}

/* Piece number n, or the next one that can run where the program does. */
static void piece(struct diff_program *p, struct diff_random *r, u32 n)
{
	struct snip *s = &diff_snips[n];

	while (p->process && !s->process)
		s = s + 1 < diff_snips_end ? s + 1 : diff_snips;
	s->count++;
	if (s->bits == 32)
		code32(p, r, s);
	else
		emit(p, s->start, (u32)(s->end - s->start));
}

static void pieces(struct diff_program *p, struct diff_random *r, u32 n)
{
	const u32 snips = (u32)(diff_snips_end - diff_snips);

	for (; n; n--) {
		switch (diff_below(r, 4)) {
		case 0:
			arithmetic(p, r);
			break;
		case 1:
			conditional_jump(p, r);
			break;
		default:
			piece(p, r, diff_below(r, snips));
		}
	}
}

/* ebp counts the turns of what is between; returns where that begins. */
static u32 begin_loop(struct diff_program *p, u32 turns)
{
	EMIT(p, 0xbd); /* mov $imm32, ebp */
	emit32(p, turns);
	return p->length;
}

static void end_loop(struct diff_program *p, u32 top)
{
	EMIT(p, 0xff, 0xcd, 0x0f, 0x85); /* dec ebp; jnz top */
	emit32(p, top - p->length - 4);
}

static void loop(struct diff_program *p, struct diff_random *r)
{
	u32 top = begin_loop(p, 2 + diff_below(r, 4));

	diff_rows[DIFF_ROW_LOOP]++;
	pieces(p, r, 1 + diff_below(r, 4));
	end_loop(p, top);
}

/* Up to p->spin turns of what stops nowhere, so that a performance counter has something to count. */
static void spin(struct diff_program *p, struct diff_random *r)
{
	u32 top = begin_loop(p, 1 + diff_below(r, p->spin));

	arithmetic(p, r);
	conditional_jump(p, r);
	arithmetic(p, r);
	end_loop(p, top);
}

static u32 some_interval(struct diff_random *r)
{
	static const u32 limits[] = { 1, 4, 16, 64, 300 };

	return diff_below(r, limits[diff_below(r, 5)]);
}

/* counted: instructions, with intervals that leave something to a counter, and without filters. */
static void make_block(struct diff_program *p, struct diff_random *r, bool counted)
{
	struct block *b = &p->block;
	u32 n = 0;

	*b = (struct block){ .random = diff_below(r, 3) ? 0 : diff_below(r, 16) };
	/* After a record that was late all intervals would be others. */
	if (p->interval)
		b->random = 0;
	for (u8 id = EV_VAL; id <= EV_BRE; id++) {
		u32 least = id == EV_VAL ? 0 : p->interval + (counted ? 50 : 0);
		bool drawn = id == EV_IRE ? diff_below(r, 8) : diff_below(r, 3);

		if (drawn || (counted && id == EV_IRE))
			b->event[n++] = (struct block_event){ id, least + some_interval(r),
							      least + some_interval(r) };
	}
	diff_rows[DIFF_ROW_RANDOM] += b->random != 0;
	b->size = (32 + 8 * diff_below(r, 30)) * RECORD_SIZE;
	b->base = RING_VA + 4 * diff_below(r, 512);
	if (diff_below(r, 2)) {
		/* The first records are about the end of a page. */
		b->base = RING_VA + PAGE_SIZE - RECORD_SIZE * diff_below(r, 4) -
			  4 * (1 + diff_below(r, 7));
		diff_rows[DIFF_ROW_CROSSING]++;
	}
	if (!diff_below(r, 4))
		b->flags |= LWP_F_CONT;
	if (counted)
		return;
	if (!diff_below(r, 3)) {
		b->filters = diff_random(r) & (LWP_FILTER_NRB | LWP_FILTER_NCB | LWP_FILTER_NAB);
		diff_rows[DIFF_ROW_FILTERS]++;
	}
	if (!diff_below(r, 4)) {
		b->filters |= diff_below(r, 2) ? LWP_FILTER_IPF : LWP_FILTER_IPF | LWP_FILTER_IPI;
		b->base_ip = DIFF_CODE_VA + diff_below(r, 0x400);
		b->limit_ip = b->base_ip + diff_below(r, 0x800);
		diff_rows[DIFF_ROW_IP_FILTER]++;
	}
}

void diff_generate(struct diff_program *p, u32 seed, u32 n)
{
	struct diff_random r = { (u64)seed << 32 | n };
	u32 kinds = (u32)(diff_snips_end - diff_snips), items = 12 + diff_below(&r, 20);

	make_block(p, &r, p->counters && n % 4 == 0);
	p->length = 0;
	p->break_at = DIFF_NO_BREAK;
	p->irqs = diff_below(&r, 2) || p->process;
	p->watch = diff_below(&r, 2) && !p->process;
	EMIT(p, 0x8f, 0xe9, 0xf8, 0x12, 0xc0); /* llwpcb rax */
	/* Two kinds have their turn, so that all of them come soon. */
	piece(p, &r, 2 * n % kinds);
	piece(p, &r, (2 * n + 1) % kinds);
	for (u32 i = 0; i < items && p->length + 8 * PIECE_MAX < p->room; i++) {
		if (i == items / 2 && diff_below(&r, 2) && !p->process) {
			p->break_at = p->length;
			diff_rows[DIFF_ROW_BREAKPOINT]++;
		}
		if (diff_below(&r, 5))
			pieces(p, &r, 1);
		else
			loop(p, &r);
		if (p->spin)
			spin(p, &r);
	}
	EMIT(p, 0x8f, 0xe9, 0xf8, 0x12, 0xcb); /* slwpcb rbx */
	if (p->process)
		EMIT(p, 0x31, 0xc0, 0x8f, 0xe9, 0xf8, 0x12, 0xc0); /* xor eax, eax; llwpcb rax */
	EMIT(p, 0xcd, VEC_EXIT_GATE);
}
