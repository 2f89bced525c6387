// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose every page is translated while all other processors wait, because another processor has just stored
 * to it: flags, DF, registers, memory, counts and records are those of any other program, in each way of counting
 * (docs/design.md, "TCG"). Each step of the program has a page of its own.
 */
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#define CODE_VA (USER_BASE + 0x100000)
#define PLACES_VA (USER_BASE + 0x200000)
#define PLACES 4 /* pages that are not there until they are touched */
#define LAST_PLACE (PLACES_VA + 3 * PAGE_SIZE)
#define SPLIT_OFFSET (2 * PAGE_SIZE - 4)
#define STORES_OFFSET (PAGE_SIZE + 2)
#define STORES 6u /* STOSB, REP STOSB of five */
#define STORED 0xa5
#define FAR 1000000u
#define NRB (1u << 27)
#define IPF (1u << 31)
#define IRE_INTERVALS 12u
#define BRE_INTERVALS 6u

/* A step that is a branch is the opcode of one whose displacement of 32 bits leads to the next page. */
USER_CODE("aln_start: llwpcb %rax\n"
	  "aln_go: jmp *%r8\n"
	  "aln_0: std\n"
	  "aln_1: stc\n"
	  "aln_2: adc $0, %rdx\n"
	  "aln_3: stc\n"
	  "aln_4: mov (%r10), %rcx\n"
	  "aln_5: adc $0, %rdx\n"
	  "aln_6: stc\n"
	  "aln_7: lock adcq $0, (%rsi)\n"
	  "aln_8: .byte 0x0f, 0x83\n" /* JNC */
	  "aln_9: mov $0xa5, %al\n"
	  "aln_10: stosb\n"
	  "aln_11: cmp %ecx, %ecx\n"
	  "aln_12: .byte 0x0f, 0x84\n" /* JZ */
	  "aln_13: stc\n"
	  "aln_14: mov $5, %ecx\n"
	  "aln_15: rep stosb\n"
	  "aln_16: pushfq\n"
	  "aln_17: adc $0, %rdx\n"
	  "aln_18: pop %r9\n"
	  "aln_19: cld\n"
	  "aln_20: .byte 0xe9\n" /* JMP */
	  "aln_21: slwpcb %rbx\n"
	  "aln_end: user_exit\n");

extern u8 aln_start[], aln_go[];
extern u8 aln_0[], aln_1[], aln_2[], aln_3[], aln_4[], aln_5[], aln_6[], aln_7[], aln_8[], aln_9[],
	aln_10[], aln_11[], aln_12[], aln_13[], aln_14[], aln_15[], aln_16[], aln_17[], aln_18[],
	aln_19[], aln_20[], aln_21[], aln_end[];

static u8 *const steps[] = { aln_0,  aln_1,  aln_2,  aln_3,  aln_4,  aln_5,  aln_6,  aln_7,
			     aln_8,  aln_9,  aln_10, aln_11, aln_12, aln_13, aln_14, aln_15,
			     aln_16, aln_17, aln_18, aln_19, aln_20, aln_21, aln_end };
#define STEPS 22u
static const u32 branches[] = { 8, 12, 20 };

/* The first JMP, 3 branches, 18 other steps with a JMP each. SLWPCB retires after that. */
#define INSNS 40u
#define BRANCHES 22u
/* All but the first JMP are relative or conditional; without the relative ones 3 are left. */
#define NOT_RELATIVE 3u

static u8 *code, *places;
static struct {
	u64 address, target;
} insn[INSNS + 2];
static u32 branch[BRANCHES]; /* numbers of instructions */

static bool is_branch(u32 step)
{
	for (u32 i = 0; i < sizeof(branches) / sizeof(branches[0]); i++)
		if (branches[i] == step)
			return true;
	return false;
}

static u64 page_of(u32 step)
{
	return CODE_VA + step * PAGE_SIZE;
}

/* JMP or a jump whose opcode is there, at an offset of a step's page, to the next page. Returns the offset after it. */
static u32 put_displacement(u8 *page, u32 offset)
{
	u32 behind = offset + 4, n = (u32)PAGE_SIZE - behind;

	memcpy(page + offset, &n, sizeof(n));
	return behind;
}

/* On the other processor: each page of the program is stored to, and its TLB knows that it may. */
static void write_code(void *arg)
{
	for (u32 step = 0; step < STEPS; step++) {
		u8 *page = code + step * PAGE_SIZE;
		u32 size = (u32)(steps[step + 1] - steps[step]);

		memcpy(page, steps[step], size);
		if (is_branch(step)) {
			/* The jump that is not taken: INC RBP tells. */
			size = put_displacement(page, size);
			page[size++] = 0x48;
			page[size++] = 0xff;
			page[size++] = 0xc5;
		}
		if (step == STEPS - 1) {
			memcpy(page + size, aln_end, 2);
		} else {
			page[size] = 0xe9;
			put_displacement(page, size + 1);
		}
	}
}

/* What retires after LLWPCB, in order. */
static void list_insns(void)
{
	u32 n = 0, b = 0;

	insn[n].address = (u64)aln_go;
	insn[n].target = page_of(0);
	branch[b++] = n++;
	for (u32 step = 0; step < STEPS; step++) {
		u32 size = (u32)(steps[step + 1] - steps[step]);

		insn[n].address = page_of(step);
		if (is_branch(step)) {
			insn[n].target = page_of(step + 1);
			branch[b++] = n;
		} else if (step < STEPS - 1) {
			n++;
			insn[n].address = page_of(step) + size;
			insn[n].target = page_of(step + 1);
			branch[b++] = n;
		}
		n++;
	}
	if (n != INSNS + 1 || b != BRANCHES)
		bail("the program has %u instructions and %u branches", n, b);
}

/* Returns what is wrong with the program's own result: 0 is nothing. */
static u32 run(struct lwp *l, const struct block *b)
{
	struct regs *r = &l->u.r;
	u32 faults = 0, wrong = 0;

	smp_call(1, write_code, NULL);
	memset(places, 0, PLACES * PAGE_SIZE);
	for (u32 i = 0; i < PLACES; i++)
		as_protect(l->cr3, PLACES_VA + i * PAGE_SIZE, PAGE_NONE);
	lwp_prepare(l, b, (const char *)aln_start);
	r->r8 = CODE_VA;
	r->r10 = LAST_PLACE;
	r->rsi = PLACES_VA + SPLIT_OFFSET;
	r->rdi = PLACES_VA + STORES_OFFSET;
	for (user_run(&l->u); r->vector == VEC_PF && faults <= PLACES; user_run(&l->u)) {
		as_protect(l->cr3, l->u.cr2 & ~(PAGE_SIZE - 1), PAGE_USER_RW);
		faults++;
	}
	if (!user_exited(&l->u))
		bail("the program ends with vector %lu at %lx", r->vector, r->rip);
	wrong |= (faults != PLACES) << 0;
	wrong |= (r->rdx != 3 || r->rbp != 0 || r->rcx != 0) << 1;
	/* After CMP and STC: CF, ZF, PF. */
	wrong |= (r->r9 != (RFLAGS_FIXED | RFLAGS_CF | RFLAGS_ZF | RFLAGS_PF | RFLAGS_DF)) << 2;
	wrong |= (r->rdi != PLACES_VA + STORES_OFFSET - STORES || r->rflags & RFLAGS_DF) << 3;
	wrong |= (*(u64 *)(places + SPLIT_OFFSET) != 1) << 4;
	for (u32 i = 0; i < 2 * STORES; i++)
		wrong |= (places[STORES_OFFSET + 2 - i] != (i >= 2 && i < 2 + STORES ? STORED : 0))
			 << 5;
	return wrong;
}

static void count(struct lwp *l, u32 filters, u32 counted, const char *what)
{
	struct block b = { .filters = filters,
			   .limit_ip = -1ul,
			   .event = { { EV_IRE, FAR, FAR }, { EV_BRE, FAR, FAR } } };

	report_push("%s", what);
	report_eq(run(l, &b), 0, "the program's result");
	report_eq(FAR - cb_counter(l, EV_IRE), INSNS, "instructions");
	report_eq(FAR - cb_counter(l, EV_BRE), counted, "branches");
	expect_no_records(l, "no event was due");
	report_pop();
}

/* The records of one run: each so many-th instruction from `start` on, of those that are listed. */
static bool records_right(const struct lwp *l, u32 id, u32 interval, u32 start)
{
	u32 all = id == EV_IRE ? INSNS + 1 : BRANCHES, k = 0;

	for (u32 i = start; i < all; i += interval + 1, k++) {
		struct rec got = ring_record(l, k);
		u32 n = id == EV_IRE ? i : branch[i];

		if (cb_head(l) <= k * RECORD_SIZE || got.id != id || got.address != insn[n].address)
			return false;
		if (id == EV_BRE && (got.data2 != insn[n].target || got.flags != 0x8000))
			return false;
	}
	return cb_head(l) == k * RECORD_SIZE;
}

static void sweep(struct lwp *l, u32 id, u32 filters, u32 intervals, const char *what)
{
	u32 wrong = 0, result = 0;

	report_push("%s", what);
	for (u32 interval = 0; interval < intervals; interval++) {
		for (u32 start = 0; start <= interval; start++) {
			struct block b = { .filters = filters,
					   .limit_ip = -1ul,
					   .event = { { id, interval, start } } };

			result |= run(l, &b);
			wrong += !records_right(l, id, interval, start);
		}
	}
	report_eq(result, 0, "the program's result");
	report_eq(wrong, 0, "runs with wrong records");
	report_pop();
}

LWP_TEST(alone)
{
	smp_start();
	code = as_alloc(l->cr3, CODE_VA, STEPS, PAGE_USER_RW);
	places = as_alloc(l->cr3, PLACES_VA, PLACES, PAGE_NONE);
	list_insns();
	count(l, 0, BRANCHES, "counted in blocks (COUNT)");
	count(l, NRB, NOT_RELATIVE, "counted by classes (CLASSES)");
	sweep(l, EV_BRE, 0, BRE_INTERVALS, "branches that are due (LAST)");
	sweep(l, EV_IRE, 0, IRE_INTERVALS, "instructions that are due (FIND)");
	sweep(l, EV_IRE, IPF, IRE_INTERVALS, "with an IP filter (STEP)");
}
