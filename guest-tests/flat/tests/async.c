// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interrupts that come whenever they come: another processor sends them while a program of known length is
 * profiled. Records + MissedEvents and the counter that is left are exact, every record lies in the program.
 */
#include "apic.h"
#include "lwp.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#define VECTOR 0x40
#define TURNS 200000u
#define INTERVAL 96u /* a period of 97 */

extern char asy_code[], asy_first[], asy_end[];

/* esi turns of six instructions, two branches; SLWPCB shows what is left. */
USER_CODE("asy_code: llwpcb %rax\n"
	  "asy_first:\n"
	  "1: add $3, %ecx\n"
	  "test $1, %ecx\n"
	  "jz 2f\n"
	  "2: incl (%rdi)\n"
	  "dec %esi\n"
	  "jnz 1b\n"
	  "slwpcb %rbx\n"
	  "asy_end: user_exit\n");

static volatile u32 stop;
static u32 irqs;

static void count_irq(struct regs *r)
{
	irqs++;
	apic_eoi();
}

static void bombard(void *arg)
{
	u32 i;

	while (!stop) {
		apic_send(0, VECTOR);
		for (i = 0; i < 200; i++)
			pause();
	}
}

static void run(struct lwp *l, u8 event, u64 events, const char *what)
{
	struct block b = { .event = { { event, INTERVAL, INTERVAL } } };
	u64 records = events / (INTERVAL + 1);
	bool inside = true;
	u32 i;

	lwp_prepare(l, &b, asy_code);
	l->u.r.rsi = TURNS;
	l->u.r.rflags |= RFLAGS_IF;
	irqs = 0;
	stop = 0;
	smp_run(1, bombard, NULL);
	lwp_resume(l);
	stop = 1;
	smp_wait(1);
	report_push("%s", what);
	report(irqs > 0, "interrupts came");
	report_eq(cb_head(l) / RECORD_SIZE + cb_missed(l), records, "records and missed events");
	report_eq(cb_counter(l, event), INTERVAL - events % (INTERVAL + 1), "what is left");
	for (i = 0; i < cb_head(l) / RECORD_SIZE; i++) {
		struct rec r = ring_record(l, i);

		inside &= r.id == event && r.address >= (u64)asy_first && r.address < (u64)asy_end;
	}
	report(inside, "every record lies in the program");
	report_pop();
}

FLAT_TEST(async)
{
	struct lwp l;

	smp_start();
	lwp_init(&l);
	irq_set_handler(VECTOR, count_irq);
	run(&l, EV_IRE, 6ul * TURNS, "instructions");
	run(&l, EV_BRE, 2ul * TURNS, "branches");
}
