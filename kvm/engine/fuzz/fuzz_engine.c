// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile program against the engine: two vCPUs, one table of contexts, memory that is scribbled over and
 * whose permissions change between any two steps. Input: byte 0 (which capabilities, delivery, auto or os), byte 1
 * (events, at an interval of byte 2), then one step after another: an operation and its operands.
 *
 * After every step the rules of fuzz_guest.h must hold.
 */
#include "fuzz_guest.h"

#define VCPUS 2
#define ROOM 3

#define BLOCK (MEM_BASE + 0x0f80u)
#define BLOCK2 (MEM_BASE + 0x3000u)
#define RING (MEM_BASE + 0x4ff0u)
#define RING2 (MEM_BASE + 0x7000u)

static struct lwp_engine engine[VCPUS];
static u64 table_memory[512];
static struct lwp_ctx_table table;
static struct lwp_engine *e; /* of the running vCPU */
static s32 cpu;
static struct fuzz_input in;

static void make_block(u32 at, u32 ring, u8 events, u8 interval)
{
	u8 *image = mem + (at - MEM_BASE);
	u32 i;

	lwp_put32(image + LWP_CB_FLAGS, events | (u32)(events & 0x80) << 24);
	lwp_put32(image + LWP_CB_SIZE_RANDOM, 1024);
	lwp_put64(image + LWP_CB_BASE, ring);
	for (i = 0; i < engine[0].caps.max_events; i++) {
		u8 *slot = image + lwp_cb_slot_offset(&engine[0].caps, i);

		lwp_put32(slot, interval | (engine[0].rev->slot_selects_event ? (i + 1) << 26 : 0));
		lwp_put32(slot + 4, interval);
	}
}

static struct lwp_ctx_key some_key(void)
{
	u8 choice = fuzz_u8(&in);

	return lwp_ctx_make_key(LWP_PAGING_LONG, (choice & 3) * 0x1000u, choice & 4, choice >> 6,
				0);
}

static u64 some_rip(void)
{
	u8 choice = fuzz_u8(&in);

	return choice == 0xff ? fuzz_u64(&in) : 0x400000u + choice * 4u;
}

static u64 some_block(void)
{
	switch (fuzz_u8(&in) % 5) {
	case 0:
		return 0;
	case 1:
		return BLOCK2;
	case 2:
		return MEM_BASE + fuzz_u32(&in) % MEM_SIZE;
	case 3:
		return fuzz_u64(&in);
	}
	return BLOCK;
}

static void some_ds(struct lwp_ds *ds)
{
	u8 choice = fuzz_u8(&in);

	*ds = (struct lwp_ds){ .limit = ~(u64)0,
			       .long_mode = true,
			       .va_bits = choice & 1 ? 57 : 48 };
	if (choice % 4 != 3)
		return;
	ds->long_mode = false;
	ds->base = choice & 4 ? fuzz_u32(&in) : MEM_BASE;
	ds->limit = choice & 8 ? fuzz_u32(&in) : 0xffffffff;
}

static void do_llwpcb(void)
{
	u64 ea = some_block(), old;
	u8 cpl = fuzz_u8(&in) % 4;
	struct lwp_exc exc;
	struct lwp_ds ds;

	some_ds(&ds);
	if (!ds.long_mode)
		ea = (u32)ea;
	allow_writes(e, ds.long_mode ? ea : (u32)(ds.base + ea));
	lwp_llwpcb(e, ea, &ds, cpl, &old, &exc);
	check_exception(&exc, true, !lwp_engine_avail(e));
	if (e->auto_context && lwp_engine_on(e) && !lwp_ctx_live(&table, e, cpu)) {
		struct lwp_ctx_key key = some_key();

		CHECK(lwp_ctx_create(&table, e, cpu, &key) == lwp_engine_on(e));
	}
}

static void do_slwpcb(void)
{
	struct lwp_exc exc;
	struct lwp_ds ds;
	u64 result;

	some_ds(&ds);
	lwp_slwpcb(e, &ds, &result, &exc);
	check_exception(&exc, false, !lwp_engine_avail(e));
	if (exc.kind == LWP_EXC_NONE)
		CHECK(!e->st.pending.event_id || !lwp_engine_on(e));
}

static void do_sample(bool val)
{
	bool undefined = !lwp_engine_avail(e) || e->rev->id == LWP_REV_2007;
	struct lwp_sample s = { .address = some_rip(), .data2 = fuzz_u8(&in), .flags = 1 };
	struct lwp_state before = e->st;
	struct lwp_exc exc;
	bool cf, reads;

	reads = val ? lwp_val_reads(e, s.address) : lwp_ins_reads(e);
	CHECK(!undefined || !reads);
	if (val)
		lwp_val(e, &s, &exc);
	else
		lwp_ins(e, &s, &cf, &exc);
	check_exception(&exc, false, undefined);
	/* An instruction that did not announce a store has not written to the ring. */
	if (!reads)
		CHECK(exc.kind != LWP_EXC_PF && before.head == e->st.head);
	if (exc.kind == LWP_EXC_PF && !before.pending.event_id && !lwp_state_deferred(&before))
		CHECK(!memcmp(&before, &e->st, sizeof(before)));
}

static void do_boundary(u64 rip, bool entered)
{
	u64 records = e->stats.records;
	struct lwp_exc exc;

	lwp_boundary(e, rip, entered, &exc);
	check_exception(&exc, false, false);
	CHECK(e->stats.records - records <= 1);
	CHECK(exc.kind != LWP_EXC_PF || e->stats.records == records);
	/* After a fault there is no retry, except where it faulted. */
	if (exc.kind == LWP_EXC_PF)
		CHECK(!lwp_boundary_wanted(e, rip + 1, false));
	else
		CHECK(!lwp_boundary_wanted(e, rip, false));
}

static void some_retired(struct lwp_retired *r)
{
	u8 choice = fuzz_u8(&in);

	memset(r, 0, sizeof(*r));
	r->address = some_rip();
	r->branch = (enum lwp_branch_class)(choice % LWP_BRANCH_CLASSES);
	r->taken = choice & 0x40;
	r->target = r->address + choice;
	if (!(choice & 0x80))
		return;
	r->cnh = fuzz_u32(&in);
	r->rnh = fuzz_u8(&in);
	r->miss = (struct lwp_miss){ r->address, fuzz_u32(&in), fuzz_u8(&in) };
	r->misses = lwp_miss_counted(e, &r->miss) ? fuzz_u8(&in) : 0;
}

static void do_retire(void)
{
	struct lwp_record pending = e->st.pending;
	u64 overshoots = e->stats.overshoots;
	struct lwp_retired r;

	some_retired(&r);
	if (lwp_retire(e, &r))
		CHECK(lwp_boundary_wanted(e, 0, false));
	/* A late branch, or a record that was owed and one that gave way to it. */
	CHECK(e->stats.overshoots - overshoots <= 2);
	/* Never two records: the pending one stays. */
	if (pending.event_id)
		CHECK(!memcmp(&pending, &e->st.pending, sizeof(pending)));
}

/* Events that a counter tells late, with or without the instruction that is next. */
static void do_pass(void)
{
	u8 choice = fuzz_u8(&in);
	enum lwp_kind kind = (enum lwp_kind)(choice % 16 % LWP_KINDS);
	u64 n = choice & 0x40 ? fuzz_u64(&in) : fuzz_u8(&in);
	struct lwp_record pending = e->st.pending;
	u64 budget = lwp_budget(e, kind), before = e->stats.overshoots;
	struct lwp_retired next;

	some_retired(&next);
	lwp_pass(e, kind, n, choice & 0x80 ? NULL : &next);
	if (pending.event_id)
		CHECK(!memcmp(&pending, &e->st.pending, sizeof(pending)));
	/* Without an instruction there is no record; for a branch it waits. */
	else if (choice & 0x80 || kind == LWP_KIND_BRE)
		CHECK(!e->st.pending.event_id);
	else if (budget != LWP_BUDGET_NEVER)
		CHECK(!e->st.pending.event_id == (n < budget));
	CHECK(!(choice & 0x80) || kind != LWP_KIND_BRE || !lwp_awaits_branch(e));
	CHECK(e->stats.overshoots - before <= 1);
	if (budget == LWP_BUDGET_NEVER || (n < budget && !(choice & 0x80)))
		CHECK(e->stats.overshoots == before);
}

static void do_count(void)
{
	enum lwp_kind kind = (enum lwp_kind)(fuzz_u8(&in) % LWP_KINDS);
	u64 budget = lwp_budget(e, kind), n = fuzz_u32(&in), left;

	lwp_count(e, kind, n);
	left = lwp_budget(e, kind);
	if (budget != LWP_BUDGET_NEVER)
		CHECK(left == (n < budget ? budget - n : 1));
	else
		CHECK(left == budget);
}

/* A state from outside: the engine's own, with a few bytes changed. */
static void do_load(bool xsave)
{
	u8 image[LWP_IMAGE_SIZE];
	struct lwp_state st = e->st;
	u8 n = fuzz_u8(&in) % 4;

	if (xsave)
		lwp_state_encode_xsave(&e->st, image);
	else
		lwp_state_encode(&e->st, &e->caps, image);
	while (n--) {
		u8 at = fuzz_u8(&in) % LWP_IMAGE_SIZE;

		image[at] = fuzz_u8(&in);
	}
	if (xsave)
		lwp_state_decode_xsave(image, &e->caps, lwp_engine_avail(e), &st);
	else if (lwp_state_decode(image, &e->caps, &st))
		return;
	lwp_engine_load(e, &st);
}

static void do_park_and_find(void)
{
	struct lwp_ctx_key key = some_key();
	s32 holder = LWP_CTX_NOBODY;
	enum lwp_ctx_found found;

	if (!e->auto_context)
		return;
	lwp_ctx_park(&table, e, cpu, 0);
	found = lwp_ctx_find(&table, e, cpu, &key, &holder);
	if (found != LWP_CTX_BUSY)
		return;
	CHECK(holder >= 0 && holder < VCPUS && holder != cpu);
	check_table(&table);
	lwp_ctx_park(&table, &engine[holder], holder, 0);
	found = lwp_ctx_find(&table, e, cpu, &key, &holder);
	CHECK(found != LWP_CTX_BUSY);
}

static void do_migrate(void)
{
	u8 wire[ROOM * LWP_CTX_ENTRY_SIZE], again[ROOM * LWP_CTX_ENTRY_SIZE];
	size_t size;
	u32 index;
	s32 i;

	for (i = 0; i < VCPUS; i++)
		lwp_ctx_park(&table, &engine[i], i, 0);
	size = lwp_ctx_save(&table, &e->caps, wire, sizeof(wire));
	CHECK(size == table.used * (size_t)LWP_CTX_ENTRY_SIZE);
	CHECK(!lwp_ctx_load(&table, &e->caps, wire, size, 0, &index));
	CHECK(lwp_ctx_save(&table, &e->caps, again, sizeof(again)) == size);
	CHECK(!memcmp(wire, again, size));
}

static void poke(void)
{
	u32 at = fuzz_u32(&in);

	/* Mostly the fields that the program owns, or should leave alone. */
	if (at & 0x80000000)
		at = (at & 1 ? BLOCK : BLOCK2) - MEM_BASE + (at >> 8 & 0xff);
	at %= MEM_SIZE - 4;
	fuzz_bytes(&in, mem + at, 4);
}

static void step(void)
{
	u8 op = fuzz_u8(&in) % 20, operand;

	allow_writes(e, 0);
	switch (op) {
	case 0:
		poke();
		break;
	case 1:
		operand = fuzz_u8(&in);
		perm[operand % MEM_PAGES] = operand >> 5;
		break;
	case 2:
		do_llwpcb();
		break;
	case 3:
		do_slwpcb();
		break;
	case 4:
		do_sample(false);
		break;
	case 5:
		do_sample(true);
		break;
	case 6:
	case 7:
	case 8:
		do_retire();
		break;
	case 9:
		do_count();
		break;
	case 10:
		do_pass();
		break;
	case 11:
	case 12:
	case 13:
		do_boundary(some_rip(), op == 11);
		break;
	case 14:
		lwp_engine_write_cfg(e, fuzz_u64(&in));
		break;
	case 15:
		if (!e->rev->cbaddr_executes)
			lwp_engine_write_cbaddr(e, fuzz_u8(&in) & 1);
		break;
	case 16:
		do_load(fuzz_u8(&in) & 1);
		break;
	case 17:
		do_park_and_find();
		break;
	case 18:
		do_migrate();
		break;
	case 19:
		cpu = fuzz_u8(&in) % VCPUS;
		e = &engine[cpu];
		e->xcr0_lwp = !(fuzz_u8(&in) & 1);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct lwp_caps caps;
	u8 mode, events, interval;
	u64 old;
	s32 i;

	in = (struct fuzz_input){ data, size };
	mode = fuzz_u8(&in);
	events = fuzz_u8(&in);
	interval = fuzz_u8(&in);
	guest_reset();
	fuzz_caps(mode, &caps);
	lwp_ctx_table_init(&table, table_memory, ROOM, 1);
	for (i = 0; i < VCPUS; i++) {
		lwp_engine_init(&engine[i], &caps, mode & 4,
				mode & 8 ? LWP_DELIVERY_PROMPT : LWP_DELIVERY_EXACT, &fuzz_ops,
				&engine[i]);
		engine[i].xcr0_lwp = true;
		CHECK(lwp_engine_write_cfg(&engine[i], caps.features | 1u));
	}
	cpu = 0;
	e = &engine[0];
	make_block(BLOCK & ~15u, RING, events, interval);
	make_block(BLOCK2, RING2, events, interval);
	current_rip = 0;
	old = in.left + 1;
	while (in.left && in.left < old) {
		old = in.left;
		step();
		current_rip++;
		for (i = 0; i < VCPUS; i++) {
			if (!lwp_engine_on(&engine[i]))
				lwp_ctx_drop_live(&table, &engine[i], i);
			check_engine(&engine[i]);
		}
		check_table(&table);
		CHECK(engine[0].stats.overshoots + engine[1].stats.overshoots == overshoots_told);
	}
	return 0;
}
