// SPDX-License-Identifier: GPL-2.0-or-later
/* What the LWP tests share. */
#include "lwp_fixture.h"
#include "place.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

#define KERNEL_FILL 0xa5
#define BRE_FLAGS 0xf000u /* TKN PRD PRV FUS */
#define MAX_IRE 16u /* of expect_ire() */
#define XCR0_X87 1ul
#define XCR0_SSE 2ul
#define XCR0_AVX 4ul
#define XCR0_LWP (1ul << LWP_XSAVE_COMPONENT)

extern char lwp_gate[], lwp_flush[];

u8 kernel_page[PAGE_SIZE] __attribute__((aligned(4096)));

void kernel_page_fill(void)
{
	memset(kernel_page, KERNEL_FILL, PAGE_SIZE);
}

bool kernel_page_intact(void)
{
	for (u32 i = 0; i < PAGE_SIZE; i++) {
		if (kernel_page[i] != KERNEL_FILL)
			return false;
	}
	return true;
}

u64 random_after(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

bool rev07(void)
{
	return option_is("rev", "2007");
}

/* All features of EDX but INT, as bits of LWP_CFG. In 2007 the two have different positions (2007-102). */
static u64 all_features(void)
{
	u32 edx = cpuid(LWP_CPUID_LEAF, 0).d;

	return rev07() ? 1 | (edx >> 2 & 7) << 1 : edx & ~LWP_F_INT;
}

void lwp_enable(void)
{
	struct cpuid id = cpuid(0x80000001, 0);

	if (!(id.c & LWP_CPUID_PRESENT_ECX))
		bail("this processor has no LWP: 8000_0001 ECX is %x", id.c);
	if (option_is("context", "os")) {
		bool component = cpuid(0xd, 0).d & D0_EDX_LWP;

		write_cr4(read_cr4() | CR4_OSXSAVE);
		if (component && try_xsetbv(0, XCR0_X87 | XCR0_SSE | XCR0_LWP) != NO_FAULT &&
		    try_xsetbv(0, XCR0_X87 | XCR0_SSE | XCR0_AVX | XCR0_LWP) != NO_FAULT)
			bail("XCR0[62] cannot be set");
		wrmsr(LWP_MSR_CFG, all_features());
	}
	id = cpuid(LWP_CPUID_LEAF, 0);
	if (!(id.a & LWP_F_AVAIL))
		bail("LWP is not available: 8000_001C EAX is %x", id.a);
}

void lwp_map(struct lwp *l, u64 cr3)
{
	l->cr3 = cr3;
	l->cb = place_map(cr3, CB_VA, CB_PAGES);
	l->ring = place_map(cr3, RING_VA, RING_PAGES);
	l->data = place_map(cr3, DATA_VA, DATA_PAGES);
	l->stack = place_map(cr3, STACK_VA, STACK_PAGES);
}

void lwp_init(struct lwp *l)
{
	lwp_enable();
	lwp_map(l, kernel_cr3());
}

void user_go(struct user *u, const char *code)
{
	user_init64(u, (u64)code, STACK_TOP);
	u->r.rdi = DATA_VA;
	user_run(u);
}

struct block in_revision(struct block b)
{
	for (u32 i = 0; rev07() && i < 4 && b.event[i].id; i++) {
		b.event[i].id--;
		b.event[i].interval++;
		b.event[i].counter++;
	}
	return b;
}

const struct block *every_insn(void)
{
	static const struct block b = { .event = { { EV_IRE, 0, 0 } } };
	static const struct block b07 = { .event = { { EV07_IRE, 1, 1 } } };

	return rev07() ? &b07 : &b;
}

USER_CODE(".globl lwp_on, lwp_one, lwp_start, lwp_nop_1, lwp_nop_2, lwp_slwpcb, lwp_on32\n"
	  "lwp_gate: user_exit\n"
	  "lwp_flush: llwpcb %rax\n"
	  "llwpcb %rcx\n"
	  "user_exit\n"
	  "lwp_on: llwpcb %rax\n"
	  "user_exit\n"
	  "lwp_one: llwpcb %rax\n"
	  "nop\n"
	  "user_exit\n"
	  "lwp_start: llwpcb %rax\n"
	  "lwp_nop_1: nop\n"
	  "lwp_nop_2: nop\n"
	  "user_exit\n"
	  "lwp_slwpcb: slwpcb %rbx\n"
	  "user_exit\n"
	  ".code32\n"
	  "lwp_on32: llwpcb %eax\n"
	  "user_exit\n"
	  ".code64\n");

u64 lwp_touch(void)
{
	struct user u;

	user_init64(&u, (u64)lwp_gate, 0);
	user_run(&u);
	return rdmsr(LWP_MSR_CBADDR);
}

u64 lwp_touch_in(u64 cr3)
{
	write_cr3(cr3);
	return lwp_touch();
}

void lwp_stop(void)
{
	lwp_touch();
	wrmsr(LWP_MSR_CBADDR, 0);
}

void vmcb_lwp_off(u8 *vmcb)
{
	u8 *image = vmcb + VMCB_LWP;

	memset(image, 0, 128);
	lwp_put64(image + 96, cpuid(LWP_CPUID_LEAF, 0).d & ~(LWP_F_AVAIL | LWP_F_INT));
	image[109] = 1; /* the format; revision 43724 */
}

static void prepare(struct lwp *l, const struct block *b)
{
	lwp_stop();
	block_write(l, b);
	memset(l->ring, RING_FILL, RING_PAGES * PAGE_SIZE);
}

void lwp_prepare(struct lwp *l, const struct block *b, const char *code)
{
	prepare(l, b);
	user_init64(&l->u, (u64)code, STACK_TOP);
	l->u.r.rax = CB_VA;
	l->u.r.rdi = DATA_VA;
}

void lwp_prepare32(struct lwp *l, const struct block *b, const char *code)
{
	prepare(l, b);
	user_init32(&l->u, (u32)(u64)code, STACK_TOP);
	l->u.r.rax = CB_VA;
	l->u.r.rdi = DATA_VA;
}

void lwp_resume(struct lwp *l)
{
	user_run(&l->u);
	if (!user_exited(&l->u))
		bail("user code came back by vector %u error %lx at %lx, cr2 %lx",
		     (u32)l->u.r.vector, l->u.r.error, l->u.r.rip, l->u.cr2);
}

void lwp_bring(struct lwp *l, u64 va)
{
	as_protect(l->cr3, va, PAGE_USER_RW);
	lwp_resume(l);
}

void lwp_try(struct lwp *l, const char *code)
{
	l->u.r.rip = (u64)code;
	user_run(&l->u);
}

void lwp_run(struct lwp *l, const char *code)
{
	l->u.r.rip = (u64)code;
	lwp_resume(l);
}

u64 lwp_query(struct lwp *l)
{
	lwp_run(l, lwp_slwpcb);
	return l->u.r.rbx;
}

void lwp_go(struct lwp *l, const struct block *b, const char *code)
{
	lwp_prepare(l, b, code);
	lwp_resume(l);
}

void lwp_go_rsi(struct lwp *l, const struct block *b, const char *code, u64 rsi)
{
	lwp_prepare(l, b, code);
	l->u.r.rsi = rsi;
	lwp_resume(l);
}

void lwp_go32(struct lwp *l, const struct block *b, const char *code)
{
	lwp_prepare32(l, b, code);
	lwp_resume(l);
}

void lwp_start_thread(struct lwp *l, u8 *area, u32 i, u32 interval, const char *code)
{
	struct block b = { .base = THREAD_VA(i) + THREAD_RING,
			   .size = 32 * RECORD_SIZE,
			   .event = { { EV_IRE, interval, interval } } };

	l->cb = area + i * THREAD_SIZE;
	block_write(l, &b);
	wrmsr(MSR_FS_BASE, FS_OF(i));
	user_init64(&l->u, (u64)code, STACK_TOP);
	l->u.r.rax = THREAD_VA(i);
	lwp_resume(l);
}

struct rec ring_record(const struct lwp *l, u32 i)
{
	const u8 *p = l->ring + i * RECORD_SIZE;

	return (struct rec){
		.id = p[LWP_RECORD_EVENT_ID],
		.core = p[LWP_RECORD_CORE_ID],
		.flags = lwp_get16(p + LWP_RECORD_FLAGS),
		.data1 = lwp_get32(p + LWP_RECORD_DATA1),
		.address = lwp_get64(p + LWP_RECORD_ADDRESS),
		.data2 = lwp_get64(p + LWP_RECORD_DATA2),
		.timestamp = lwp_get64(p + LWP_RECORD_TIMESTAMP),
	};
}

bool ring_untouched(const struct lwp *l, u32 i)
{
	for (u32 n = 0; n < RECORD_SIZE; n++) {
		if (l->ring[i * RECORD_SIZE + n] != RING_FILL)
			return false;
	}
	return true;
}

static void note_record(const char *what, u32 i, const struct rec *r)
{
	report_note("  %s %u: id %u core %u flags %04x data1 %08x address %lx data2 %lx ts %lx",
		    what, i, r->id, r->core, r->flags, r->data1, r->address, r->data2,
		    r->timestamp);
}

/* How a record differs that is right all the same. */
struct leniency {
	bool late, flags;
};

static bool same(const struct rec *a, const struct rec *b, struct leniency *seen)
{
	bool flags = a->flags == b->flags;

	if (!flags && !rev07() && a->id == EV_BRE) {
		seen->flags = true;
		flags = !((a->flags ^ b->flags) & ~BRE_FLAGS);
	}
	return a->id == b->id && a->core == b->core && flags && a->data1 == b->data1 &&
	       a->address == b->address && a->data2 == b->data2 && a->timestamp == b->timestamp;
}

/* LLWPCB of 0, which counts nothing, and of the block again. */
static bool flush(const struct lwp *l)
{
	struct user u;
	u64 block;

	/* 2007: RDMSR flushes. */
	if (try_rdmsr(LWP_MSR_CBADDR, &block) != NO_FAULT || !block || rev07())
		return rev07();
	user_init64(&u, (u64)lwp_flush, STACK_TOP);
	u.r.rcx = block;
	user_run(&u);
	return user_exited(&u);
}

u64 flushed(const struct lwp *l)
{
	flush(l);
	return cb_head(l) / RECORD_SIZE;
}

static void report_leniency(const struct leniency *seen)
{
	if (seen->late)
		report_beside(rev07() ? "2007-806" : "43724-813", CHOICE, false,
			      "it is stored before the next instruction");
	if (seen->flags)
		report_beside("43724-508 43724-510", RECALLED, false, "with these flags");
}

/* Is it so, at once or after a flush? */
#define LOOK(l, so, seen) ((so) || ((seen)->late = flush(l) && (so)))

bool expect_number(const struct lwp *l, u64 (*get)(const struct lwp *l), u64 want, const char *fmt,
		   ...)
{
	struct leniency seen = { 0 };
	bool ok = LOOK(l, get(l) == want, &seen);
	va_list ap;

	va_start(ap, fmt);
	report_va(ok, fmt, ap);
	va_end(ap);
	if (!ok)
		report_note("  is %lx, should be %lx", get(l), want);
	report_leniency(&seen);
	return ok;
}

static bool slot_holds(const struct lwp *l, u32 i, const struct rec *want, struct leniency *seen)
{
	struct rec got = ring_record(l, i);

	return same(&got, want, seen);
}

bool expect_record(const struct lwp *l, u32 i, struct rec want, const char *fmt, ...)
{
	struct leniency seen = { 0 };
	bool ok = LOOK(l, slot_holds(l, i, &want, &seen), &seen);
	struct rec got = ring_record(l, i);
	va_list ap;

	va_start(ap, fmt);
	report_va(ok, fmt, ap);
	va_end(ap);
	if (!ok) {
		note_record("is", i, &got);
		note_record("should be", i, &want);
	}
	report_leniency(&seen);
	return ok;
}

/* "# dump WHAT: SLOT HEX", for comparing accelerators byte by byte. */
static void dump(const struct lwp *l, u32 count, const char *what)
{
	for (u32 i = 0; i < count && i < RING_PAGES * PAGE_SIZE / RECORD_SIZE; i++) {
		print("# dump %s: %u ", what, i);
		for (u32 n = 0; n < RECORD_SIZE; n++)
			print("%02x", l->ring[i * RECORD_SIZE + n]);
		print("\n");
	}
}

static bool ring_holds(const struct lwp *l, const struct rec *want, u32 count,
		       struct leniency *seen)
{
	bool ok = cb_head(l) == count * RECORD_SIZE && ring_untouched(l, count);

	for (u32 i = 0; ok && i < count; i++)
		ok = slot_holds(l, i, &want[i], seen);
	return ok;
}

bool expect_records(const struct lwp *l, const struct rec *want, u32 count, const char *what)
{
	struct leniency seen = { 0 };
	bool ok = LOOK(l, ring_holds(l, want, count, &seen), &seen);
	u64 stored = cb_head(l) / RECORD_SIZE;
	struct rec got;

	report(ok, "%s", what);
	if (option_number("dump", 0))
		dump(l, (u32)stored, what);
	report_leniency(&seen);
	if (ok)
		return true;
	report_note("  head is %lx, should be %lx; slot %u is %s", cb_head(l), count * RECORD_SIZE,
		    count, ring_untouched(l, count) ? "untouched" : "written");
	for (u32 i = 0; i < count || (i < stored && i < count + 4); i++) {
		got = ring_record(l, i);
		if (i < count && same(&got, &want[i], &seen))
			continue;
		if (i < stored)
			note_record("is", i, &got);
		if (i < count)
			note_record("should be", i, &want[i]);
	}
	return false;
}

bool expect_ire(const struct lwp *l, const char *const *at, u32 count, const char *what)
{
	struct rec want[MAX_IRE];

	if (count > MAX_IRE)
		bail("%s: more than %u records", what, MAX_IRE);
	for (u32 i = 0; i < count; i++)
		want[i] = (struct rec){ rev07() ? EV07_IRE : EV_IRE, .address = (u64)at[i] };
	return expect_records(l, want, count, what);
}

bool expect_no_records(const struct lwp *l, const char *what)
{
	return expect_records(l, NULL, 0, what);
}

const char *fault_or(u32 fault, const char *otherwise)
{
	return fault == NO_FAULT ? otherwise : text("fault %u %x", fault & 0xff, fault >> 8);
}

const char *outcome(const struct lwp *l)
{
	u32 fault = user_exited(&l->u) ? NO_FAULT : FAULT(l->u.r.vector, l->u.r.error);

	return fault_or(fault, rdmsr(LWP_MSR_CBADDR) ? "on" : "off");
}

static bool expect_exit(const struct lwp *l, u32 vector, u64 error, u64 rip, bool cr2_matters,
			u64 cr2, const char *what)
{
	const struct user *u = &l->u;
	bool ok = u->r.vector == vector && u->r.error == error && u->r.rip == rip &&
		  (!cr2_matters || u->cr2 == cr2);

	report(ok, "%s", what);
	if (!ok) {
		report_note("  is vector %u error %lx rip %lx cr2 %lx", (u32)u->r.vector,
			    u->r.error, u->r.rip, u->cr2);
		report_note("  should be vector %u error %lx rip %lx", vector, error, rip);
		if (cr2_matters)
			report_note("  should be cr2 %lx", cr2);
	}
	return ok;
}

bool run_to_fault(struct lwp *l, u32 vector, u64 error, u64 rip, const char *what)
{
	user_run(&l->u);
	return expect_exit(l, vector, error, rip, false, 0, what);
}

bool expect_store_fault(const struct lwp *l, u64 error, u64 cr2, u64 rip, const char *what)
{
	return expect_exit(l, VEC_PF, error, rip, true, cr2, what);
}

bool run_to_store_fault(struct lwp *l, u64 error, u64 cr2, u64 rip, const char *what)
{
	user_run(&l->u);
	return expect_store_fault(l, error, cr2, rip, what);
}

bool run_to_missing(struct lwp *l, u64 cr2, u64 rip, const char *what)
{
	as_protect(l->cr3, cr2 & PAGE_MASK, PAGE_NONE);
	return run_to_store_fault(l, PF_WRITE | PF_USER, cr2, rip, what);
}
