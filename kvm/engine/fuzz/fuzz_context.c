// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arbitrary saved contexts, as from a migration stream or a hostile user of the kernel's attribute. Input:
 * byte 0 (which capabilities, and how many bytes at the end are memory), the array, the memory.
 *
 * Saving an accepted array must give the same bytes. Each of its contexts can be looked up, run and parked
 * without breaking a rule of check_engine() and check_exception(), with any contents of memory. The guest
 * has a few pages whose permissions change.
 */
#include "check_table.h"
#include "fuzz.h"
#include "lwp_context_look.h"
#include "state_ok.h"

#define MEM_BASE 0x10000u
#define MEM_PAGES 8u
#include "guest_pages.h"

#define MEM_SIZE (MEM_PAGES * PAGE)

struct range {
	u64 from, len;
};

static u8 mem[MEM_SIZE];
static u8 perm[MEM_PAGES];
static struct range allowed[3]; /* block, ring, the next state's ring (deferred load) */

static void guest_reset(void)
{
	memset(mem, 0, sizeof(mem));
	memset(perm, P_READ | P_WRITE, sizeof(perm));
	memset(allowed, 0, sizeof(allowed));
}

static bool is_allowed(u64 gva, u32 len)
{
	const struct range *r;

	for (r = allowed; r < allowed + 3; r++)
		if (r->len && gva >= r->from && gva - r->from + len <= r->len)
			return true;
	return false;
}

/* LWP may write block and ring of the state as it is. Call it before each call of the engine. */
static void allow_writes(const struct lwp_engine *e)
{
	memset(allowed, 0, sizeof(allowed));
	if (lwp_engine_on(e)) {
		allowed[0] = (struct range){ e->st.cb_addr, e->caps.cb_size };
		allowed[1] = (struct range){ e->st.base, e->st.size };
	}
	/* A deferred block names the ring that the next record goes to. */
	if (lwp_state_deferred(&e->st) && e->st.cb_addr >= MEM_BASE &&
	    e->st.cb_addr + 16 <= MEM_BASE + MEM_SIZE) {
		const u8 *image = mem + (e->st.cb_addr - MEM_BASE);

		allowed[2].from = lwp_get64(image + LWP_CB_BASE) & ~(u64)e->rev->ring_base_ignored;
		allowed[2].len = lwp_get32(image + LWP_CB_SIZE_RANDOM) & LWP_CB_BUFFER_SIZE;
	}
}

static enum lwp_mem_result map(void *vcpu, struct lwp_span *span, bool write,
			       struct lwp_fault *fault)
{
	return pages_map(perm, span, write, fault);
}

static enum lwp_mem_result read_span(void *vcpu, const struct lwp_span *span, u32 offset, void *to,
				     u32 len)
{
	memcpy(to, pages_mapped(mem, span, offset, len, false), len);
	return LWP_MEM_OK;
}

static void write_span(void *vcpu, const struct lwp_span *span, u32 offset, const void *from,
		       u32 len)
{
	CHECK(is_allowed(span->gva + offset, len));
	memcpy(pages_mapped(mem, span, offset, len, true), from, len);
}

static void interrupt(void *vcpu, u8 vector)
{
	const struct lwp_engine *e = vcpu;

	CHECK(lwp_engine_avail(e) & e->st.flags & LWP_F_INT);
	CHECK(vector == lwp_cfg_vector(e->st.cfg));
}

static const struct lwp_vcpu_ops fuzz_ops = {
	.mem = { .map = map, .read = read_span, .write = write_span },
	.interrupt = interrupt,
};

/*
 * Never a #GP, nor a wait, for which map() does not ask. A #PF must name a byte of block or ring that the guest's tables
 * deny to user code.
 */
static void check_exception(const struct lwp_exc *exc, bool may_ud)
{
	u8 have = page_permission(perm, exc->fault.addr);

	CHECK(exc->kind != LWP_EXC_GP && exc->kind != LWP_EXC_AGAIN);
	CHECK(exc->kind != LWP_EXC_UD || may_ud);
	if (exc->kind == LWP_EXC_PF) {
		CHECK(is_allowed(exc->fault.addr, 1));
		CHECK(!(have & P_READ) || !(have & P_WRITE));
		CHECK(exc->fault.error_code & 4u);
	}
}

/* The state is legal, and so is what the engine keeps besides. */
static void check_engine(const struct lwp_engine *e)
{
	CHECK(state_ok(&e->caps, &e->st));
	for (u32 kind = 0; kind < LWP_KINDS; kind++)
		CHECK(lwp_budget(e, (enum lwp_kind)kind) >= 1);
	if (!lwp_engine_on(e) || lwp_state_deferred(&e->st))
		CHECK(!e->late.branches && !e->late.owed && !e->late.behind);
	else
		CHECK((!e->last_hash && !e->last_stored) ||
		      (e->last_offset < e->st.size && e->last_offset % LWP_RECORD_SIZE == 0));
	CHECK(!e->late.owed && !e->late.behind && !e->stats.overshoots);
}

#define ROOM 4

static struct lwp_engine engine;
static u64 table_memory[512];
static struct lwp_ctx_table table;

/* A few instructions of the program, with its boundaries, and one of each LWP instruction. */
static void run(void)
{
	static const struct lwp_ds flat = { .limit = ~(u64)0, .long_mode = true, .va_bits = 57 };
	struct lwp_sample s = { .address = 0x400800, .flags = 1 };
	struct lwp_exc exc;
	u64 result;
	bool cf;

	for (u32 i = 0; i < 8; i++) {
		struct lwp_retired r = { .address = 0x400000 + i,
					 .branch = (enum lwp_branch_class)(i % LWP_BRANCH_CLASSES),
					 .cnh = i,
					 .rnh = 1 };

		allow_writes(&engine);
		lwp_boundary(&engine, r.address, true, &exc);
		check_exception(&exc, false);
		check_engine(&engine);
		lwp_retire(&engine, &r);
		check_engine(&engine);
		/* Map the missing page again. */
		if (exc.kind == LWP_EXC_PF && exc.fault.addr / PAGE - MEM_BASE / PAGE < MEM_PAGES)
			perm[exc.fault.addr / PAGE - MEM_BASE / PAGE] = P_READ | P_WRITE;
	}
	allow_writes(&engine);
	lwp_val(&engine, &s, &exc);
	check_exception(&exc, true);
	allow_writes(&engine);
	lwp_ins(&engine, &s, &cf, &exc);
	check_exception(&exc, true);
	allow_writes(&engine);
	lwp_slwpcb(&engine, &flat, &result, &exc);
	check_exception(&exc, false);
	check_engine(&engine);
}

/* Memory of the guest, from address 0 on, as physical memory: page tables are in it, too. */
static enum lwp_phys_result read_phys(void *ctx, u64 gpa, void *to, u32 len)
{
	CHECK(len && gpa / PAGE == (gpa + len - 1) / PAGE && gpa <= ~(u64)0 >> 12);
	if (gpa >= MEM_SIZE)
		return LWP_PHYS_NONE;
	if (perm[gpa / PAGE] == 0)
		return LWP_PHYS_AWAY;
	memcpy(to, mem + gpa, len);
	return LWP_PHYS_OK;
}

/* A look at everything that is parked; once more after an hour, when what is away goes. */
static void collect_all(const struct lwp_caps *caps)
{
	const struct lwp_phys phys = { .read = read_phys, .bits = 40 };
	struct lwp_ctx_look look;
	u64 now = 10000;
	u32 stays = 0;

	for (u32 n = 0; n < 2; n++, now += LWP_CTX_AWAY_MAX) {
		for (stays = 0; lwp_ctx_due(&table, now, &look);) {
			enum lwp_ctx_fate fate = lwp_ctx_look(&phys, caps, &look.saved);

			stays += fate == LWP_CTX_STAYS;
			lwp_ctx_looked(&table, now, &look, fate);
			check_table(&table);
		}
	}
	CHECK(table.used == stays);
}

static void find_each(const struct lwp_ctx_key *keys, u32 count)
{
	s32 holder;

	for (u32 i = 0; i < count; i++) {
		/* No write of any kind is allowed while looking. */
		lwp_engine_write_cbaddr(&engine, 0);
		allow_writes(&engine);
		if (lwp_ctx_find(&table, &engine, 0, &keys[i], &holder) == LWP_CTX_RESUMED) {
			check_engine(&engine);
			run();
			if (lwp_engine_on(&engine))
				lwp_ctx_park(&table, &engine, 0, 0);
			else
				lwp_ctx_drop_live(&table, &engine, 0);
		}
		check_table(&table);
	}
}

/* 0 full 43724, 1 family 15h, 2 2007, 3 full 43724 without cache misses. */
static void fuzz_caps(u8 choice, struct lwp_caps *caps)
{
	lwp_caps_profile(caps, choice % 4 == 1 ? LWP_PROFILE_FAM15H : LWP_PROFILE_FULL,
			 choice % 4 == 2 ? LWP_REV_2007 : LWP_REV_43724);
	if (choice % 4 == 3)
		caps->features &= ~LWP_F_DME;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 again[ROOM * LWP_CTX_ENTRY_SIZE];
	struct lwp_ctx_key keys[ROOM];
	struct lwp_caps caps;
	u32 index, count;
	size_t array, memory;

	if (size < 1)
		return 0;
	guest_reset();
	fuzz_caps(data[0], &caps);
	lwp_engine_init(&engine, &caps, true, LWP_DELIVERY_PROMPT, &fuzz_ops, &engine);
	lwp_ctx_table_init(&table, table_memory, ROOM, 1);
	count = data[0] >> 4;
	array = count * (size_t)LWP_CTX_ENTRY_SIZE + !!(data[0] & 8);
	if (array > size - 1)
		array = size - 1;
	memory = size - 1 - array;
	memcpy(mem, data + 1 + array, memory < sizeof(mem) ? memory : sizeof(mem));
	perm[MEM_PAGES - 1] = P_READ;
	perm[MEM_PAGES - 2] = 0;
	if (lwp_ctx_load(&table, &caps, data + 1, array, 0, &index)) {
		CHECK(!table.used);
		CHECK(index <= array / LWP_CTX_ENTRY_SIZE);
		return 0;
	}
	check_table(&table);
	CHECK(table.used * (size_t)LWP_CTX_ENTRY_SIZE == array);
	CHECK(lwp_ctx_save(&table, &caps, again, sizeof(again)) == array);
	/* All but LWP_CFG, which belongs to the vCPU. */
	for (u32 i = 0; i < table.used; i++) {
		u8 *entry = again + i * LWP_CTX_ENTRY_SIZE;

		keys[i] = table.entry[i].saved.key;
		memcpy(entry + LWP_CTX_ENTRY_IMAGE + LWP_IMAGE_CFG,
		       data + 1 + i * LWP_CTX_ENTRY_SIZE + LWP_CTX_ENTRY_IMAGE + LWP_IMAGE_CFG, 8);
	}
	CHECK(!memcmp(again, data + 1, array));
	find_each(keys, table.used);
	find_each(keys, table.used);
	lwp_ctx_park(&table, &engine, 0, 0);
	collect_all(&caps);
	return 0;
}
