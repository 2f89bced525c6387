// SPDX-License-Identifier: GPL-2.0-or-later
/* The fake guest. A write to a span that map() did not look up for writing ends the test. */
#include "fake_guest.h"

struct fake_guest guest;
struct lwp_engine eng;
struct lwp_caps caps;
struct lwp_exc exc;
u64 result;
bool cf;
const struct lwp_ds flat = { .base = 0, .limit = ~(u64)0, .long_mode = true, .va_bits = 48 };

static u8 *bytes(u64 gva)
{
	cr_assert(ge(u64, gva, MEM_BASE));
	cr_assert(lt(u64, gva, MEM_BASE + MEM_PAGES * PAGE));
	return guest.mem + (gva - MEM_BASE);
}

static enum lwp_mem_result map(void *vcpu, struct lwp_span *span, bool write,
			       struct lwp_fault *fault)
{
	enum lwp_mem_result found;

	cr_assert(vcpu == &guest);
	if (guest.maps++ == guest.fail_map) {
		fault->addr = span->gva;
		fault->error_code = write ? 6 : 4; /* user */
		return guest.fail_again ? LWP_MEM_AGAIN : LWP_MEM_FAULT;
	}
	found = pages_map(guest.perm, span, write, fault);
	if (guest.direct && found == LWP_MEM_OK && span->gva % PAGE + span->len <= PAGE)
		span->direct = bytes(span->gva);
	return found;
}

/* The kernel's hardened usercopy ends a copy between the guest and the engine itself. */
static bool outside_the_engine(const void *buffer)
{
	return (const u8 *)buffer < (const u8 *)&eng ||
	       (const u8 *)buffer >= (const u8 *)(&eng + 1);
}

static enum lwp_mem_result read_span(void *vcpu, const struct lwp_span *span, u32 offset, void *to,
				     u32 len)
{
	cr_assert(outside_the_engine(to));
	if (guest.reads++ == guest.fail_read)
		return LWP_MEM_NOT_RAM;
	memcpy(to, pages_mapped(guest.mem, span, offset, len, false), len);
	return LWP_MEM_OK;
}

static void write_span(void *vcpu, const struct lwp_span *span, u32 offset, const void *from,
		       u32 len)
{
	u64 gva = span->gva + offset;

	if (!guest.writes++ || gva < guest.lowest_write)
		guest.lowest_write = gva;
	if (gva + len - 1 > guest.highest_write)
		guest.highest_write = gva + len - 1;
	memcpy(pages_mapped(guest.mem, span, offset, len, true), from, len);
}

static void interrupt(void *vcpu, u8 vector)
{
	guest.interrupts++;
	guest.vector = vector;
}

static u64 timestamp(void *vcpu)
{
	return guest.clock;
}

static void overshoot(void *vcpu, enum lwp_kind kind, u64 address, u64 by)
{
	cr_assert(vcpu == &guest);
	cr_assert(lt(u32, guest.overshoots, 8));
	guest.overshot[guest.overshoots++] = (struct overshot){ kind, address, by };
}

const struct lwp_vcpu_ops guest_ops = {
	.mem = { .map = map, .read = read_span, .write = write_span },
	.interrupt = interrupt,
	.timestamp = timestamp,
	.overshoot = overshoot,
};

/* ---- memory ---- */

void filter_ip(u32 filters, u64 first, u64 last)
{
	put32(BLOCK + LWP_CB_FILTERS, filters);
	put64(BLOCK + LWP_CB_BASE_IP, first);
	put64(BLOCK + LWP_CB_LIMIT_IP, last);
}

void set_permission(u64 gva, u8 perm)
{
	guest.perm[(gva - MEM_BASE) / PAGE] = perm;
}

void put32(u64 gva, u32 value)
{
	lwp_put32(bytes(gva), value);
}

void put64(u64 gva, u64 value)
{
	lwp_put64(bytes(gva), value);
}

u32 get32(u64 gva)
{
	return lwp_get32(bytes(gva));
}

u64 get64(u64 gva)
{
	return lwp_get64(bytes(gva));
}

struct lwp_record record(u32 index)
{
	struct lwp_record rec;

	lwp_record_decode(bytes(RING + index * 32), &rec);
	return rec;
}

void expect_record(u32 index, u8 event_id, u64 address)
{
	cr_expect(eq(u8, record(index).event_id, event_id), "record %u", index);
	cr_expect(eq(u64, record(index).address, address), "record %u", index);
}

/* ---- block and engine ---- */

void make_block(u64 block, u64 ring)
{
	memset(bytes(block), 0, 176);
	put32(block + 4, RING_SIZE);
	put64(block + 8, ring);
}

void set_event(u64 block, u32 event_id, u32 interval, u32 counter)
{
	if (caps.rev == LWP_REV_2007) {
		put32(block + 40 + 8 * (event_id - 1), event_id << 26 | interval);
		put32(block + 44 + 8 * (event_id - 1), counter);
		return;
	}
	put32(block, get32(block) | 1u << event_id);
	put32(block + 128 + 8 * (event_id - 1), interval);
	put32(block + 132 + 8 * (event_id - 1), counter);
}

void start_engine(bool auto_context, enum lwp_delivery delivery)
{
	cr_assert(lwp_caps_valid(&caps));
	lwp_engine_init(&eng, &caps, auto_context, delivery, &guest_ops, &guest);
}

void start(u32 rev)
{
	memset(&guest, 0, sizeof(guest));
	memset(guest.perm, P_READ | P_WRITE, sizeof(guest.perm));
	guest.fail_map = -1;
	guest.fail_read = -1;
	lwp_caps_profile(&caps, LWP_PROFILE_FULL, rev);
	start_engine(true, LWP_DELIVERY_EXACT);
	make_block(BLOCK, RING);
	make_block(BLOCK2, RING2);
}

void start_43724(void)
{
	start(LWP_REV_43724);
}

/* ---- instructions ---- */

enum lwp_exc_kind llwpcb_in(const struct lwp_ds *ds, u64 ea)
{
	result = 1;
	lwp_llwpcb(&eng, ea, ds, 3, &result, &exc);
	return exc.kind;
}

enum lwp_exc_kind llwpcb(u64 ea)
{
	return llwpcb_in(&flat, ea);
}

void enable(u64 block)
{
	cr_assert(eq(int, llwpcb(block), LWP_EXC_NONE));
	cr_assert(lwp_engine_on(&eng));
	guest.writes = 0;
	guest.maps = 0;
}

void profile(u32 event_id, u32 interval, u32 counter)
{
	set_event(BLOCK, event_id, interval, counter);
	enable(BLOCK);
}

void start_profile(u32 rev, u32 event_id, u32 interval, u32 counter)
{
	start(rev);
	profile(event_id, interval, counter);
}

enum lwp_exc_kind slwpcb(void)
{
	result = 1;
	lwp_slwpcb(&eng, &flat, &result, &exc);
	return exc.kind;
}

enum lwp_exc_kind lwpins(u64 address, u64 data2, u32 data1, u16 flags)
{
	struct lwp_sample s = { address, data2, data1, flags };

	cf = true;
	lwp_ins(&eng, &s, &cf, &exc);
	return exc.kind;
}

enum lwp_exc_kind lwpval(u64 address, u64 data2, u32 data1, u16 flags)
{
	struct lwp_sample s = { address, data2, data1, flags };

	lwp_val(&eng, &s, &exc);
	return exc.kind;
}

enum lwp_exc_kind boundary(u64 rip, bool entered)
{
	memset(&exc, 0, sizeof(exc));
	if (lwp_boundary_wanted(&eng, rip, entered))
		lwp_boundary(&eng, rip, entered, &exc);
	return exc.kind;
}

enum lwp_exc_kind retire(const struct lwp_retired *r)
{
	memset(&exc, 0, sizeof(exc));
	if (!lwp_retire(&eng, r))
		return LWP_EXC_NONE;
	return boundary(r->address + 4, false);
}

bool retire_at(u64 rip)
{
	struct lwp_retired r = { .address = rip };

	return lwp_retire(&eng, &r);
}

enum lwp_exc_kind try_step(u64 rip)
{
	struct lwp_retired r = { .address = rip };

	return retire(&r);
}

void step(u64 rip)
{
	cr_assert(eq(int, try_step(rip), LWP_EXC_NONE));
}

void steps(u64 rip, u32 n)
{
	for (u32 i = 0; i < n; i++)
		step(rip + 4 * i);
}

void branch(u64 rip, enum lwp_branch_class class, bool taken, u64 target)
{
	struct lwp_retired r = {
		.address = rip, .branch = class, .taken = taken, .target = target
	};

	cr_assert(eq(int, retire(&r), LWP_EXC_NONE));
}
