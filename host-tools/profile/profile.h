/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An lwpdata file as a whole: who ran, what was mapped where and when, which records there are. */
#ifndef LWPCTL_PROFILE_H
#define LWPCTL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lwp_record.h"
#include "lwp_rev.h"
#include "lwpdata.h"
#include "ranges.h"

struct profile_object {
	char *path; /* as the guest had it: whatever bytes that are */
	char *name; /* the same, printable */
	uint64_t size; /* bytes of the file, 0: not known */
	uint32_t flags; /* LWPDATA_OBJECT_* */
	struct lwpdata_bytes build_id;
	struct lwpdata_bytes image; /* the vDSO's contents */
};

/* A mapping of code or data, present from section number `from` to before `to`. */
struct profile_map {
	uint32_t object; /* LWPDATA_NONE: anonymous */
	uint32_t process;
	uint64_t start, end, offset;
	bool data; /* not executable */
	uint64_t from, to;
	uint64_t time; /* when it was noticed */
	char *name; /* of data without an object, printable: "[heap]"; NULL: none */
};

struct profile_process {
	uint32_t pid, parent;
	uint64_t time; /* of its start */
	uint32_t how; /* LWPDATA_END_* */
	bool ended;
	char *comm, *exe; /* printable */
	struct ranges maps; /* those of code; items are indices of profile.maps */
	struct ranges all_maps; /* those of data too */
	struct lwpdata_bytes perf_map;
	bool perf_map_cut;
};

struct profile_thread {
	uint32_t process, tid;
	uint64_t time; /* of its start */
	uint32_t flags; /* LWPDATA_THREAD_* */
	bool ended;
	char *comm; /* printable */
	uint32_t initial[LWPDATA_MAX_EVENTS], final[LWPDATA_MAX_EVENTS];
	uint64_t records, missed;
	/* Records of each event in CONFIG's order, in windows too. */
	uint64_t per_event[LWPDATA_MAX_EVENTS];
	uint64_t windows; /* how many */
};

/* Records that were taken from a ring together. */
struct profile_batch {
	uint32_t thread, count;
	uint64_t section; /* number of their section: what was mapped then */
	uint64_t time;
	const uint8_t *data;
	uint8_t kept[LWPDATA_MAX_EVENTS]; /* as the profile's */
};

/* Branches of a thread that retired one after the other, with none between them left out. */
struct profile_window {
	uint32_t thread, count, flags; /* LWPDATA_WINDOW_* */
	uint64_t section; /* number of their section: what was mapped then */
	uint64_t time;
	uint64_t weight; /* branches that it stands for, its own included */
	const uint8_t *data;
};

/* Where a thread was: the innermost first. */
struct profile_stack {
	uint32_t thread;
	uint32_t weight; /* records that it stands for */
	uint32_t nr; /* addresses, at least 1 */
	uint64_t section; /* number of its section: what was mapped then */
	uint64_t time;
	const uint8_t *addresses; /* nr of 8 bytes */
};

struct profile {
	const char *path;
	void *file; /* the file, mapped */
	size_t size;
	struct lwpdata_config config;
	uint8_t kept[LWPDATA_MAX_EVENTS]; /* one of 2^kept records; as CONFIG's events */
	struct lwpdata_stats stats;
	struct profile_object *objects;
	struct profile_process *processes;
	struct profile_thread *threads;
	struct profile_map *maps;
	struct profile_batch *batches;
	struct profile_window *windows; /* in the file's order */
	struct profile_stack *stacks; /* in the file's order, of the first event */
	size_t nr_objects, nr_processes, nr_threads, nr_maps, nr_batches, nr_windows, nr_stacks;
	bool has_data; /* mappings of data were recorded */
	size_t object_room, process_room, thread_room, map_room, batch_room, window_room,
		stack_room;
};

/* A file in memory, to be unmapped; NULL after one line. */
void *profile_map_file(const char *path, size_t *size);

/* Read all of a file. On an error, one line is printed and false returned. */
bool profile_load(struct profile *profile, const char *path);

/* One more section, `number` in the file counted from 1. */
void profile_add(struct profile *profile, const struct lwpdata_section *section, uint64_t number);

/* After the last of them, before addresses are looked up. */
void profile_sort(struct profile *profile);

void profile_free(struct profile *profile);

/* The time at which a record was stored, if the profile has that and it can be: not after it was taken. 0: it is not known. */
uint64_t profile_stamp(const struct profile *profile, const struct lwp_record *record,
		       uint64_t taken);

/*
 * The mapping that held `address` of a process when section `section` was written: the one that was
 * there; else the first that came later (libraries are noticed a moment after they are loaded), else
 * the last that was there before. SIZE_MAX if there never was one.
 */
size_t profile_find_map(const struct profile *profile, uint32_t process, uint64_t section,
			uint64_t address);

/* The same for an address of data: mappings of code count as well. */
size_t profile_find_data(const struct profile *profile, uint32_t process, uint64_t section,
			 uint64_t address);

/* The command that was profiled, in a line that is printable; to be freed. */
char *profile_command(const struct profile *profile);

/* What is counted (LWP_KIND_*, or LWP_EVENT_ID_INS) by the EventId of a record; 0 if it is none. */
uint32_t kind_by_rev(const struct lwp_rev *rev, uint32_t event_id);
uint32_t profile_kind(const struct profile *profile, uint32_t event_id);

/* The EventId of the first of CONFIG's events that is of a kind (0: of any); 0 if there is none. */
uint32_t profile_event(const struct profile *profile, uint32_t kind);

/* Which of CONFIG's events has an EventId; nr_events if none has. */
uint32_t profile_event_index(const struct profile *profile, uint32_t event_id);

/* Name of an event by its EventId in this profile; "event N" for an unknown one. */
const char *profile_event_name(const struct profile *profile, uint32_t event_id);

#endif
