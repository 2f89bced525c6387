// SPDX-License-Identifier: MIT
/* What LWP's records say of branches, and what follows from it for traces. */
#include <stdio.h>
#include <string.h>

#include "tracer.h"

/* Of executed LWPVAL and of branches. Random, or a loop would meet its own period. */
#define INTERVAL 127
#define RANDOM_BITS 6
#define RING (64u * 1024)

/* In backward branches that are interpreted. */
#define POLL_EVERY 512u
#define BURST_POLLS 16u
#define BURST_RECORDS 4096u /* a trace makes more of them in this time */
#define PAUSE_MIN 8192u
#define PAUSE_MAX (16 * PAUSE_MIN)

#define HOT 64u /* samples of a backward branch that is taken */
#define KNOWN 16u /* samples of a branch that has a bias */
#define BIAS 80u /* percent of the samples that go one way */
#define TURNED 30u /* percent of a guard's samples that leave the trace */
#define OLD 512u /* samples after which the first ones weigh half */

static void begin_burst(struct tracer *t)
{
	t->sampling = true;
	t->polls = BURST_POLLS;
	t->enough = t->records + BURST_RECORDS;
	t->countdown = POLL_EVERY;
}

int tracer_open(struct tracer *t, const struct program *program)
{
	const struct lwp_choice choices[] = {
		{ LWP_EVENT_VALUE, INTERVAL },
		{ LWP_EVENT_BRANCH, INTERVAL },
	};

	*t = (struct tracer){ .program = program, .pause = PAUSE_MIN };
	begin_burst(t);
	return lwp_open(&t->session, choices, 2, RING, RANDOM_BITS);
}

void tracer_close(struct tracer *t)
{
	lwp_close(t->session);
	for (uint32_t pc = 0; pc < PROGRAM_MAX; pc++)
		trace_free(t->traces[pc]);
}

void tracer_begin(struct tracer *t)
{
	if (t->sampling && lwp_start(t->session))
		t->sampling = false;
}

void tracer_end(struct tracer *t)
{
	if (t->sampling)
		lwp_stop(t->session);
}

/* ---- Records -------------------------------------------------------------------------------- */

static void note_branch(struct tracer *t, uint32_t pc, bool taken)
{
	struct branch_samples *s;

	if (pc >= t->program->length)
		return;
	s = &t->samples[pc];
	if (taken)
		s->taken++;
	else
		s->not_taken++;
	if (s->taken + s->not_taken > OLD) {
		s->taken /= 2;
		s->not_taken /= 2;
	}
}

static void note_guard(struct tracer *t, uintptr_t address, bool failed)
{
	for (uint32_t pc = 0; pc < t->program->length; pc++) {
		struct trace *trace = t->traces[pc];

		for (uint32_t i = 0; trace && i < trace->nr_guards; i++) {
			struct guard *guard = &trace->guards[i];

			if (guard->address != address)
				continue;
			if (failed)
				guard->failed++;
			else
				guard->passed++;
			if (guard->passed + guard->failed > OLD) {
				guard->passed /= 2;
				guard->failed /= 2;
			}
			return;
		}
	}
}

static void drain(struct tracer *t)
{
	struct lwp_event events[64];
	int64_t nr;

	while ((nr = lwp_drain(t->session, events, sizeof(events) / sizeof(events[0]))) > 0) {
		t->records += (uint64_t)nr;
		for (int64_t i = 0; i < nr; i++) {
			if (events[i].event_id == LWP_EVENT_VALUE)
				note_branch(t, events[i].data1, events[i].data2 != 0);
			else if (events[i].event_id == LWP_EVENT_BRANCH)
				note_guard(t, (uintptr_t)events[i].address,
					   events[i].flags & LWP_EVENT_TAKEN);
		}
	}
}

/* ---- Traces --------------------------------------------------------------------------------- */

/* Where a conditional branch mostly goes; false if it is not known or not mostly. */
static bool bias(const struct branch_samples *s, bool *taken)
{
	uint32_t all = s->taken + s->not_taken;

	*taken = s->taken > s->not_taken;
	return all >= KNOWN && (*taken ? s->taken : s->not_taken) * 100 >= all * BIAS;
}

/* The path that leads from a header back to it. Returns its length, 0 if there is none. */
static uint32_t find_path(const struct tracer *t, uint32_t header, struct step *path)
{
	uint32_t length = 0, pc = header;

	do {
		const struct insn *insn = &t->program->code[pc];
		struct step *step = &path[length++];

		*step = (struct step){ .pc = pc };
		if (insn->op == OP_END ||
		    (is_conditional(insn) && !bias(&t->samples[pc], &step->taken)))
			return 0;
		pc = insn->op == OP_JUMP || step->taken ? (uint32_t)insn->imm : pc + 1;
	} while (pc != header && length < TRACE_MAX);
	return pc == header ? length : 0;
}

static void compile_from(struct tracer *t, uint32_t header)
{
	struct step path[TRACE_MAX];
	uint32_t length = find_path(t, header, path);

	if (length)
		t->traces[header] = trace_compile(t->program, path, length);
	t->compiled += t->traces[header] != NULL;
}

static bool turned(const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->nr_guards; i++) {
		const struct guard *guard = &trace->guards[i];
		uint32_t all = guard->passed + guard->failed;

		if (all >= KNOWN && guard->failed * 100 > all * TURNED)
			return true;
	}
	return false;
}

/* What was known of its branches is forgotten too: while it was there only its exits were interpreted. */
static void drop(struct tracer *t, uint32_t header)
{
	struct trace *trace = t->traces[header];

	for (uint32_t i = 0; i < trace->nr_guards; i++)
		t->samples[trace->guards[i].pc] = (struct branch_samples){ 0 };
	trace_free(trace);
	t->traces[header] = NULL;
	t->dropped++;
}

/* Returns whether a trace was compiled or dropped. */
static bool change_traces(struct tracer *t)
{
	unsigned int before = t->compiled + t->dropped;

	for (uint32_t pc = 0; pc < t->program->length; pc++) {
		const struct insn *insn = &t->program->code[pc];

		if (t->traces[pc] && turned(t->traces[pc]))
			drop(t, pc);
		if ((is_conditional(insn) || insn->op == OP_JUMP) && (uint32_t)insn->imm <= pc &&
		    t->samples[pc].taken >= HOT && !t->traces[insn->imm])
			compile_from(t, (uint32_t)insn->imm);
	}
	return t->compiled + t->dropped != before;
}

static void end_burst(struct tracer *t)
{
	lwp_stop(t->session);
	t->sampling = false;
	t->countdown = t->pause;
	t->pause = t->pause < PAUSE_MAX ? 2 * t->pause : PAUSE_MAX;
}

void tracer_poll(struct tracer *t)
{
	if (!t->sampling) {
		begin_burst(t);
		tracer_begin(t);
		return;
	}
	t->countdown = POLL_EVERY;
	drain(t);
	if (change_traces(t)) {
		t->pause = PAUSE_MIN;
		begin_burst(t);
	} else if (!--t->polls || t->records > t->enough) {
		end_burst(t);
	}
}
