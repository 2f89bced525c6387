/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all tests of vmcb/ share: Criterion, and the numbers of the profiles written out once more by hand,
 * so that no test gets its numbers from the code under test.
 */
#ifndef VMCB_TEST_H
#define VMCB_TEST_H

#include "lwp_cb.h"
#include "lwp_record.h"
#include "lwp_state.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/* Criterion's strings are not const. */
static inline char *text(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* A decoder returned no reason to refuse; fails with the reason. */
#define expect_accepted(reason) cr_expect(eq(str, accepted_or(reason), text("accepted")))
#define assert_accepted(reason) cr_assert(eq(str, accepted_or(reason), text("accepted")))

static inline char *accepted_or(const char *reason)
{
	return text(reason ? reason : "accepted");
}

/* A real Bulldozer: EBX=80032013h ECX=00010200h EDX=8000000Fh. */
static const struct lwp_caps fam15h = {
	.rev = 0,
	.version = 1,
	.max_events = 3,
	.event_offset = 128,
	.cb_size = 152,
	.event_size = 32,
	.min_buffer = 1,
	.features = 0x8000000e,
};

/* All of 43724: EBX=80062016h ECX=E0010230h EDX=E000007Fh. */
static const struct lwp_caps full = {
	.rev = 0,
	.version = 1,
	.max_events = 6,
	.event_offset = 128,
	.cb_size = 176,
	.event_size = 32,
	.min_buffer = 1,
	.latency_max = 16,
	.features = 0xe000007e,
	.ecx_features = 0xe0000020,
};

/* All of 2007: EBX=01032040h ECX=C0000030h EDX=0000001Fh. */
static const struct lwp_caps full07 = {
	.rev = 1,
	.version = 1,
	.max_events = 3,
	.cb_size = 64,
	.event_size = 32,
	.latency_max = 16,
	.features = 0x8000000e,
	.ecx_features = 0xc0000020,
};

static inline void expect_same_record(const struct lwp_record *a, const struct lwp_record *b)
{
	cr_expect(eq(u8, a->event_id, b->event_id));
	cr_expect(eq(u8, a->core_id, b->core_id));
	cr_expect(eq(u16, a->flags, b->flags));
	cr_expect(eq(u32, a->data1, b->data1));
	cr_expect(eq(u64, a->address, b->address));
	cr_expect(eq(u64, a->data2, b->data2));
	cr_expect(eq(u64, a->timestamp, b->timestamp));
}

#endif
