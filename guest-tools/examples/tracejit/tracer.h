/* SPDX-License-Identifier: MIT */
/*
 * Which loops of a program to compile, and which traces to drop: from LWP's records alone. LWPVAL of the
 * interpreter says which branch of the bytecode was executed and where it went; the record of a branch in a
 * trace says whether its guard held. LWP is on in bursts, with longer and longer pauses while nothing changes.
 */
#ifndef TRACEJIT_TRACER_H
#define TRACEJIT_TRACER_H

#include "liblwp.h"
#include "trace.h"

struct branch_samples {
	uint32_t taken, not_taken;
};

struct tracer {
	struct lwp_session *session;
	const struct program *program;
	bool sampling; /* in a burst */
	uint32_t countdown; /* backward branches to the next poll, or of a pause */
	uint32_t polls; /* left in a burst */
	uint64_t enough; /* records, after which it ends too */
	uint32_t pause; /* after it */
	struct branch_samples samples[PROGRAM_MAX];
	struct trace *traces[PROGRAM_MAX]; /* by header */
	unsigned int compiled, dropped; /* traces */
	uint64_t records;
};

/* Returns an error of liblwp. LWP is not on yet. */
int tracer_open(struct tracer *tracer, const struct program *program);
void tracer_close(struct tracer *tracer);

/* Around what is to be sampled, in one thread. */
void tracer_begin(struct tracer *tracer);
void tracer_end(struct tracer *tracer);

/* The countdown has ended: read the records that wait, compile and drop. Not from within a trace. */
void tracer_poll(struct tracer *tracer);

/* A branch of the bytecode at `pc`, for LWP to sample. */
static inline void tracer_branch(const struct tracer *tracer, uint32_t pc, bool taken)
{
	if (tracer->sampling)
		lwp_lwpval(taken, pc, 0);
}

#endif
