/* SPDX-License-Identifier: MIT */
/*
 * liblwp: LWP for programs that profile themselves, with memory, threads, forks and errors taken care of.
 * lwp(3) describes it. lwp.h has the instructions and layouts alone.
 *
 * A session belongs to the thread that starts it. One session at a time can run in a thread. A thread
 * that ends stops its session by itself, and a forked child has none that runs.
 */
#ifndef VLWP_LIBLWP_H
#define VLWP_LIBLWP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lwp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return below zero. */
enum lwp_error {
	LWP_OK = 0,
	LWP_ERROR_NO_LWP = -1, /* no LWP in the processor, or the system has not enabled it */
	LWP_ERROR_EVENT = -2, /* an EventId that this processor does not count, or given twice */
	LWP_ERROR_INTERVAL = -3, /* more than LWP_INTERVAL_MAX */
	LWP_ERROR_RING = -4, /* ring too small, too large, or no multiple of 32 bytes */
	LWP_ERROR_MEMORY = -5, /* no memory */
	LWP_ERROR_BUSY = -6, /* LWP runs in this thread for another session or profiler */
	LWP_ERROR_THREAD = -7, /* the session runs in another thread */
	LWP_ERROR_STATE = -8, /* not running, or running already */
	LWP_ERROR_LOST = -9, /* LWP went off by itself: the hypervisor dropped the context */
	LWP_ERROR_ARGUMENT = -10, /* a NULL pointer, or a number out of range */
	LWP_ERROR_MISSED = -11, /* events were missed: the count is not known */
};

struct lwp_session;

/* An event to take records of, once every interval + 1. */
struct lwp_choice {
	unsigned int event_id; /* enum lwp_event_id, 1..6 */
	uint32_t interval; /* 0..LWP_INTERVAL_MAX */
};

/* Can this program use LWP now? Without it lwp_open() fails with LWP_ERROR_NO_LWP and nothing else happens. */
bool lwp_available(void);

/* An error in words, never NULL. */
const char *lwp_strerror(int error);

/*
 * A session that takes records of `nr` events (0: only of marks) into a ring of `ring_size` bytes (a
 * multiple of 32; 0: 256 KiB). `random` low bits of each interval are drawn at random (0..15).
 */
int lwp_open(struct lwp_session **session, const struct lwp_choice *choices, unsigned int nr,
	     uint32_t ring_size, unsigned int random);

/* A session for windows of `records` consecutive branches, which lwp_window() takes. */
int lwp_open_windows(struct lwp_session **session, uint32_t records);

/* From its next start on lwp_wait() waits for so many records, fewer than the ring has room for. */
int lwp_threshold(struct lwp_session *session, uint32_t records);

/* Start in this thread, or continue after lwp_stop(). */
int lwp_start(struct lwp_session *session);

/* Stop in this thread. Records stay. */
int lwp_stop(struct lwp_session *session);

/* Records that wait in the ring. */
int64_t lwp_poll(const struct lwp_session *session);

/*
 * Wait in another thread until the threshold's number of records is in the ring, the session stops, or `timeout`
 * milliseconds have passed (below 0: no limit). Returns the records that wait.
 */
int64_t lwp_wait(struct lwp_session *session, int timeout);

/* Move up to `room` records, the oldest first, to `to`. Returns their number. Also in another thread. */
int64_t lwp_drain(struct lwp_session *session, struct lwp_event *to, size_t room);

/* Records that the ring had no room for. */
uint64_t lwp_missed(const struct lwp_session *session);

/*
 * How often an event of the session has happened while it ran, exactly: in its own thread, or when it is
 * stopped. Not with random bits, and not with more events than one if some were missed.
 */
int lwp_count(struct lwp_session *session, unsigned int event_id, uint64_t *count);

/*
 * The next window, if it is whole: moves its records, at most `room`, to `to` and returns their number, 0
 * if it is not whole yet. *weight: branches that it stands for.
 */
int64_t lwp_window(struct lwp_session *session, struct lwp_event *to, size_t room,
		   uint64_t *weight);

/* Insert a record with EventId 255 and this contents, if LWP runs in this thread. */
static inline void lwp_mark(uint64_t data2, uint32_t data1)
{
	lwp_lwpins(data2, data1, 0);
}

/* Stop, if it runs in this thread, and free. LWP_ERROR_THREAD, and nothing is freed, if it runs in another. */
int lwp_close(struct lwp_session *session);

#ifdef __cplusplus
}
#endif

#endif
