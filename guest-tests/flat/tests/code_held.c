// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A processor fetches code while another one is in the middle of a store to it. When the store is done, the new
 * code is what is executed; and an aligned quadword that is stored whole is fetched whole (AMD64 Architecture
 * Programmer's Manual, volume 2, "Cross-Modifying Code"). The host holds the store, or the fetch, so that each order
 * that QEMU's threads can take is taken each time.
 */
#include "hold.h"
#include "paging.h"
#include "report.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

/* What another processor waits for is held for a while. What none waits for is released long before this. */
#define WHILE_MS 500
#define LONG_MS 20000
#define MAX_STORE 16
#define RET 0xc3

/* Where code lies in two pages: the function that is changed, and another one, which is translated before it. */
#define FIRST PAGE_SIZE
#define ALIGNED 0x2a0
#define OTHER 0x800
#define BESIDE 0x900 /* data */
#define PAGES 2
/* The image of FXSAVE has XMM0 here. */
#define FXSAVE_XMM0 160

/* mov $1, %eax; ret */
static const u8 returns_1[MAX_STORE] = { 0xb8, 1, 0, 0, 0, RET, 0x90, 0x90, RET };

struct store {
	const char *name;
	void (*op)(u8 *to, const u8 *bytes);
	u32 function; /* offset of the function */
	s32 offset; /* of the store in the function */
	u8 bytes[MAX_STORE];
	u64 value; /* that the new function returns */
	u32 held; /* number of the page whose store is held */
	bool waits; /* the other processor's fetch waits for the store */
};

static u8 *code;
static volatile bool stored;

#define STORE_OP(name, insn)                                                \
	static void name(u8 *to, const u8 *bytes)                           \
	{                                                                   \
		asm volatile(insn                                           \
			     :                                              \
			     : "D"(to), "S"(bytes)                          \
			     : "rax", "rbx", "rcx", "rdx", "memory", "cc"); \
	}
STORE_OP(store_1, "mov (%1), %%al; mov %%al, (%0)")
STORE_OP(store_2, "mov (%1), %%ax; mov %%ax, (%0)")
STORE_OP(store_4, "mov (%1), %%eax; mov %%eax, (%0)")
STORE_OP(store_8, "mov (%1), %%rax; mov %%rax, (%0)")
STORE_OP(store_16, "movups (%1), %%xmm0; movups %%xmm0, (%0)")
STORE_OP(xchg_1, "mov (%1), %%al; xchg %%al, (%0)")
STORE_OP(xchg_2, "mov (%1), %%ax; xchg %%ax, (%0)")
STORE_OP(xchg_4, "mov (%1), %%eax; xchg %%eax, (%0)")
STORE_OP(xchg_8, "mov (%1), %%rax; xchg %%rax, (%0)")
STORE_OP(add_4, "mov (%1), %%eax; lock add %%eax, (%0)")
STORE_OP(cmpxchg_8, "mov (%1), %%rcx; mov (%0), %%rax; lock cmpxchg %%rcx, (%0)")
STORE_OP(
	cmpxchg_16,
	"mov (%1), %%rbx; mov 8(%1), %%rcx; mov (%0), %%rax; mov 8(%0), %%rdx; lock cmpxchg16b (%0)")
/* Through host pointers of the emulator. */
STORE_OP(fxsave, "movups (%1), %%xmm0; fxsave -160(%0)")
_Static_assert(FXSAVE_XMM0 == 160, "the displacement in fxsave()");

#define NEW_2                                     \
	{                                         \
		0xb8, 2, 0, 0, 0, RET, 0x90, 0x90 \
	}
/* The same after n other bytes of the store. */
#define NEW_30002(n)                        \
	{                                   \
		[n] = 0xb8, 2, 0, 3, 0, RET \
	}
#define MOVED(n) (FIRST - (n)) /* n bytes of the function are in the first page */

/* The page holds code, and its stores are noticed. */
static const struct store noticed[] = {
	{ "1 byte", store_1, ALIGNED, 1, { 2 }, 2 },
	{ "2 bytes", store_2, ALIGNED, 2, { 2, 0 }, 0x201 },
	{ "4 bytes", store_4, ALIGNED, 4, { 2, RET, 0x90, 0x90 }, 0x2000001 },
	{ "8 bytes", store_8, ALIGNED, 0, NEW_2, 2 },
	{ "16 bytes", store_16, ALIGNED, 0, NEW_2, 2 },
	{ "2 bytes in two pages", store_2, MOVED(2), 1, { 2, 3 }, 0x302, 1 },
	{ "4 bytes in two pages", store_4, MOVED(3), 1, { 2, 0, 3, 0 }, 0x30002, 1 },
	{ "4 bytes in two pages, first page", store_4, MOVED(3), 1, { 2, 0, 3, 0 }, 0x30002, 0 },
	{ "4 bytes in two pages, code in the first", store_4, MOVED(6), 3, { 3, 0, RET }, 0x30001 },
	{ "4 bytes in two pages, code in the second", store_4, FIRST, -2, { [2] = 0xb8, 2 }, 2, 1 },
	{ "8 bytes in two pages", store_8, MOVED(3), 0, NEW_30002(0), 0x30002, 1 },
	{ "16 bytes in two pages", store_16, MOVED(3), 0, NEW_30002(0), 0x30002, 1 },
	{ "16 bytes, half in each page", store_16, MOVED(3), -5, NEW_30002(5), 0x30002, 1 },
	{ "16 bytes, most in the first page", store_16, MOVED(3), -9, NEW_30002(9), 0x30002, 1 },
	{ "XCHG of 1 byte", xchg_1, ALIGNED, 1, { 2 }, 2 },
	{ "XCHG of 2 bytes", xchg_2, ALIGNED, 2, { 2, 0 }, 0x201 },
	{ "XCHG of 4 bytes", xchg_4, ALIGNED, 4, { 2, RET, 0x90, 0x90 }, 0x2000001 },
	{ "XCHG of 8 bytes", xchg_8, ALIGNED, 0, NEW_2, 2 },
	{ "LOCK ADD", add_4, ALIGNED, 4, { 2 }, 0x2000001 },
	{ "CMPXCHG", cmpxchg_8, ALIGNED, 0, NEW_2, 2 },
	{ "CMPXCHG16B", cmpxchg_16, ALIGNED, 0, NEW_2, 2 },
	{ "FXSAVE", fxsave, ALIGNED, 0, NEW_2, 2, .waits = true },
};

/* No code of the page has been translated: its stores are not noticed yet. */
static const struct store unnoticed[] = {
	{ "4 bytes", store_4, ALIGNED, 4, { 2, RET, 0x90, 0x90 }, 0x2000001, .waits = true },
	{ "XCHG", xchg_8, ALIGNED, 0, NEW_2, 2, .waits = true },
	{ "FXSAVE", fxsave, ALIGNED, 0, NEW_2, 2, .waits = true },
};

static void watch(u32 page, enum hold_what what, u32 limit_ms)
{
	stored = false;
	hold_watch(code + page * PAGE_SIZE, what, limit_ms);
}

static u64 call(u32 function)
{
	u64 value;

	asm volatile("call *%1" : "=a"(value) : "r"(code + function) : "rbx", "memory", "cc");
	return value;
}

static void do_store(void *arg)
{
	const struct store *s = arg;

	s->op(code + s->function + s->offset, s->bytes);
	stored = true;
}

static void do_store_while_fetched(void *arg)
{
	while (!hold->held)
		pause();
	do_store(arg);
}

static void wait_until_held(const char *name)
{
	while (!hold->held && !stored)
		pause();
	if (!hold->held)
		bail("%s: nothing was held", name);
}

static void touch(void *arg)
{
	*(volatile u8 *)arg = 1;
}

/* Fresh pages. Translated: there is code in both that has been executed, and so has the function. */
static void prepare(const struct store *s, bool translated)
{
	code = (u8 *)phys_alloc(PAGES, PAGE_SIZE);
	memcpy(code + s->function, returns_1, sizeof(returns_1));
	for (u32 i = 0; i < PAGES; i++) {
		code[i * PAGE_SIZE + OTHER] = RET;
		if (translated)
			call((u32)(i * PAGE_SIZE + OTHER));
	}
	if (translated && call(s->function) != 1)
		bail("the function does not return 1");
}

/* Serialize, and execute the function. */
static u64 call_later(u32 function)
{
	cpuid(0, 0);
	return call(function);
}

/* The function is executed while a store to it is held. */
static void held_store(const struct store *s)
{
	watch(s->held, HOLD_STORE, s->waits ? WHILE_MS : LONG_MS);
	smp_run(1, do_store, (void *)s);
	wait_until_held(s->name);
	call(s->function);
	hold->release = 1;
	smp_wait(1);
	report_eq(call_later(s->function), s->value, "%s: the new code is executed after the store",
		  s->name);
	report_eq(hold->expired, s->waits, "%s: %s", s->name,
		  s->waits ? "a fetch from the page waits for the store" :
			     "nothing waits for the store");
}

static void stores_that_are_noticed(void)
{
	for (u32 i = 0; i < sizeof(noticed) / sizeof(noticed[0]); i++) {
		prepare(&noticed[i], true);
		held_store(&noticed[i]);
	}
}

static void stores_that_are_not_noticed(void)
{
	report_push("page without translated code");
	for (u32 i = 0; i < sizeof(unnoticed) / sizeof(unnoticed[0]); i++) {
		prepare(&unnoticed[i], false);
		/* The storing processor's TLB knows the page. */
		smp_call(1, touch, code + BESIDE);
		held_store(&unnoticed[i]);
	}
	report_pop();
	/* Code of the last page has been translated alone. Now it is a page like any other one. */
	report_push("page with translated code");
	call(OTHER);
	memcpy(code + ALIGNED, returns_1, sizeof(returns_1));
	held_store(&noticed[0]);
	report_pop();
}

/*
 * xor %eax, %eax; inc %eax; inc %eax; ret. With the first byte of what was there before:
 * mov $0xffc0ffc0, %eax; rol $0x90, %bl; ret.
 */
static const struct store quadword = {
	"", store_8, ALIGNED, 0, { 0x31, 0xc0, 0xff, 0xc0, 0xff, 0xc0, RET, 0x90 }, 2,
};

static void store_during_the_fetch(void)
{
	prepare(&quadword, false);
	smp_call(1, touch, code + BESIDE);
	watch(0, HOLD_FETCH, WHILE_MS);
	smp_run(1, do_store_while_fetched, (void *)&quadword);
	call(quadword.function);
	smp_wait(1);
	report_eq(
		call_later(quadword.function), 2,
		"the new code is executed after a store that came while the page's first code was fetched");
}

static void quadword_is_fetched_whole(void)
{
	u64 value;

	prepare(&quadword, true);
	watch(0, HOLD_STORE_IN_FETCH, LONG_MS);
	smp_run(1, do_store, (void *)&quadword);
	wait_until_held("quadword");
	value = call(quadword.function);
	smp_wait(1);
	report(value == 1 || value == 2, "an aligned quadword is fetched whole: 1 or 2, it is %lx",
	       value);
	report_eq(call_later(quadword.function), 2, "the new quadword is executed after the store");
	report_eq(hold->expired, 0, "neither the store nor the fetch of the quadword waits");
}

FLAT_TEST(code_held)
{
	hold_init();
	smp_start();
	stores_that_are_noticed();
	stores_that_are_not_noticed();
	store_during_the_fetch();
	quadword_is_fetched_whole();
}
