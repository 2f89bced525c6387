// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interrupts that come whenever they come: another processor sends them while a program is profiled that counts its own
 * turns. Records + MissedEvents and the counter that is left are exact, every record lies in the
 * program (43724-701, 43724-821, 2007-701).
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#define VECTOR 0x40
#define INTERVAL 96u /* a period of 97 */

extern char asy_code[], asy_first[], asy_end[];
extern char asy_long[], asy_detour[], asy_detour_end[];

#define ENOUGH 20 /* interrupts */

/*
 * Turns of eight instructions, three branches, until the handler of the interrupts sets esi to 1; ecx grows by 3 in
 * each. SLWPCB shows how many events are left. In every 512th turn two instructions more, counted in edx: processors that
 * share one thread take turns at PAUSE.
 */
USER_CODE(
	"asy_code: llwpcb %rax\n"
	"asy_first:\n"
	"1: add $3, %ecx\n"
	"test $1, %ecx\n"
	"jz 2f\n"
	"2: incl (%rdi)\n"
	"test $511, %esi\n"
	"jnz 3f\n"
	"pause\n"
	"inc %edx\n"
	"3: dec %esi\n"
	"jnz 1b\n"
	"slwpcb %rbx\n"
	"asy_end: user_exit\n"
	/* Two branches a turn, after many instructions; and where an interrupt may lead: two branches. */
	"asy_long: llwpcb %rax\n"
	"1: .fill 40, 1, 0x90\n"
	"add $3, %ecx\n"
	"test $511, %esi\n"
	"jnz 3f\n"
	"pause\n"
	"3: dec %esi\n"
	"jnz 1b\n"
	"flush_exit\n"
	"asy_detour: jmp 1f\n"
	"1: jmp *%r15\n"
	"asy_detour_end:\n");

static volatile u32 stop;
static u32 turns, detours; /* turns=N on the command line: of each program, at least */
static u64 nested; /* rIP where an interrupt came although the kernel keeps IF clear; 0: none did */
static bool lead_away;

static void on_irq(struct regs *r)
{
	count_irq(r);
	if (!(r->cs & 3))
		nested = r->rip;
	/* Not before LLWPCB, where nothing is counted, and not from the detour itself. */
	if (lead_away && r->rip != (u64)asy_long &&
	    (r->rip < (u64)asy_detour || r->rip >= (u64)asy_detour_end)) {
		r->r15 = r->rip;
		r->rip = (u64)asy_detour;
		detours++;
	}
	if ((lead_away ? detours : irqs) >= ENOUGH && (u32)r->rcx / 3 >= turns)
		r->rsi = 1;
}

/* An interrupt, and time to do something. */
static void bombard(void *arg)
{
	while (!stop) {
		apic_send(0, VECTOR);
		for (u32 i = 0; i < 200; i++)
			pause();
	}
}

static void begin(struct lwp *l, const struct block *b, const char *code)
{
	lwp_prepare(l, b, code);
	l->u.r.rcx = l->u.r.rdx = 0;
	l->u.r.rsi = 0x7fffffff;
	l->u.r.rflags |= RFLAGS_IF;
	irqs = detours = 0;
	stop = 0;
	smp_run(1, bombard, NULL);
	lwp_resume(l);
	stop = 1;
	smp_wait(1);
}

/* SLWPCB counts after it has saved how many events are left: it can be the instruction that is due. */
static void run_to_slwpcb(struct lwp *l)
{
	lwp_prepare(l, EVENT(EV_IRE, INTERVAL, INTERVAL), asy_code);
	l->u.r.rcx = l->u.r.rdx = 0;
	l->u.r.rsi = INTERVAL / 8;
	lwp_resume(l);
	report_eq(cb_counter(l, EV_IRE), 0, "one instruction is left at SLWPCB");
	expect_stored(l, 1, "which is SLWPCB");
}

static void run(struct lwp *l, u8 event, const char *what)
{
	bool inside = true;
	u64 events, done;

	begin(l, EVENT(event, INTERVAL, INTERVAL), asy_code);
	done = l->u.r.rcx / 3;
	events = event == EV_IRE ? 8 * done + 2 * l->u.r.rdx : 3 * done;
	report_push("%s", what);
	report(irqs >= ENOUGH && done >= turns, "interrupts came");
	expect_stored(l, (events + (event == EV_IRE)) / (INTERVAL + 1),
		      "records and missed events");
	report_eq(cb_counter(l, event), INTERVAL - events % (INTERVAL + 1), "what is left");
	for (u32 i = 0; i < cb_head(l) / RECORD_SIZE; i++) {
		struct rec r = ring_record(l, i);

		inside &= r.id == event && r.address >= (u64)asy_first && r.address < (u64)asy_end;
	}
	report(inside, "every record lies in the program");
	report_pop();
}

/*
 * An interrupt that returns elsewhere, as to a signal handler, while every second branch is due: the second one of the
 * detour if none came before it.
 */
static void run_detours(struct lwp *l)
{
	lead_away = true;
	begin(l, EVENT(EV_BRE, 1, 1), asy_long);
	lead_away = false;
	report(detours >= ENOUGH, "interrupts led away");
	report_eq(nested, 0, "no interrupt comes where IF is clear");
	expect_stored(l, l->u.r.rcx / 3 + detours,
		      "every second branch on the way and back is recorded or missed");
	report_eq(cb_counter(l, EV_BRE), 1, "what is left of the branches");
}

LWP_TEST(async)
{
	rule("43724-821", CHOICE);
	turns = option_number("turns", 200000);
	smp_start();
	run_to_slwpcb(l);
	irq_set_handler(VECTOR, on_irq);
	run(l, EV_IRE, "instructions");
	run(l, EV_BRE, "branches");
	run_detours(l);
}
