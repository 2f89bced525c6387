// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program for the test of migration: goes through the states of the engine (counting, due, pending, ring
 * full, threshold reached, faulting, retrying, LLWPCB's own #PF, other threads' contexts), often, and only
 * then prints what has become of block and ring in each part. Wherever a machine that runs it is stopped,
 * saved and restored, the output must be the same.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define RECORDS(n) ((n) * (u32)RECORD_SIZE)

extern char mg_run[], mg_loop[], mg_nops[], mg_handler[], mg_misses[], mg_spin[], mg_spinning[];

/* rax = block, rsi = rounds of 5 instructions, the last of which is a branch */
USER_CODE("mg_run: llwpcb %rax\n"
	  "mg_loop: lea 1(%rdx), %rdx\n"
	  "nop\n"
	  "nop\n"
	  "dec %esi\n"
	  "jnz mg_loop\n"
	  "user_exit\n"
	  "mg_nops: .fill 15, 1, 0x90\n"
	  "user_exit\n"
	  "mg_handler: .fill 3, 1, 0x90\n"
	  "user_exit\n"
	  /* rsi = rounds of 2 instructions after the first one */
	  "mg_spin: nop\n"
	  "mg_spinning: dec %esi\n"
	  "jnz mg_spinning\n"
	  "user_exit\n"
	  /* rdi = two pages, rsi = rounds of 5 instructions, each of which loads the next line */
	  "mg_misses: llwpcb %rax\n"
	  "1: mov (%rdi,%rdx), %rcx\n"
	  "add $64, %edx\n"
	  "and $0x1fff, %edx\n"
	  "dec %esi\n"
	  "jnz 1b\n"
	  "user_exit\n");

/* What is left of a part when it is over. */
static struct result {
	const char *name;
	u32 head, counter[3];
	u64 missed, hash;
} results[16];
static u32 result_count;

/* In 2007 a counter that waits for another's record stands still, so there is one event only. */
static struct block of_revision(const struct block *b)
{
	struct block r = in_revision(*b);

	if (rev07())
		r.event[1].id = 0;
	return r;
}

/* Flush, keep the result; records and missed ones together must be `events`. */
static void finish(struct lwp *l, const char *name, u32 events)
{
	struct result *r = &results[result_count++];

	lwp_run(l, lwp_slwpcb);
	r->name = name;
	r->head = cb_head(l);
	r->missed = cb_missed(l);
	for (u32 i = 0; i < 3; i++)
		r->counter[i] = cb_counter(l, (rev07() ? 1 : EV_IRE) + i);
	r->hash = hash(hash(HASH_START, l->cb, CB_PAGES * PAGE_SIZE), l->ring,
		       RING_PAGES * PAGE_SIZE);
	report_eq(r->head / RECORD_SIZE + r->missed, events, "%s: records and missed ones", name);
}

static void loop(struct lwp *l, const char *name, const struct block *b, u32 rounds, u32 events)
{
	struct block block = of_revision(b);

	lwp_go_rsi(l, &block, mg_run, rounds);
	finish(l, name, events);
}

static void protect_ring(const struct lwp *l, u64 rights)
{
	for (u32 page = 0; page < RING_PAGES; page++)
		as_protect(l->cr3, RING_VA + page * PAGE_SIZE, rights);
}

/* Take the ring away and run on at `code`, which stores into it. */
static void run_without_ring(struct lwp *l, const char *code)
{
	protect_ring(l, PAGE_NONE);
	lwp_try(l, code);
	if (user_exited(&l->u))
		bail("a store into a ring that is not there did not fault");
}

/* Every record's store faults; each time the kernel brings the ring and the program continues. */
static void faulting(struct lwp *l, const char *name, u32 rounds)
{
	static const struct block every = { .size = RECORDS(512), .event = { { EV_IRE, 0, 0 } } };

	struct block block = of_revision(&every);

	lwp_prepare(l, &block, lwp_on);
	lwp_resume(l);
	for (u32 i = 0; i < rounds; i++) {
		run_without_ring(l, lwp_nop_2);
		protect_ring(l, PAGE_USER_RW);
		lwp_resume(l);
	}
	/* SLWPCB, with which the part ends, gives a record itself. */
	finish(l, name, rounds + 1);
}

/* A handler of the fault runs at CPL 3 while the ring is not there, and counts. */
static void handled(struct lwp *l, u32 rounds)
{
	static const struct block tenth = { .size = RECORDS(512), .event = { { EV_IRE, 9, 9 } } };
	struct block block = of_revision(&tenth);
	struct user saved;

	lwp_prepare(l, &block, lwp_on);
	lwp_resume(l);
	for (u32 i = 0; i < rounds; i++) {
		run_without_ring(l, mg_nops);
		saved = l->u;
		lwp_run(l, mg_handler);
		protect_ring(l, PAGE_USER_RW);
		l->u = saved;
		lwp_resume(l);
	}
	/* One fault a round: 15 instructions and the handler's 3, which do not count in 2007. */
	finish(l, "handled", rounds * (rev07() ? 15 : 18) / 10);
}

/*
 * A store that has faulted is tried again where it faulted only when CPL 3 is entered there. Here a program
 * passes that place many times, without a ring and without an entry.
 */
static void passing(struct lwp *l, u32 rounds)
{
	/* A round: the first 3 instructions, 100 times 2 and the one before, 2 with the store. */

	lwp_prepare(l, EVENT(EV_IRE, 205, 2), lwp_on);
	lwp_resume(l);
	for (u32 i = 0; i < rounds; i++) {
		l->u.r.rsi = 2;
		run_without_ring(l, mg_spin);
		if (l->u.r.rip != (u64)mg_spinning)
			bail("a store into a ring that is not there did not fault");
		l->u.r.rsi = 100;
		lwp_run(l, mg_spin);
		protect_ring(l, PAGE_USER_RW);
		l->u.r.rsi = 1;
		lwp_run(l, mg_spinning);
	}
	finish(l, "passing", rounds);
}

/* LLWPCB wants the block writable, 2007 only readable: each one faults and is started again. */
static void llwpcb_faulting(struct lwp *l, u32 rounds)
{
	struct block block = of_revision(EVENT(EV_IRE, 99, 99));

	lwp_prepare(l, &block, lwp_on);
	for (u32 i = 0; i < rounds; i++) {
		lwp_stop();
		as_protect(l->cr3, CB_VA, rev07() ? PAGE_NONE : PAGE_USER_RO);
		l->u.r.rax = CB_VA; /* 2007 returns the previous pointer there */
		lwp_try(l, lwp_on);
		if (user_exited(&l->u))
			bail("LLWPCB of a block that it cannot use did not fault");
		lwp_bring(l, CB_VA);
	}
	finish(l, "LLWPCB faulting", 0);
}

/* Two threads of one address space take turns. */
static void threads(struct lwp *l, u32 turns)
{
	static const struct block two = { .base = SECOND_RING,
					  .event = { { EV_IRE, 12, 12 }, { EV_BRE, 4, 4 } } };

	struct block first = of_revision(EVENT(EV_IRE, 7, 7)), second = of_revision(&two);

	lwp_prepare(l, &first, lwp_on);
	block_write_at(l, SECOND, &second);
	for (u32 i = 0; i < 2 * turns; i++) {
		wrmsr(MSR_FS_BASE, 0x1000 * (1 + i % 2));
		if (i < 2) {
			l->u.r.rax = CB_VA + i * SECOND;
			lwp_run(l, lwp_on);
		}
		l->u.r.rsi = 2;
		lwp_run(l, mg_loop);
	}
	lwp_run(l, lwp_slwpcb);
	wrmsr(MSR_FS_BASE, 0x1000);
	finish(l, "threads", 10 * turns / 8);
	wrmsr(MSR_FS_BASE, 0);
}

/*
 * Each load misses, whatever was loaded before: there is one cache of one page with one way. So the records are
 * those of the undisturbed run although a machine that is loaded begins with an empty model.
 */
static void misses(struct lwp *l, const char *name, const struct block *b, u32 rounds, u32 events)
{
	lwp_prepare(l, b, mg_misses);
	l->u.r.rdi = DATA_VA;
	l->u.r.rdx = 0;
	l->u.r.rsi = rounds;
	lwp_resume(l);
	finish(l, name, events);
}

static void all_misses(struct lwp *l)
{
	static const struct block seldom = { .size = RECORDS(512), .event = { { EV_DME, 6, 6 } } };
	static const struct block each = { .size = RECORDS(1024), .event = { { EV_DME, 0, 0 } } };
	static const struct block full = { .size = RECORDS(32), .event = { { EV_DME, 3, 3 } } };
	static const struct block with = {
		.size = RECORDS(512),
		.event = { { EV_IRE, 60, 60 }, { EV_DME, 12, 12 } },
	};

	misses(l, "misses", &seldom, 700, 700 / 7);
	misses(l, "each miss", &each, 300, 300);
	misses(l, "misses, ring full", &full, 400, 400 / 4);
	misses(l, "misses and instructions", &with, 650, 3251 / 61 + 650 / 13);
}

static void print_results(void)
{
	for (u32 i = 0; i < result_count; i++) {
		const struct result *r = &results[i];

		report_note("%s: head %x, missed %lu, counters %x %x %x, block and ring %lx",
			    r->name, r->head, r->missed, r->counter[0], r->counter[1],
			    r->counter[2], r->hash);
	}
}

LWP_TEST(migrate)
{
	static const struct block counting = {
		.size = RECORDS(512),
		.event = { { EV_IRE, 60, 60 }, { EV_BRE, 12, 12 } },
	};
	static const struct block full = { .size = RECORDS(32), .event = { { EV_IRE, 3, 3 } } };
	static const struct block reached = { .threshold = RECORDS(4),
					      .event = { { EV_IRE, 59, 59 } } };

	if (option_number("dcache", 0)) {
		all_misses(l);
		print_results();
		return;
	}
	loop(l, "counting", &counting, 600, 3000 / 61 + (rev07() ? 0 : 600 / 13));
	loop(l, "ring full", &full, 300, 1500 / 4);
	loop(l, "threshold", &reached, 300, 1500 / 60);
	faulting(l, "faulting", 500);
	faulting(l, "faulting again", 500);
	handled(l, 100);
	if (!rev07())
		passing(l, 10);
	llwpcb_faulting(l, 1000);
	if (!option_is("context", "os"))
		threads(l, 40);
	print_results();
}
