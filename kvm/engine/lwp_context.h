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
	bool wanted; /* another vCPU met its key and waits for the holder to park it */
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
	u64 unreadable; /* lookups that could not read block or ring and left the context parked */
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

/* Machine reset: all contexts go. The vCPUs' engines are reset by lwp_engine_reset(). */
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

/* Any context at all? While there is none, CR3 and FS-base writes need not be noticed. */
static inline bool lwp_ctx_any(const struct lwp_ctx_table *t)
{
	return t->used != 0;
}

/*
 * LLWPCB has just switched LWP on (lwp_engine_on() and none live on this vCPU): the engine's state
 * becomes the context of `key`, live on vCPU `cpu`. A parked context of the same key is replaced; a
 * full table evicts first from the address space that has most, oldest first, and only what is
 * parked. Returns false when nothing could be evicted, or when the key is live on another vCPU
 * (look it up before executing LLWPCB, and it is not): LWP is switched off then.
 */
bool lwp_ctx_create(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
		    const struct lwp_ctx_key *key);

/* LLWPCB 0, WRMSR or an error switched LWP off on vCPU `cpu`: its live context goes. */
void lwp_ctx_drop_live(struct lwp_ctx_table *t, s32 cpu);

/* Key of what is live on vCPU `cpu`; NULL if nothing is. */
const struct lwp_ctx_key *lwp_ctx_live(const struct lwp_ctx_table *t, s32 cpu);

/*
 * Put the live context of `cpu` back into the table; the engine is off then (but keeps LWP_CFG,
 * which belongs to the vCPU). If LWP went off meanwhile the context goes. No guest memory.
 */
void lwp_ctx_park(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu);

enum lwp_ctx_found {
	LWP_CTX_NONE, /* no context of this key (any more) */
	LWP_CTX_RESUMED, /* verified and live on this vCPU now */
	LWP_CTX_UNREADABLE, /* stays parked; try again at the next lookup */
	LWP_CTX_BUSY, /* live on another vCPU, *holder: have it parked there, then call again */
};

/*
 * Lookup after a CR3 or FS-base write, or at LLWPCB. The vCPU's engine must be off (parked). Reads
 * guest memory through e->ops with the *current* tables to verify: the block still has the constant
 * fields and the head that were kept, and the last stored record is still in its slot. A mismatch
 * drops the context, its pending record with it, without a write. A key that is live on `cpu`
 * itself is LWP_CTX_RESUMED as it is.
 */
enum lwp_ctx_found lwp_ctx_find(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				const struct lwp_ctx_key *key, s32 *holder);

/*
 * The parked context of `key` goes live on `cpu`, whose engine must be off, without a look at
 * memory: for one that was live when the whole machine stopped, and goes on with it after a
 * migration. Its block or ring need not be readable at that moment. Returns false, and changes
 * nothing, if no such context is parked.
 */
bool lwp_ctx_resume(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
		    const struct lwp_ctx_key *key);

/*
 * The table gets a copy of what is live on vCPU `cpu`, with LWP on, and which stays live there: for
 * lwp_ctx_save(). What the vCPU does afterwards does not depend on it. No guest memory.
 */
void lwp_ctx_refresh(struct lwp_ctx_table *t, const struct lwp_engine *e, s32 cpu);

/*
 * Save all contexts as an array of LWP_CTX_ENTRY_SIZE bytes each; the caller refreshes the live
 * ones beforehand. Returns the number of bytes needed; writes only if `size` is enough.
 */
size_t lwp_ctx_save(const struct lwp_ctx_table *t, const struct lwp_caps *caps, u8 *to,
		    size_t size);

/*
 * Replace the table by an array from outside: all parked. Returns NULL, or what is wrong with which
 * entry (*index); then the table is as before.
 */
const char *lwp_ctx_load(struct lwp_ctx_table *t, const struct lwp_caps *caps, const u8 *from,
			 size_t size, u32 *index);

#endif
