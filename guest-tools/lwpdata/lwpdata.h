/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lwpdata, the file that lwprun writes and lwpctl reads: names of its parts, a writer and a reader.
 * docs/lwpdata.md is the description of the format; everything is little-endian.
 */
#ifndef LWPDATA_H
#define LWPDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LWPDATA_MAGIC "LWPDATA\n"
#define LWPDATA_MAGIC_SIZE 8
#define LWPDATA_MAJOR 1
#define LWPDATA_MINOR 5
#define LWPDATA_PREAMBLE_SIZE 16
#define LWPDATA_SECTION_HEADER_SIZE 16
#define LWPDATA_ALIGN 8
#define LWPDATA_RECORD_SIZE 32

/* Limits that a reader holds a file to. */
#define LWPDATA_MAX_EVENTS 16
#define LWPDATA_MAX_ARGS 65536
#define LWPDATA_MAX_STRING 65535
#define LWPDATA_MAX_BUILD_ID 64
#define LWPDATA_MAX_KEPT 31

/* What has ids, and no object, no parent. */
enum lwpdata_list { LIST_OBJECTS, LIST_PROCESSES, LIST_THREADS, LWPDATA_LISTS };
#define LWPDATA_NONE 0xffffffffu

/* Section types. An unknown type with bit 31 set may be skipped, another one may not. */
#define LWPDATA_OPTIONAL 0x80000000u
enum lwpdata_type {
	LWPDATA_CONFIG = 1,
	LWPDATA_OBJECT = 2,
	LWPDATA_PROCESS = 3,
	LWPDATA_MAP = 4,
	LWPDATA_UNMAP = 5,
	LWPDATA_THREAD = 6,
	LWPDATA_RECORDS = 7,
	LWPDATA_THREAD_END = 8,
	LWPDATA_PROCESS_END = 9,
	LWPDATA_PERF_MAP = 10,
	LWPDATA_IMAGE = 11,
	LWPDATA_STATS = 12,
	LWPDATA_END = 13,
	LWPDATA_KEPT = 17, /* since 1.3 */
	LWPDATA_WINDOW = LWPDATA_OPTIONAL | 14, /* since 1.1 */
	LWPDATA_DATA_MAP = LWPDATA_OPTIONAL | 15, /* since 1.2 */
	LWPDATA_DATA_UNMAP = LWPDATA_OPTIONAL | 16, /* since 1.2 */
	LWPDATA_STACK = LWPDATA_OPTIONAL | 18, /* since 1.5 */
};

/* A run of bytes inside the file; text is UTF-8 or whatever the guest had, without a NUL. */
struct lwpdata_bytes {
	const uint8_t *data;
	size_t size;
};

static inline struct lwpdata_bytes lwpdata_text(const char *string)
{
	return (struct lwpdata_bytes){ (const uint8_t *)string, strlen(string) };
}

struct lwpdata_event {
	uint32_t event_id; /* EventId, 1..255 */
	uint32_t interval; /* EventInterval as programmed, 0..2^25-1 */
};

struct lwpdata_config {
	uint32_t revision; /* LWP_REV_43724 or LWP_REV_2007 of vmcb/lwp_rev.h */
	uint32_t nr_events;
	uint32_t leaf_eax, leaf_ebx, leaf_ecx, leaf_edx; /* CPUID 8000_001C in the guest */
	uint32_t flags; /* LWPCB.Flags asked for */
	uint32_t filters; /* LWPCB.Filters */
	uint32_t ring_size; /* bytes of each ring */
	uint32_t random; /* LWPCB.Random, 0..15 */
	uint64_t start_realtime; /* ns since 1970 */
	uint64_t start_monotonic; /* ns, the clock of all other times */
	struct lwpdata_event events[LWPDATA_MAX_EVENTS];
	struct lwpdata_bytes tool; /* name and version of the writer */
	struct lwpdata_bytes kernel; /* uname -r of the guest */
	uint32_t nr_args;
	const struct lwpdata_bytes *args; /* writer only; a reader calls lwpdata_arg() */
	struct lwpdata_bytes raw_args; /* reader only */
};

struct lwpdata_object {
	uint32_t id; /* 0, 1, 2 ... in file order */
	uint32_t flags; /* LWPDATA_OBJECT_* */
	uint64_t size; /* bytes of the file when it was seen */
	struct lwpdata_bytes path;
	struct lwpdata_bytes build_id; /* empty if it has none */
};
#define LWPDATA_OBJECT_UNREADABLE 1u /* its build-id could not be looked up */
#define LWPDATA_OBJECT_PROFILER 2u /* lwprun's own library */

struct lwpdata_process {
	uint32_t id; /* 0, 1, 2 ... in file order; exec starts a new one */
	uint32_t parent; /* id of the process that forked it, LWPDATA_NONE if not known */
	uint32_t pid;
	uint32_t origin; /* LWPDATA_BY_* */
	uint64_t time;
	struct lwpdata_bytes comm;
	struct lwpdata_bytes exe;
};
#define LWPDATA_BY_EXEC 0u
#define LWPDATA_BY_FORK 1u

struct lwpdata_map {
	uint32_t process;
	uint32_t object; /* LWPDATA_NONE: anonymous memory */
	uint64_t time;
	uint64_t start, end; /* guest addresses, start < end */
	uint64_t offset; /* in the file, of `start` */
};

/* Memory that is not executable: what a data address lies in. Its DATA_UNMAP is a struct lwpdata_unmap. */
struct lwpdata_data_map {
	struct lwpdata_map map;
	struct lwpdata_bytes name; /* the kernel's, of anonymous memory: "[heap]"; or empty */
};

struct lwpdata_unmap {
	uint32_t process;
	uint64_t time;
	uint64_t start, end;
};

struct lwpdata_thread {
	uint32_t id; /* 0, 1, 2 ... in file order */
	uint32_t process;
	uint32_t tid;
	uint64_t time;
	uint32_t initial[LWPDATA_MAX_EVENTS]; /* EventCounter at LLWPCB, in CONFIG's order */
	struct lwpdata_bytes comm;
};

struct lwpdata_records {
	uint32_t thread;
	uint32_t count;
	uint64_t time; /* when they were taken out of the ring */
	const uint8_t *data; /* count records of LWPDATA_RECORD_SIZE bytes */
};

/* Of the event's records that come in RECORDS sections, one of 2^bits was kept from here on. */
struct lwpdata_kept {
	uint32_t event_id; /* one of CONFIG's */
	uint32_t bits; /* 0..LWPDATA_MAX_KEPT */
};

/* Branches of a thread that retired one after the other, with none between them left out. */
struct lwpdata_window {
	uint32_t thread;
	uint32_t count; /* records, at least 1 */
	uint64_t time; /* when they were taken out of the ring */
	uint64_t weight; /* branches that it stands for, its own included */
	uint32_t flags; /* LWPDATA_WINDOW_* */
	const uint8_t *data; /* count records of LWPDATA_RECORD_SIZE bytes, all of one event */
};
#define LWPDATA_WINDOW_CONTINUES 1u /* nothing is between the thread's window before and this one */

/* Where a thread was, which had stored `weight` records since its stack before. */
struct lwpdata_stack {
	uint32_t thread;
	uint32_t weight; /* at least 1 */
	uint64_t time;
	struct lwpdata_bytes
		addresses; /* u64 each, at least one: the next instruction, then in callers */
};

struct lwpdata_thread_end {
	uint32_t thread;
	uint32_t flags; /* LWPDATA_THREAD_* */
	uint64_t time;
	uint64_t records; /* taken from the thread's ring altogether */
	uint64_t missed; /* MissedEvents */
	uint32_t final[LWPDATA_MAX_EVENTS]; /* EventCounter, if flushed; in CONFIG's order */
	struct lwpdata_bytes comm; /* its last name */
};
#define LWPDATA_THREAD_FLUSHED 1u /* the counters were flushed: final[] is exact */
#define LWPDATA_THREAD_LOST 2u /* LWP had gone off or elsewhere by itself: context evicted */
#define LWPDATA_THREAD_OTHER 8u /* with LOST: the program uses LWP itself (since 1.1) */
#define LWPDATA_THREAD_DAMAGED 4u /* the program overwrote the block: head offset not usable */

struct lwpdata_process_end {
	uint32_t process;
	uint32_t how; /* LWPDATA_END_* */
	uint64_t time;
};
#define LWPDATA_END_EXIT 0u
#define LWPDATA_END_EXEC 1u
#define LWPDATA_END_RUNNING 2u /* still there when the file was closed */
#define LWPDATA_END_UNFOLLOWED 3u /* exec'ed a program that cannot be profiled */

struct lwpdata_perf_map {
	uint32_t process;
	uint32_t flags; /* LWPDATA_PERF_MAP_CUT: longer than lwprun takes */
	struct lwpdata_bytes text;
};
#define LWPDATA_PERF_MAP_CUT 1u

struct lwpdata_image {
	uint32_t object;
	struct lwpdata_bytes bytes; /* ELF file contents, for objects that are no files (vDSO) */
};

/* What went wrong while profiling; all zero in a good run. Nothing but numbers of 64 bits, in the order of the file. */
struct lwpdata_stats {
	uint64_t threads_no_slot; /* threads not profiled: more at once than --max-threads */
	uint64_t threads_no_memory; /* threads not profiled: no memory for a ring */
	uint64_t processes_refused; /* processes not profiled: lwprun could not see them */
	uint64_t execs_unfollowed; /* static, set-id or other programs exec'ed by profiled ones */
	uint64_t contexts_lost; /* threads whose LWP went off by itself: evicted or dropped */
	uint64_t rings_filled; /* threads with MissedEvents */
	uint64_t rings_damaged; /* threads whose block the program overwrote */
};

/* Names of events as users write them ("instructions"); NULL for an id that has none. */
const char *lwpdata_event_name(uint32_t event_id);
/* The reverse; 0 if there is no such event. */
uint32_t lwpdata_event_by_name(const char *name, size_t length);

/* ---- Writing --------------------------------------------------------------------------------- */

struct lwpdata_writer;

/*
 * Start a file that will be called `path`. Until lwpdata_finish() it has a temporary name beside it.
 * Returns NULL with errno set; EINVAL: `path` is there and no regular file.
 */
struct lwpdata_writer *lwpdata_create(const char *path);

/*
 * Append one section, of a type whose struct this is. The first error (a full disk) sticks: later calls do nothing and
 * every call returns it. 0 or -errno. CONFIG comes first: counters are those of its events.
 */
int lwpdata_write(struct lwpdata_writer *w, enum lwpdata_type type, const void *section);

#define LWPDATA_WRITES(name, type, part)                                          \
	static inline int lwpdata_write_##name(struct lwpdata_writer *w,          \
					       const struct lwpdata_##part *part) \
	{                                                                         \
		return lwpdata_write(w, LWPDATA_##type, part);                    \
	}
LWPDATA_WRITES(config, CONFIG, config)
LWPDATA_WRITES(object, OBJECT, object)
LWPDATA_WRITES(process, PROCESS, process)
LWPDATA_WRITES(map, MAP, map)
LWPDATA_WRITES(unmap, UNMAP, unmap)
LWPDATA_WRITES(data_map, DATA_MAP, data_map)
LWPDATA_WRITES(data_unmap, DATA_UNMAP, unmap)
LWPDATA_WRITES(thread, THREAD, thread)
LWPDATA_WRITES(thread_end, THREAD_END, thread_end)
LWPDATA_WRITES(process_end, PROCESS_END, process_end)
LWPDATA_WRITES(perf_map, PERF_MAP, perf_map)
LWPDATA_WRITES(image, IMAGE, image)
LWPDATA_WRITES(stats, STATS, stats)
LWPDATA_WRITES(kept, KEPT, kept)
LWPDATA_WRITES(stack, STACK, stack)

/* A whole section of another file, from its header on, which a reader has checked. */
int lwpdata_write_copy(struct lwpdata_writer *w, const uint8_t *section);

/* Records in two pieces (a ring that wraps): `first` and then `second` bytes, multiples of 32. */
int lwpdata_write_records(struct lwpdata_writer *w, uint32_t thread, uint64_t time,
			  const void *first, size_t first_size, const void *second,
			  size_t second_size);

/* A window (its `data` is not used), whose records are in two pieces as above. */
int lwpdata_write_window(struct lwpdata_writer *w, const struct lwpdata_window *window,
			 const void *first, size_t first_size, const void *second,
			 size_t second_size);

/* Put what was written so far into the file, which still has its temporary name. */
int lwpdata_flush(struct lwpdata_writer *w);

/* Records written so far, those of windows not included. */
uint64_t lwpdata_written_records(const struct lwpdata_writer *w);

/* Make `error` (-errno) the writer's, if it has none. */
void lwpdata_fail(struct lwpdata_writer *w, int error);

/* End the file, which keeps its temporary name and is in memory then, until lwpdata_abandon(). NULL on an error. */
const void *lwpdata_end(struct lwpdata_writer *w, size_t *size);

/* End the file and give it its name: 0, or -errno and there is no file. Frees the writer. */
int lwpdata_finish(struct lwpdata_writer *w);

/* Drop the file. Frees the writer. */
void lwpdata_abandon(struct lwpdata_writer *w);

/* ---- Reading: the file is not trusted ----------------------------------------------------------- */

struct lwpdata_error {
	uint64_t offset; /* where in the file */
	char text[160];
};

/* A section with everything in it checked except references to other sections. */
struct lwpdata_section {
	uint32_t type;
	uint64_t offset; /* of its header in the file */
	union {
		struct lwpdata_config config;
		struct lwpdata_object object;
		struct lwpdata_process process;
		struct lwpdata_map map;
		struct lwpdata_data_map data_map;
		struct lwpdata_unmap unmap; /* DATA_UNMAP too */
		struct lwpdata_thread thread;
		struct lwpdata_records records;
		struct lwpdata_window window;
		struct lwpdata_stack stack;
		struct lwpdata_thread_end thread_end;
		struct lwpdata_process_end process_end;
		struct lwpdata_perf_map perf_map;
		struct lwpdata_image image;
		struct lwpdata_stats stats;
		struct lwpdata_kept kept;
	};
};

struct lwpdata_reader {
	const uint8_t *data;
	uint64_t size;
	uint64_t offset; /* of the next section */
	uint64_t sections, records;
	uint32_t chain; /* CRC over all sections' CRCs */
	uint32_t nr[LWPDATA_LISTS]; /* seen so far: references must be below */
	uint32_t nr_events;
	uint8_t event_ids[LWPDATA_MAX_EVENTS]; /* CONFIG's */
	bool ended;
};

/* Begin to read `size` bytes at `data`, which must stay. False with *error filled. */
bool lwpdata_open(struct lwpdata_reader *r, const void *data, uint64_t size,
		  struct lwpdata_error *error);

/*
 * Is the next section there as a whole? A file that grows has it later; set `size` to what there is then. The error of
 * lwpdata_next() is that of a damaged file only if it is.
 */
bool lwpdata_whole(const struct lwpdata_reader *r);

/*
 * The next section: 1, 0 after the last one of a complete file, -1 with *error filled. Ids and
 * references are checked too: an object, process or thread is introduced before it is referred to.
 */
int lwpdata_next(struct lwpdata_reader *r, struct lwpdata_section *section,
		 struct lwpdata_error *error);

/* Argument `i` < config->nr_args of the command that was profiled. */
struct lwpdata_bytes lwpdata_arg(const struct lwpdata_config *config, uint32_t i);

#endif
