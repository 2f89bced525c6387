/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process, as /proc tells them, and the files behind them. */
#ifndef LWPRUN_MAPPINGS_H
#define LWPRUN_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lwpdata.h"

struct mapping {
	uint64_t start, end, offset;
	uint32_t object; /* LWPDATA_NONE: anonymous */
	bool data; /* not executable */
	const char *name; /* of data without an object, or NULL; equal names are one pointer */
};

/* Sorted by start, as the kernel lists them. */
struct mappings {
	struct mapping *list;
	size_t nr, room;
};

/* All files seen so far, in the order in which they were written to the profile. */
struct objects {
	struct object *list;
	size_t nr, room;
	const char *profiler; /* path of our own library */
	bool with_data; /* mappings of data are read too */
	char **names; /* of mappings of data */
	size_t nr_names, names_room;
};

enum mappings_owner {
	MAPPINGS_OURS,
	MAPPINGS_FOREIGN, /* the pool is not mapped: another program, or one that has just been exec'ed */
	MAPPINGS_UNREADABLE, /* nothing can be said */
};

/*
 * Read the executable mappings of a thread of a process, and those of data if `objects` wants them, into
 * *into (emptied first). New files are appended to `objects` and to the profile. pool_inode: that of the pool.
 */
enum mappings_owner mappings_read(struct mappings *into, pid_t pid, pid_t tid, ino_t pool_inode,
				  struct objects *objects, struct lwpdata_writer *writer);

void mappings_free(struct mappings *mappings);

/* Write what differs between `old` and `now`: what went, then what came. */
void mappings_write_changes(const struct mappings *old, const struct mappings *now,
			    uint32_t process, uint64_t time, struct lwpdata_writer *writer);

void objects_free(struct objects *objects);

#endif
