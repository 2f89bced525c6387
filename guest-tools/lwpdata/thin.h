/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Some 10,000 samples of an event whatever a program does: of an event that has too many, one record of 2^bits is kept.
 * While a file is written `bits` only grows; at the end the file is written once more, with the last `bits` throughout.
 */
#ifndef LWPDATA_THIN_H
#define LWPDATA_THIN_H

#include "lwpdata.h"

/* An event is thinned when it has more than twice as many samples. */
#define THIN_TARGET 10000

struct thin {
	uint32_t nr_events; /* that may be thinned */
	struct thin_event {
		uint32_t event_id;
		uint32_t from, bits; /* one of 2^from comes, one of 2^bits is kept */
		uint64_t held; /* samples, those that the last bits leave */
	} events[LWPDATA_MAX_EVENTS];
	bool grows; /* bits do when there are too many samples */
	uint64_t seed; /* of where in 2^bits each thread begins */
	uint64_t *at; /* records so far, of each thread and event */
	size_t nr_threads;
	uint8_t *copy;
	size_t room;
};

/* As lwpdata_write_records(), but for what is left out. Records of other events are all kept. */
int thin_records(struct thin *t, struct lwpdata_writer *w, uint32_t thread, uint64_t time,
		 const void *first, size_t first_size, const void *second, size_t second_size);

/* As lwpdata_finish() of the file that will be called `path`; *records: those that it has. */
int thin_finish(struct thin *t, struct lwpdata_writer *w, const char *path, uint64_t *records);

/* After CONFIG: how many are kept, of events of which not all are. */
void thin_write_kept(const struct thin *t, struct lwpdata_writer *w);

void thin_free(struct thin *t);

#endif
