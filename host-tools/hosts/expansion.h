/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the answers of QEMU's query-cpu-model-expansion to what a host can give. */
#ifndef LWPCTL_EXPANSION_H
#define LWPCTL_EXPANSION_H

#include "hostcaps.h"

/* What a QEMU is asked for, as properties after "lwp=on". */
struct question {
	u32 rev;
	int context, delivery; /* index of the word */
	bool vmcb;
	u32 features; /* settings_flag() of those that it is asked for */
	bool open; /* nothing of all this: what guests get that say no more than lwp=on */
};

/* Asks one question: returns the "props" of the expanded model "max", to be released, or NULL with @why. */
typedef json_object *(*asker)(void *opaque, const struct question *q, char why[WHY_SIZE]);

/* An asker: a QEMU to whom @opaque, a struct qmp, is open. */
json_object *qemu_ask(void *opaque, const struct question *q, char why[WHY_SIZE]);

#define QUESTION_COMMAND "query-cpu-model-expansion"
/* The QMP command of a question, to be released. */
json_object *question_command(const struct question *q);
/* The "props" of the command's result, to be released by the caller; NULL with @why. */
json_object *question_answer(json_object *returned, char why[WHY_SIZE]);
/* Each property of a question by name. */
void question_each(const struct question *q,
		   void (*tell)(void *opaque, const char *name, const char *value), void *opaque);

/*
 * Asks for each revision, context and delivery. @host->reason is set when there is no LWP, or none whose numbers
 * make sense.
 */
void hostcaps_ask(struct hostcaps *host, asker ask, void *opaque);

#endif
