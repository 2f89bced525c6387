/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles that tests make, record by record, and what lwpctl makes of them. One at a time. */
#ifndef LWPCTL_MADE_PROFILE_H
#define LWPCTL_MADE_PROFILE_H

#include "lwp_record.h"
#include "lwpctl_report.h"
#include "profile.h"
#include "rows.h"

extern char path[];
extern struct lwpdata_writer *writer;
extern struct profile profile;

/* Free all there is, also after a test. */
void forget(void);

extern const char *made_exe; /* of the process; "/prog" */

/* forget(); then a file with instructions, and branches if nr_events is 2, and one process. */
void begin(uint32_t nr_events, uint32_t interval, uint32_t random);

/* begin() with an event and one thread, whose counter begins at `initial`. */
void begin_thread(uint32_t interval, uint32_t initial);

void add_object(uint32_t id, const char *name);

/* begin_thread(99, 0), and an object from 0x1000 to 0x2000. */
void begin_in(const char *object);

void add_map(uint32_t object, uint64_t start, uint64_t end);

void add_unmap(uint64_t start, uint64_t end);

void add_thread(uint32_t id, uint32_t initial);

void end_thread(uint32_t id, uint32_t flags, uint64_t missed, uint32_t final);

/* Up to 64 of instructions. */
void add_records(uint32_t thread, unsigned int n, uint64_t address);

/* End the file and read it. */
void load(void);

extern struct rows rows;
extern struct resolver resolver;
extern struct tally tally;
extern struct samples samples;
extern struct filter filter;
extern uint8_t event_id; /* of the samples that are grouped */

void group_in(const char *by, enum order order);

void group(const char *by);

/* load(), group() */
void load_by(const char *by);

/* Samples and labels of a row; second may be NULL. */
void expect_row(size_t i, uint64_t number, const char *first, const char *second);

#endif
