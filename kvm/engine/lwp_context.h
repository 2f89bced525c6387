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
#define LWP_CTX_NOBODY (-1)

struct lwp_ctx {
	bool used;
	bool wanted; /* another vCPU has looked up this key and waits for the holder to park it */
	/* vCPU index on which it is live (state is there, not here), or LWP_CTX_NOBODY */
	s32 holder;
	u32 siblings; /* contexts of its address space, itself included */
	u64 stamp; /* last use, for eviction */
	struct lwp_ctx_saved saved; /* key always; the rest while not live, or as refreshed last */
};

struct lwp_ctx_stats {
	u64 created, parked, resumed, taken_over; /* taken over: from another vCPU */
	u64 dropped; /* found but did not verify */
	u64 evicted; /* table full */
	u64 unreadable; /* lookups that could not read block or ring; the context stayed parked */
};

struct lwp_ctx_table {
	struct lwp_ctx *entry; /* memory of the owner */
	u32 size;
	u32 used;
	u64 clock;
	struct lwp_ctx_stats stats;
};

/* `entry` has room for `size` (>= 1) entries. */
void lwp_ctx_table_init(struct lwp_ctx_table *t, struct lwp_ctx *entry, u32 size);

/* Machine reset: drop all contexts. lwp_engine_reset() resets the vCPUs' engines. */
void lwp_ctx_table_reset(struct lwp_ctx_table *t);

/* Paging as far as the address-space key depends on it. */
enum lwp_paging {
	LWP_PAGING_LEGACY, /* 2-level: CR3[31:12] */
	LWP_PAGING_PAE, /* legacy PAE: CR3[31:5] */
	LWP_PAGING_LONG, /* CR3[51:12] */
};

/* Key of the running thread. 32-bit code (code64 false) has no thread part. */
struct lwp_ctx_key lwp_ctx_make_key(enum lwp_paging paging, u64 cr3, bool code64, u64 fs_base);

bool lwp_ctx_key_equal(const struct lwp_ctx_key *a, const struct lwp_ctx_key *b);

/* Is there any context? Without one, CR3 and FS-base writes need not be noticed. */
static inline bool lwp_ctx_any(const struct lwp_ctx_table *t)
{
	return t->used != 0;
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

/* LLWPCB 0, WRMSR or an error switched LWP off on vCPU `cpu`: drop its live context. */
void lwp_ctx_drop_live(struct lwp_ctx_table *t, s32 cpu);

/* Key of the context that is live on vCPU `cpu`; NULL if none is. */
const struct lwp_ctx_key *lwp_ctx_live(const struct lwp_ctx_table *t, s32 cpu);

/*
 * Put the live context of `cpu` back into the table; the engine is off then (but keeps LWP_CFG,
 * which belongs to the vCPU). If LWP has gone off, the context is dropped. No guest memory.
 */
void lwp_ctx_park(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu);

enum lwp_ctx_found {
	LWP_CTX_NONE, /* no context has this key, or it was just dropped */
	LWP_CTX_RESUMED, /* verified and live on this vCPU now */
	LWP_CTX_UNREADABLE, /* block or ring cannot be read; parked until the next lookup */
	LWP_CTX_BUSY, /* live on another vCPU, *holder: have it parked there, then call again */
};

/*
 * Lookup after a CR3 or FS-base write, or at LLWPCB. The vCPU's engine must be off (parked). Reads
 * guest memory through e->ops with the *current* tables to verify: the block still has the constant
 * fields and the head that were kept, and the last stored record is still in its slot. A mismatch
 * drops the context and its pending record without a write. For a key that is live on `cpu` itself
 * the result is LWP_CTX_RESUMED.
 */
enum lwp_ctx_found lwp_ctx_find(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				const struct lwp_ctx_key *key, s32 *holder);

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
			 size_t size, u32 *index);

#endif
