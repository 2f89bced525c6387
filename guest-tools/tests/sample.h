/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile with one section of each type, written by the writer, for the tests of the reader. */
#ifndef LWPDATA_SAMPLE_H
#define LWPDATA_SAMPLE_H

#include <stdlib.h>

#include "lwpdata.h"

#define TEXT(literal) ((struct lwpdata_bytes){ (const uint8_t *)(literal), sizeof(literal) - 1 })

/* What is in its sections. */
static const struct lwpdata_bytes sample_args[] = { TEXT("perl"), TEXT(""), TEXT("-e1") };
static const struct lwpdata_config sample_config = {
	.revision = 0,
	.nr_events = 2,
	.leaf_eax = 0x7f,
	.leaf_ebx = 0x80062016,
	.leaf_ecx = 0x00010200,
	.leaf_edx = 0x8000007f,
	.flags = 0x0c,
	.filters = 0x38000000,
	.ring_size = 4096,
	.random = 5,
	.start_realtime = 0x1122334455667788,
	.start_monotonic = 0x99,
	.events = { { 2, 100003 }, { 3, 0x1ffffff } },
	.tool = TEXT("lwprun test"),
	.kernel = TEXT("6.12"),
	.nr_args = 3,
	.args = sample_args,
};
static const struct lwpdata_object sample_object = { 0, LWPDATA_OBJECT_PROFILER, 12345,
						     TEXT("/usr/lib/x.so"),
						     TEXT("\x01\x00\x02\x03") };
static const struct lwpdata_process sample_process = {
	0, LWPDATA_NONE, 77, LWPDATA_BY_EXEC, 1000, TEXT("perl"), TEXT("/usr/bin/perl")
};
static const struct lwpdata_map sample_map = { 0, 0, 1001, 0x1000, 0x3000, 0x200 };
static const struct lwpdata_unmap sample_unmap = { 0, 1006, 0x1000, 0x3000 };
static const struct lwpdata_data_map sample_data_map = { { 0, 0, 1001, 0x3000, 0x4000, 0x2000 },
							 TEXT("") };
static const struct lwpdata_data_map sample_heap = { { 0, LWPDATA_NONE, 1001, 0x5000, 0x9000, 0 },
						     TEXT("[heap]") };
static const struct lwpdata_unmap sample_data_unmap = { 0, 1006, 0x5000, 0x9000 };
static const struct lwpdata_thread sample_thread = { 0, 0, 78, 1002, { 99, 100 }, TEXT("worker") };
static const struct lwpdata_thread_end sample_thread_end = {
	0, LWPDATA_THREAD_FLUSHED, 1005, 3, 4, { 5, 6 }, TEXT("renamed")
};
static const struct lwpdata_process_end sample_process_end = { 0, LWPDATA_END_EXEC, 1007 };
static const struct lwpdata_perf_map sample_perf_map = { 0, 0, TEXT("1000 10 name\n") };
static const struct lwpdata_window sample_window = { .thread = 0,
						     .count = 3,
						     .time = 1004,
						     .weight = 1000,
						     .flags = LWPDATA_WINDOW_CONTINUES };
static const uint8_t sample_addresses[16] = { 0x10, 0x20 };
static const struct lwpdata_stack sample_stack = { 0, 128, 1004, { sample_addresses, 16 } };
static const struct lwpdata_image sample_image = { 0, TEXT("\177ELF") };
static const struct lwpdata_stats sample_stats = { 1, 2, 3, 4, 5, 6, 7 };

/* Writes these sections to `w`, and leaves the end to the caller. */
static inline void sample_write(struct lwpdata_writer *w)
{
	uint8_t records[3 * LWPDATA_RECORD_SIZE], branches[3 * LWPDATA_RECORD_SIZE];

	for (size_t i = 0; i < sizeof(records); i++)
		records[i] = branches[i] = (uint8_t)(i + 1);
	for (size_t i = 0; i < sizeof(branches); i += LWPDATA_RECORD_SIZE)
		branches[i] = 3;
	lwpdata_write_config(w, &sample_config);
	lwpdata_write_kept(w, &(struct lwpdata_kept){ .event_id = 3, .bits = 4 });
	lwpdata_write_object(w, &sample_object);
	lwpdata_write_process(w, &sample_process);
	lwpdata_write_map(w, &sample_map);
	lwpdata_write_data_map(w, &sample_data_map);
	lwpdata_write_data_map(w, &sample_heap);
	lwpdata_write_image(w, &sample_image);
	lwpdata_write_thread(w, &sample_thread);
	/* As from a ring that wraps after its first record. */
	lwpdata_write_records(w, 0, 1003, records, 32, records + 32, 64);
	lwpdata_write_window(w, &sample_window, branches, 64, branches + 64, 32);
	lwpdata_write_stack(w, &sample_stack);
	lwpdata_write_thread_end(w, &sample_thread_end);
	lwpdata_write_unmap(w, &sample_unmap);
	lwpdata_write_data_unmap(w, &sample_data_unmap);
	lwpdata_write_perf_map(w, &sample_perf_map);
	lwpdata_write_process_end(w, &sample_process_end);
	lwpdata_write_stats(w, &sample_stats);
}

#define SAMPLE_SECTIONS 19 /* END included */

#endif
