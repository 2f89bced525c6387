// SPDX-License-Identifier: GPL-2.0-or-later
/* The sections of lwpdata, field by field. */
#include "lwpdata_fields.h"

#define SECTION(type)                                   \
	{                                               \
		FIELD_SECTION, 0, LWPDATA_##type, #type \
	}
#define FIELD(kind, section, member, ...)                                             \
	{                                                                             \
		FIELD_##kind, offsetof(struct lwpdata_##section, member), __VA_ARGS__ \
	}

#define PROCESS(section)                                   \
	FIELD(REFERENCE, section, process, LIST_PROCESSES, \
	      "refers to a process that was not introduced")
#define THREAD(section)                                 \
	FIELD(REFERENCE, section, thread, LIST_THREADS, \
	      "refers to a thread that was not introduced")
#define OBJECT(kind, section) \
	FIELD(kind, section, object, LIST_OBJECTS, "refers to an object that was not introduced")
#define RANGE(section) FIELD(RANGE, section, start, 2, "a range ends before it starts")
#define MAPPING                                                                 \
	PROCESS(map), OBJECT(OR_NONE, map), FIELD(TIME, map, time), RANGE(map), \
		FIELD(U64, map, offset)
#define UNMAPPING PROCESS(unmap), { FIELD_ZERO }, FIELD(TIME, unmap, time), RANGE(unmap)

static const struct lwpdata_field fields[] = {
	SECTION(CONFIG),
	FIELD(U32, config, revision, 2, "unknown LWP revision"),
	FIELD(U32, config, nr_events, LWPDATA_MAX_EVENTS + 1, "too many events"),
	FIELD(U32, config, leaf_eax),
	FIELD(U32, config, leaf_ebx),
	FIELD(U32, config, leaf_ecx),
	FIELD(U32, config, leaf_edx),
	FIELD(U32, config, flags),
	FIELD(U32, config, filters),
	FIELD(U32, config, ring_size),
	FIELD(U32, config, random, 16, "Random is 0 to 15"),
	FIELD(U64, config, start_realtime),
	FIELD(U64, config, start_monotonic),
	FIELD(EVENTS, config, events),
	FIELD(TEXT, config, tool),
	FIELD(TEXT, config, kernel),
	FIELD(U32, config, nr_args, LWPDATA_MAX_ARGS + 1, "too many arguments"),
	FIELD(ARGS, config, args),
	SECTION(OBJECT),
	FIELD(ID, object, id, LIST_OBJECTS, "objects are not numbered in order"),
	FIELD(U32, object, flags),
	FIELD(U64, object, size),
	FIELD(TEXT, object, path),
	FIELD(BUILD_ID, object, build_id),
	SECTION(PROCESS),
	FIELD(ID, process, id, LIST_PROCESSES, "processes are not numbered in order"),
	FIELD(OR_NONE, process, parent, LIST_PROCESSES,
	      "a process has a parent that was not introduced"),
	FIELD(U32, process, pid),
	FIELD(U32, process, origin),
	FIELD(TIME, process, time),
	FIELD(TEXT, process, comm),
	FIELD(TEXT, process, exe),
	SECTION(MAP),
	MAPPING,
	SECTION(DATA_MAP),
	MAPPING,
	FIELD(TEXT, data_map, name),
	SECTION(UNMAP),
	UNMAPPING,
	SECTION(DATA_UNMAP),
	UNMAPPING,
	SECTION(THREAD),
	FIELD(ID, thread, id, LIST_THREADS, "threads are not numbered in order"),
	PROCESS(thread),
	FIELD(TIME, thread, time),
	FIELD(U32, thread, tid),
	FIELD(COUNTERS, thread, initial),
	FIELD(TEXT, thread, comm),
	SECTION(RECORDS),
	THREAD(records),
	FIELD(U32, records, count),
	FIELD(TIME, records, time),
	FIELD(RECORDS, records, data, offsetof(struct lwpdata_records, count)),
	SECTION(WINDOW),
	THREAD(window),
	FIELD(COUNT, window, count, 0, "a window without records"),
	FIELD(TIME, window, time),
	FIELD(WEIGHT, window, weight, 1, "a window that stands for less than its records"),
	FIELD(U32, window, flags),
	{ FIELD_ZERO },
	FIELD(RECORDS, window, data, offsetof(struct lwpdata_window, count)),
	SECTION(STACK),
	THREAD(stack),
	FIELD(COUNT, stack, weight, 0, "a stack that stands for nothing"),
	FIELD(TIME, stack, time),
	FIELD(REST, stack, addresses),
	SECTION(THREAD_END),
	THREAD(thread_end),
	FIELD(U32, thread_end, flags),
	FIELD(TIME, thread_end, time),
	FIELD(U64, thread_end, records),
	FIELD(U64, thread_end, missed),
	FIELD(COUNTERS, thread_end, final),
	FIELD(TEXT, thread_end, comm),
	SECTION(PROCESS_END),
	PROCESS(process_end),
	FIELD(U32, process_end, how, LWPDATA_END_UNFOLLOWED + 1,
	      "unknown way for a process to end"),
	FIELD(TIME, process_end, time),
	SECTION(PERF_MAP),
	PROCESS(perf_map),
	FIELD(U32, perf_map, flags),
	FIELD(REST, perf_map, text),
	SECTION(IMAGE),
	OBJECT(REFERENCE, image),
	{ FIELD_ZERO },
	FIELD(REST, image, bytes),
	SECTION(STATS),
	{ FIELD_U64, .more = sizeof(struct lwpdata_stats) / sizeof(uint64_t) },
	SECTION(KEPT),
	FIELD(EVENT, kept, event_id, 0, "records kept of an event that the file does not have"),
	FIELD(U32, kept, bits, LWPDATA_MAX_KEPT + 1, "too few records are kept"),
	SECTION(END), /* whose numbers are those of all other sections */
	{ FIELD_SECTION, .text = "unknown" },
	{ FIELD_SECTION },
};

const struct lwpdata_field *lwpdata_fields(uint32_t type)
{
	const struct lwpdata_field *f = fields;

	while (f->kind != FIELD_SECTION || (f->more && f->more != type))
		f++;
	return f + 1;
}
