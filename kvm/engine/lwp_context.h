/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `auto` contexts: whose program is being profiled, for guests whose OS knows nothing of LWP. The
 * states of a VM's profiled threads lie in one table, keyed by address space and thread; at most
 * one vCPU has a context live. Source: docs/design.md#contexts.
 *
 * The table has no lock: its owner (QEMU machine, struct kvm_svm) serialises the calls. Functions
 * that touch guest memory say so; they never fault the guest.
 */
#ifndef LWP_CONTEXT_H
#define LWP_CONTEXT_H

#include "lwp_engine.h"

#define LWP_CTX_TABLE_DEFAULT 1024 /* entries */
#define LWP_CTX_AGE_DEFAULT 10000 /* ms */
/* How long a context stays whose memory is swapped out, in ms. */
#define LWP_CTX_AWAY_MAX 3600000
#define LWP_CTX_NOBODY (-1)
#define LWP_CTX_SEEDS 8 /* of the hash */

/* Lists link entries and address spaces by their index; this one ends them. */
#define LWP_CTX_END (~(u32)0)

struct lwp_ctx_link {
	u32 next, prev;
};

struct lwp_ctx_list {
	u32 first, last;
};

struct lwp_ctx {
	bool used;
	bool wanted; /* another vCPU has looked up this key and waits for the holder to park it */
	/* vCPU index on which it is live (state is there, not here), or LWP_CTX_NOBODY */
	s32 holder;
	u32 space; /* its address space */
	u32 chain; /* the next entry with the same hash; of a free entry, the next free one */
	u64 stamp; /* of the last change: no other change of any entry has the same */
	u64 due; /* parked: the time at which it is to be looked at */
	u64 away; /* parked: since when looks find its memory swapped out; 0 = the last did not */
	struct lwp_late late; /* parked: what its events still owe; not saved by lwp_ctx_save() */
	struct lwp_ctx_saved saved; /* key always; the rest while not live, or as refreshed last */
};

/* An address space that has contexts. */
struct lwp_ctx_space {
	u64 cr3;
	u32 contexts; /* 0: not used */
	u32 chain; /* as lwp_ctx.chain */
	struct lwp_ctx_list parked; /* its parked contexts, the least recently used one first */
};

struct lwp_ctx_stats {
	u64 created, parked, resumed, taken_over; /* taken over: from another vCPU */
	u64 dropped; /* found but did not verify */
	u64 evicted; /* table full */
	u64 collected; /* their memory was gone when it was looked at */
	u64 unreadable; /* lookups that could not read block or ring; the context stayed parked */
};

struct lwp_ctx_table {
	struct lwp_ctx *entry; /* the beginning of the owner's memory */
	u32 size;
	u32 used;
	u64 clock; /* the last stamp */
	/*
	 * Time that a context stays parked before it is looked at, and between two looks, in ms; 0:
	 * nothing is looked at. The owner may set it after lwp_ctx_table_init().
	 */
	u64 age;
	struct lwp_ctx_stats stats;

	/* Inside lwp_context_table.c */
	struct lwp_ctx_space *space;
	/* spaces that have n contexts and one of them parked, by n; the least recent first */
	struct lwp_ctx_list *by_size;
	struct lwp_ctx_link *of_size; /* their links */
	struct lwp_ctx_list parked; /* all parked contexts, in the order of `due` */
	struct lwp_ctx_link *of_parked; /* their links */
	struct lwp_ctx_link *of_space; /* links of the entries in lwp_ctx_space.parked */
	u32 *key_hash, *space_hash; /* heads of the chains */
	u32 *seen; /* 2 * buckets: the keys of an array that is being checked */
	u32 buckets; /* a power of two, at least size */
	u32 free_entry, free_space;
	u32 largest; /* no list of by_size above it has a space */
	u64 seed[LWP_CTX_SEEDS];
};

/* Bytes of memory that a table of `size` entries (>= 1) needs, aligned to 8. */
size_t lwp_ctx_table_bytes(u32 size);

/*
 * An empty table in lwp_ctx_table_bytes(size) bytes of memory, which stay the owner's. `seed` is a
 * number that the guest does not know: it chooses its keys, and must not be able to give all of
 * them one hash.
 */
void lwp_ctx_table_init(struct lwp_ctx_table *t, void *memory, u32 size, u64 seed);

/* Machine reset: drop all contexts. lwp_engine_reset() resets the vCPUs' engines (43724-905). */
void lwp_ctx_table_reset(struct lwp_ctx_table *t);

/*
 * Key of the running thread. The bases are those of the program, see docs/design.md#contexts for
 * where the processor has them (43724-902, 2007-901, 2007-902).
 */
struct lwp_ctx_key lwp_ctx_make_key(enum lwp_paging paging, u64 cr3, bool code64, u64 fs_base,
				    u64 gs_base);

bool lwp_ctx_key_equal(const struct lwp_ctx_key *a, const struct lwp_ctx_key *b);

/*
 * Is there any context? Without one, CR3 and FS-base writes need not be noticed. It needs no lock.
 */
static inline bool lwp_ctx_any(const struct lwp_ctx_table *t)
{
	return lwp_read_once(t->used) != 0;
}

/*
 * LLWPCB has just switched LWP on (lwp_engine_on() and none live on this vCPU): the engine's state
 * becomes the context of `key`, live on vCPU `cpu`. A parked context of the same key is replaced; a
 * full table evicts one parked context first: the least recently used one of the address space with
 * most contexts. Returns false, and switches LWP off, when nothing could be evicted, or when the
 * key is live on another vCPU, which cannot be if the caller has looked it up before LLWPCB.
 */
bool lwp_ctx_create(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
		    const struct lwp_ctx_key *key);

/* LLWPCB 0, WRMSR or an error switched LWP off on vCPU `cpu`: drop its live context (43724-902). */
void lwp_ctx_drop_live(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu);

/* Key of the context that is live on vCPU `cpu`; NULL if none is. */
const struct lwp_ctx_key *lwp_ctx_live(const struct lwp_ctx_table *t, const struct lwp_engine *e,
				       s32 cpu);

/*
 * Put the live context of `cpu` back into the table; the engine is off then (but keeps LWP_CFG,
 * which belongs to the vCPU). If LWP has gone off, the context is dropped. No guest memory. `now`:
 * a clock, in ms (43724-902).
 */
void lwp_ctx_park(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu, u64 now);

enum lwp_ctx_found {
	LWP_CTX_NONE, /* no context has this key, or it was just dropped */
	LWP_CTX_RESUMED, /* verified and live on this vCPU now */
	LWP_CTX_UNREADABLE, /* block or ring cannot be read; parked until the next lookup */
	LWP_CTX_BUSY, /* live on another vCPU, look->holder: have it parked, then search again */
	LWP_CTX_VERIFY, /* parked: verify *look, then claim it */
	LWP_CTX_AGAIN, /* the context has changed since the search: search again */
};

/* A parked context as it was found, to be compared with memory without a lock. */
struct lwp_ctx_look {
	u32 index;
	s32 holder; /* LWP_CTX_BUSY */
	u64 stamp;
	struct lwp_ctx_saved saved;
};

/*
 * Lookup after a write of CR3, FS base or GS base, or at LLWPCB. The vCPU's engine must be off
 * (parked). It has three steps, so that guest memory is read without the lock of the table:
 *
 * lwp_ctx_search(), locked: LWP_CTX_NONE, LWP_CTX_BUSY or LWP_CTX_VERIFY. LWP_CTX_RESUMED for a key
 *	that is live on `cpu` itself.
 * lwp_ctx_verify(), unlocked: reads guest memory through e->ops with the *current* tables and
 *	writes nothing. Does the block still have the constant fields and the head that were kept,
 *	and is the last stored record still in its slot?
 * lwp_ctx_claim(), locked: makes it live, or leaves it parked if it could not be read, or drops it
 *	and its pending record without a write. LWP_CTX_AGAIN, and no change, if anything has
 *         happened to the context since the search (43724-904).
 */
enum lwp_ctx_found lwp_ctx_search(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				  const struct lwp_ctx_key *key, struct lwp_ctx_look *look);

enum lwp_ctx_verdict {
	LWP_CTX_INTACT,
	LWP_CTX_CHANGED,
	LWP_CTX_CANNOT_READ, /* or not without waiting */
};

/* BaseIP and LimitIP as they are in the block. */
struct lwp_ctx_ip {
	u64 base, limit;
};

/*
 * *ip is filled if the result is LWP_CTX_INTACT. A block that has not been read yet (deferred) has
 * no copies to compare and is intact (43724-904, 2007-305).
 */
enum lwp_ctx_verdict lwp_ctx_verify(struct lwp_engine *e, const struct lwp_ctx_saved *saved,
				    struct lwp_ctx_ip *ip);

enum lwp_ctx_found lwp_ctx_claim(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				 const struct lwp_ctx_look *look, enum lwp_ctx_verdict verdict,
				 const struct lwp_ctx_ip *ip);

/*
 * The three steps in one, for an owner whose calls nothing runs beside. *holder is set if the
 * result is LWP_CTX_BUSY (43724-902 to 43724-904, 2007-305).
 */
enum lwp_ctx_found lwp_ctx_find(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				const struct lwp_ctx_key *key, s32 *holder);

/*
 * Collection: contexts whose program is gone leave the table. Again in three steps:
 *
 * lwp_ctx_due(), locked: is any context parked for longer than `age` since it was live or looked at
 *	last? Then *look is that one, and its next look is `age` from now.
 * lwp_ctx_look(), unlocked: is its program's memory still there? See lwp_context_look.h.
 * lwp_ctx_looked(), locked: drops it if its memory has gone, or was away for LWP_CTX_AWAY_MAX; then
 *	the result is true. No change if anything has happened to the context since
 *	lwp_ctx_due().
 */
bool lwp_ctx_due(struct lwp_ctx_table *t, u64 now, struct lwp_ctx_look *look);

enum lwp_ctx_fate {
	LWP_CTX_STAYS, /* block and last record are intact */
	LWP_CTX_AWAY, /* pages are swapped out; for anything else they are the program's */
	LWP_CTX_GOES, /* there is no such memory any more, or it is another program's */
};

bool lwp_ctx_looked(struct lwp_ctx_table *t, u64 now, const struct lwp_ctx_look *look,
		    enum lwp_ctx_fate fate);

/*
 * Make the parked context of `key` live on `cpu`, whose engine must be off, without verifying
 * memory. It is for a context that was live when the whole machine was stopped, and that stays live
 * after a migration. Its block and ring need not be readable then. Returns false, and changes
 * nothing, if no such context is parked.
 */
bool lwp_ctx_resume(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
		    const struct lwp_ctx_key *key);

/*
 * Before lwp_ctx_save(): copy the context that is live on vCPU `cpu`, with LWP on, into the table.
 * It stays live, and the copy does not change what the vCPU does. No guest memory.
 */
void lwp_ctx_refresh(struct lwp_ctx_table *t, const struct lwp_engine *e, s32 cpu);

/*
 * Save all contexts as an array of LWP_CTX_ENTRY_SIZE bytes each; the caller refreshes the live
 * ones beforehand. Returns the number of bytes needed; writes only if `size` is enough.
 */
size_t lwp_ctx_save(const struct lwp_ctx_table *t, const struct lwp_caps *caps, u8 *to,
		    size_t size);

/*
 * Replace the table by an array from outside; all its contexts are parked. Returns NULL; or an
 * error message for entry *index, and leaves the table as before.
 */
const char *lwp_ctx_load(struct lwp_ctx_table *t, const struct lwp_caps *caps, const u8 *from,
			 size_t size, u64 now, u32 *index);

#endif
