// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arbitrary saved contexts, as from a migration stream or a hostile user of the kernel's attribute. Input:
 * byte 0 (which capabilities, and how many bytes at the end are memory), the array, the memory.
 *
 * Saving an accepted array must give the same bytes. Each of its contexts can be looked up, run and parked
 * without breaking a rule of fuzz_guest.h, with any contents of memory.
 */
#include "fuzz_guest.h"
#include "lwp_context_look.h"

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
	u32 i;

	for (i = 0; i < 8; i++) {
		struct lwp_retired r = { .address = 0x400000 + i,
					 .branch = (enum lwp_branch_class)(i % LWP_BRANCH_CLASSES),
					 .cnh = i,
					 .rnh = 1 };

		allow_writes(&engine, 0);
		lwp_boundary(&engine, r.address, true, &exc);
		check_exception(&exc, false, false);
		check_engine(&engine);
		lwp_retire(&engine, &r);
		check_engine(&engine);
		/* Map the missing page again. */
		if (exc.kind == LWP_EXC_PF && exc.fault.addr / PAGE - MEM_BASE / PAGE < MEM_PAGES)
			perm[exc.fault.addr / PAGE - MEM_BASE / PAGE] = P_READ | P_WRITE;
	}
	allow_writes(&engine, 0);
	lwp_val(&engine, &s, &exc);
	check_exception(&exc, false, true);
	allow_writes(&engine, 0);
	lwp_ins(&engine, &s, &cf, &exc);
	check_exception(&exc, false, true);
	allow_writes(&engine, 0);
	lwp_slwpcb(&engine, &flat, &result, &exc);
	check_exception(&exc, false, false);
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
	u32 stays = 0, n;

	for (n = 0; n < 2; n++, now += LWP_CTX_AWAY_MAX) {
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
	u32 i;

	for (i = 0; i < count; i++) {
		/* No write of any kind is allowed while looking. */
		lwp_engine_write_cbaddr(&engine, 0);
		allow_writes(&engine, 0);
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

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 again[ROOM * LWP_CTX_ENTRY_SIZE];
	struct lwp_ctx_key keys[ROOM];
	struct lwp_caps caps;
	u32 index, count, i;
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
	for (i = 0; i < table.used; i++) {
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
