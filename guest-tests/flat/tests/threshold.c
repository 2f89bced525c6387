// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threshold interrupt. In 43724 it is a fixed interrupt with the vector of LWP_CFG[47:40] after each advance of the
 * head that leaves Threshold bytes or more in the ring; 0 is always. It comes between two instructions, respects RFLAGS.IF
 * and the task priority, and waits for EOI like any other (43724-208). In 2007 it comes when the bytes in the ring become
 * equal to the threshold, so once for each time it is crossed, and never for 0.
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define VECTOR 0x51ul
#define INT (1u << 31)
#define CONT (1u << 29)
#define CFG_VECTOR(v) ((u64)(v) << LWP_CFG_VECTOR_SHIFT)
#define MAX_SEEN 64u

extern char thr_nops[], thr_first[], thr_off[], thr_off_first[], thr_ins[], thr_ins_2[];

/* thr_nops and thr_off: 40 NOPs, of which a test runs the first (l.u.r.rip) or the last few. */
USER_CODE("thr_nops: llwpcb %rax\n"
	  "thr_first: .fill 40, 1, 0x90\n"
	  "user_exit\n"
	  "thr_off: llwpcb %rax\n"
	  "thr_off_first: nop\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "user_exit\n"
	  "thr_ins: llwpcb %rax\n"
	  "lwpins $1, %ecx, %rdx\n"
	  "lwpins $2, %ecx, %rdx\n"
	  "thr_ins_2: user_exit\n");

static u64 seen[MAX_SEEN]; /* where each interrupt came */
static u32 count;
static bool withhold_eoi;
static struct lwp *consume; /* the handler empties this one's ring */

static void on_threshold(struct regs *r)
{
	if (count < MAX_SEEN)
		seen[count] = r->rip;
	count++;
	if (consume)
		cb_set_tail(consume, cb_head(consume));
	if (!withhold_eoi)
		apic_eoi();
}

/* Is there one, at once or late? */
static const char *came(void)
{
	for (u32 i = 0; i < 1000 && !count; i++)
		let_in();
	return count ? "yes" : "no";
}

static void prepare(struct lwp *l, const struct block *b, const char *code, u64 rflags)
{
	count = 0;
	lwp_prepare(l, b, code);
	l->u.r.rflags |= rflags;
}

static void run(struct lwp *l, const struct block *b, const char *code)
{
	prepare(l, b, code, RFLAGS_IF);
	lwp_resume(l);
}

/* Five NOPs with one record each; the fifth is followed by the gate. */
static void go(struct lwp *l, struct block b, u64 rflags)
{
	b.event[0] = every_insn()->event[0];
	prepare(l, &b, thr_off, rflags);
	lwp_resume(l);
}

/* One point: the interrupts came before these of thr_off's NOPs, 5 being the gate. */
static void expect_at(const char *what, u32 n, const u8 *at)
{
	bool ok = count == n;

	for (u32 i = 0; ok && i < n; i++)
		ok = seen[i] == (u64)thr_off_first + at[i];
	report(ok, "%s", what);
	if (ok)
		return;
	report_note("  %u interrupts, should be %u", count, n);
	for (u32 i = 0; i < count && i < MAX_SEEN; i++)
		report_note("  at NOP %ld", (s64)(seen[i] - (u64)thr_off_first));
}
#define EXPECT_AT(what, ...) \
	expect_at(what, sizeof((const u8[]){ __VA_ARGS__ }), (const u8[]){ __VA_ARGS__ })

static void expect_none(const char *what)
{
	report_eq(count, 0, "%s: no interrupt", what);
}

static void test_compare(struct lwp *l)
{
	const u64 on = RFLAGS_IF;

	rule("43724-808 43724-809 43724-410", CHOICE);
	go(l, (struct block){ .flags = INT, .threshold = 96 }, on);
	EXPECT_AT("Threshold of 3 records: before NOP 3, and after each further record", 3, 4, 5);
	go(l, (struct block){ .flags = INT, .threshold = 96 + 31 }, on);
	EXPECT_AT("a Threshold between two records is rounded down", 3, 4, 5);
	go(l, (struct block){ .flags = INT }, on);
	EXPECT_AT("Threshold 0: after every record", 1, 2, 3, 4, 5);
	go(l, (struct block){ .flags = INT, .threshold = 160 }, on);
	EXPECT_AT("Threshold of 5 records: after the fifth, before the gate", 5);
	ask("Q25", "43724-808", "a use of exactly Threshold interrupts", "yes", came());
	go(l, (struct block){ .flags = INT, .threshold = 192 }, on);
	expect_none("Threshold of 6 records, five come");
	go(l,
	   (struct block){ .flags = INT,
			   .threshold = 96,
			   .head = (DEFAULT_RECORDS - 2) * RECORD_SIZE,
			   .tail = (DEFAULT_RECORDS - 2) * RECORD_SIZE },
	   on);
	EXPECT_AT("what is in the ring is counted across its end", 3, 4, 5);
	go(l, (struct block){ .flags = INT, .threshold = 96, .head = 64, .tail = 0 }, on);
	EXPECT_AT("what was there before counts", 1, 2, 3, 4, 5);
	consume = l;
	go(l, (struct block){ .flags = INT, .threshold = 64 }, on);
	EXPECT_AT("a handler that moves the tail: after every second record", 2, 4);
	consume = NULL;
	rule("43724-809", CERTAIN);
	go(l,
	   (struct block){ .flags = INT,
			   .threshold = 2 * DEFAULT_RECORDS * RECORD_SIZE,
			   .head = (DEFAULT_RECORDS - 2) * RECORD_SIZE,
			   .tail = (DEFAULT_RECORDS - 2) * RECORD_SIZE },
	   on);
	expect_none("Threshold above BufferSize, also across the ring's end");
}

static void test_permission(struct lwp *l)
{
	u64 cfg = rdmsr(LWP_MSR_CFG);

	rule("43724-808", RECALLED);
	go(l, (struct block){ .threshold = 0 }, RFLAGS_IF);
	expect_none("Flags.INT clear");
	wrmsr(LWP_MSR_CFG, cfg & ~(u64)INT);
	go(l, (struct block){ .flags = INT }, RFLAGS_IF);
	expect_none("LWP_CFG.INT clear");
	report_eq(cb_flags(l) & INT, 0, "and Flags.INT is not granted");
	wrmsr(LWP_MSR_CFG, (cfg & ~CFG_VECTOR(0xff)) | CFG_VECTOR(15));
	go(l, (struct block){ .flags = INT }, RFLAGS_IF);
	ask("Q26", "43724-812", "VECTOR 15 interrupts", "no", came());
	wrmsr(LWP_MSR_CFG, cfg);
	go(l, (struct block){ .flags = INT, .threshold = 160 }, RFLAGS_IF);
	rule("43724-808 43724-410", CHOICE);
	EXPECT_AT("LWP_CFG as before: as before", 5);
}

static void test_masked(struct lwp *l)
{
	rule("43724-206 43724-809 43724-811", RECALLED);
	go(l, (struct block){ .flags = INT }, 0);
	expect_none("RFLAGS.IF clear");
	let_in();
	report_eq(count, 1, "IF set later: the five are one, as in any local APIC");
	let_in();
	report_eq(count, 1, "and it does not come again");

	write_cr8(VECTOR >> 4);
	go(l, (struct block){ .flags = INT }, RFLAGS_IF);
	expect_none("CR8 as high as the vector's class");
	write_cr8(0);
	let_in();
	report_eq(count, 1, "CR8 lowered: once");

	withhold_eoi = true;
	go(l, (struct block){ .flags = INT }, RFLAGS_IF);
	rule("43724-811 43724-410", CHOICE);
	EXPECT_AT("without EOI only the first comes", 1);
	withhold_eoi = false;
	let_in();
	report_eq(count, 1, "not even with IF set");
	apic_eoi();
	let_in();
	report_eq(count, 2, "after EOI the others, as one");
	/* The handler has sent the second EOI. */
	let_in();
	report_eq(count, 2, "and no more");
}

/* The smallest ring, of which 32 slots are left: full after 31 records. */
static void test_full(struct lwp *l)
{
	struct block b = { .flags = INT,
			   .size = least_records() * RECORD_SIZE,
			   .head = (least_records() - 32) * RECORD_SIZE,
			   .threshold = (least_records() - 1) * RECORD_SIZE,
			   .event = { { EV_IRE, 0, 0 } } };

	run(l, &b, thr_nops);
	rule("43724-810", CHOICE);
	expect_missed(l, 9, "40 records, 31 fit");
	report_eq(count, 1, "a record that is missed does not interrupt");
	report_eq(seen[0], (u64)thr_first + 31, "the 31st did");

	go(l,
	   (struct block){
		   .flags = INT, .size = b.size, .head = b.threshold, .threshold = RECORD_SIZE },
	   RFLAGS_IF);
	ask("Q27", "43724-810", "a record that is missed interrupts", "no", came());
	if (report_lacks(!(cpuid(LWP_CPUID_LEAF, 0).a & CONT), "8000_001C EAX[29] is clear",
			 "threshold in continuous mode"))
		return;
	b.flags |= CONT;
	run(l, &b, thr_nops);
	/* The 31st leaves 31 between tail and head, the 32nd none, the 40th eight. */
	report_eq(count, 1, "continuous mode: used is head - tail, modulo the size");
	report_eq(seen[0], (u64)thr_first + 31, "31 at the 31st");
}

static void test_lwpins(struct lwp *l)
{
	static const struct block b = { .flags = INT, .threshold = 64 };

	run(l, &b, thr_ins);
	rule("43724-808", RECALLED);
	report_eq(count, 1, "LWPINS: the record that reaches the threshold interrupts");
	report_eq(seen[0], (u64)thr_ins_2, "after LWPINS");
	report_eq(l->u.r.rflags & RFLAGS_CF, 0, "whose CF is there");
}

/* A record whose store faults interrupts when it is stored, and only then. */
static void test_fault(struct lwp *l)
{
	static const struct block b = { .flags = INT, .event = { { EV_IRE, 100, 0 } } };

	prepare(l, &b, thr_off, RFLAGS_IF);
	rule("43724-815", CHOICE);
	run_to_missing(l, RING_VA, (u64)thr_off_first + 1, "ring not there: #PF");
	let_in();
	expect_none("a record that is pending");
	lwp_bring(l, RING_VA);
	EXPECT_AT("stored at last: one", 1);
}

static void test_2007(struct lwp *l)
{
	const u64 on = RFLAGS_IF;

	rule("2007-803", CERTAIN);
	go(l, (struct block){ .threshold = 96 }, on);
	EXPECT_AT("Threshold of 3 records, five come: one interrupt, before the fourth NOP", 3);
	report_eq(cb_flags(l), 0x80000003, "Flags are Enabled IRE Interrupt");
	go(l, (struct block){ .threshold = 0 }, on);
	expect_none("Threshold 0");
	rule("2007-804", CHOICE);
	go(l, (struct block){ .threshold = 80 }, on);
	expect_none("a Threshold between two records, which is never equal");
	rule("2007-803", CERTAIN);
	go(l, (struct block){ .threshold = 192 }, on);
	expect_none("Threshold of 6 records, five come");
	consume = l;
	go(l, (struct block){ .threshold = 64 }, on);
	EXPECT_AT("the tail moves: again when it is crossed again, at the fourth record", 2, 4);
	consume = NULL;
	wrmsr(LWP_MSR_CFG, rdmsr(LWP_MSR_CFG) & ~(u64)INT);
	go(l, (struct block){ .threshold = 96 }, on);
	expect_none("LWPMSR0.Interrupt clear");
	report_eq(cb_flags(l), 0x3, "Flags are Enabled IRE");
}

LWP_TEST(threshold)
{
	if (report_lacks(!(cpuid(LWP_CPUID_LEAF, 0).d & (rev07() ? 1u << 1 : INT)),
			 "the bit in 8000_001C EDX is clear", "threshold interrupt"))
		return;
	wrmsr(LWP_MSR_CFG, rdmsr(LWP_MSR_CFG) | INT | CFG_VECTOR(VECTOR));
	irq_set_handler(VECTOR, on_threshold);
	irq_set_handler(15, on_threshold);
	if (rev07()) {
		test_2007(l);
		return;
	}
	test_compare(l);
	test_permission(l);
	test_masked(l);
	test_full(l);
	test_lwpins(l);
	test_fault(l);
}
