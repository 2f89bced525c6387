// SPDX-License-Identifier: GPL-2.0-or-later
/* Entries of the context array (docs/design.md#migration). */
#include "state_images.h"

static u8 entry[240];
static struct lwp_ctx_saved ctx;

/* Each test begins with this entry, and with a result that nothing has filled in. */
static void good_entry(void)
{
	memset(&ctx, 0xaa, sizeof(ctx));
	memset(entry, 0, 240);
	lwp_put64(entry + 0, 0x000ffffffffff000); /* CR3 */
	lwp_put64(entry + 8, 0x00007f0012345740); /* FS base */
	lwp_put64(entry + 16, 0x0000021012345000); /* GS base */
	lwp_put32(entry + 28, 2); /* format */
	lwp_put64(entry + 32, 0x1122334455667788); /* hash of the last record */
	lwp_put32(entry + 40, 960); /* where it lies */
	lwp_put32(entry + 48, 0x8000000c); /* constants: flags */
	lwp_put32(entry + 52, 0xa0000400); /* size, random */
	lwp_put64(entry + 56, 0x7f0000700000); /* base */
	lwp_put32(entry + 64, 512); /* threshold */
	lwp_put32(entry + 68, 0x18000000); /* filters */
	lwp_put64(entry + 72, 0x400000); /* BaseIP */
	lwp_put64(entry + 80, 0x4fffff); /* LimitIP */
	lwp_put32(entry + 88, 992); /* head */
	memcpy(entry + 112, good_image, 128);
}

TestSuite(ctx, .init = good_entry);

static void expect_refused(const char *reason)
{
	static const struct lwp_ctx_saved nothing;
	const char *why;

	memset(&ctx, 0xaa, sizeof(ctx));
	why = lwp_ctx_decode(entry, &full, &ctx);
	cr_assert(ne(ptr, (void *)why, NULL), "accepted, expected: %s", reason);
	cr_expect(eq(str, text(why), text(reason)));
	cr_expect(eq(int, memcmp(&ctx, &nothing, sizeof(ctx)), 0));
}

Test(ctx, decode_reads_every_field)
{
	assert_accepted(lwp_ctx_decode(entry, &full, &ctx));
	cr_expect(eq(u64, ctx.key.cr3, 0x000ffffffffff000));
	cr_expect(eq(u64, ctx.key.thread, 0x00007f0012345740));
	cr_expect(eq(u64, ctx.key.gs, 0x0000021012345000));
	cr_expect(eq(u32, ctx.key.flags, 0));
	cr_expect(eq(u64, ctx.last_hash, 0x1122334455667788));
	cr_expect(eq(u32, ctx.last_offset, 960));
	cr_expect(eq(int, memcmp(ctx.constant, entry + 48, 64), 0));
	expect_same_state(&ctx.state, &good_state);
}

Test(ctx, encode_puts_every_field_in_its_place)
{
	struct lwp_ctx_saved saved = {
		.key = { 0x000ffffffffff000, 0x00007f0012345740, 0x0000021012345000, 0 },
		.last_hash = 0x1122334455667788,
		.last_offset = 960,
		.state = good_state,
	};
	u8 out[240];

	memcpy(saved.constant, entry + 48, 64);
	memset(out, 0xaa, 240);
	lwp_ctx_encode(&saved, &full, out);
	cr_expect(eq(int, memcmp(out, entry, 240), 0));
	cr_expect(eq(u32, LWP_CTX_ENTRY_SIZE, 240));
}

Test(ctx, without_a_last_record_no_place)
{
	struct lwp_ctx_saved saved = { .last_offset = 960, .state = good_state };
	u8 out[240];

	lwp_ctx_encode(&saved, &full, out);
	cr_expect(eq(u32, lwp_get32(out + 40), 0));
	expect_accepted(lwp_ctx_decode(out, &full, &ctx));
}

Test(ctx, key_of_32_bit_code_has_a_thread_part) /* 43724-902 */
{
	lwp_put32(entry + 24, 1 | 2 << 1);
	lwp_put64(entry + 0, 0x12345660); /* legacy PAE: CR3[31:5] */
	assert_accepted(lwp_ctx_decode(entry, &full, &ctx));
	cr_expect(eq(u32, ctx.key.flags, 5));
	cr_expect(eq(int, lwp_ctx_paging(&ctx.key), LWP_PAGING_PAE));
	cr_expect(eq(u64, ctx.key.cr3, 0x12345660));
	cr_expect(eq(u64, ctx.key.thread, lwp_get64(entry + 8)));
	cr_expect(eq(u64, ctx.key.gs, lwp_get64(entry + 16)));
}

/* Format 1 had no number; where it is now the hash of the last record was, or zero. */
Test(ctx, each_field_has_its_reason) /* 43724-902, 43724-904 */
{
	static const struct {
		u8 at, size;
		u64 value;
		const char *reason;
	} rows[] = {
		{ 0, 8, 0x12345010, "context key has bits that are no page-table address" },
		{ 0, 8, 0x0010000000000000, "context key has bits that are no page-table address" },
		{ 0, 8, 0x8000000012345000, "context key has bits that are no page-table address" },
		{ 24, 4, 16, "unknown context flags" },
		{ 24, 4, 5 << 1, "unknown context flags" }, /* five ways of paging, 0 to 4 */
		{ 28, 4, 0, "context of another format" },
		{ 28, 4, 1, "context of another format" },
		{ 28, 4, 3, "context of another format" },
		{ 32, 8, 0, "place of a last record, there is none" },
		{ 40, 4, 1024, "last record is outside the buffer" },
		{ 40, 4, 961, "place of the last record is not a multiple of the record size" },
		{ 47, 1, 1, "reserved bytes are not zero" },
		{ 124, 4, 1024, "buffer head is outside the buffer" },
	};
	u8 bytes[8];

	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		good_entry();
		lwp_put64(bytes, rows[i].value);
		memcpy(entry + rows[i].at, bytes, rows[i].size);
		expect_refused(rows[i].reason);
	}
	good_entry();
	lwp_put32(entry + 24, 4 << 1);
	assert_accepted(lwp_ctx_decode(entry, &full, &ctx));
}

Test(ctx, unused_constant_bytes)
{
	for (u32 i = 92; i < 112; i++) {
		good_entry();
		entry[i] = 1;
		expect_refused("unused constant bytes are not zero");
	}
}

Test(ctx, context_must_be_on)
{
	memset(entry + 112, 0, 128);
	entry[221] = 1; /* format */
	expect_refused("context with LWP off");
}

Test(ctx, deferred_context_has_no_last_record)
{
	memset(entry + 112, 0, 128);
	entry[112] = 0x40;
	entry[221] = 1;
	expect_refused("last record is outside the buffer");
	memset(entry + 32, 0, 16);
	expect_accepted(lwp_ctx_decode(entry, &full, &ctx));
}

Test(ctx, constants_of_a_43724_block)
{
	u8 block[176], out[64], expected[64];

	for (u32 i = 0; i < 176; i++)
		block[i] = (u8)i;
	memset(out, 0xaa, 64);
	memset(expected, 0, 64);
	memcpy(expected, block, 16); /* flags, size and random, base */
	memcpy(expected + 16, block + 32, 8); /* threshold, filters */
	memcpy(expected + 24, block + 40, 16); /* BaseIP, LimitIP */
	memcpy(expected + 40, block + 16, 4); /* head; missed events and tail are not constant */
	lwp_ctx_constants(&full, block, out);
	cr_expect(eq(int, memcmp(out, expected, 64), 0));
}

Test(ctx, constants_of_a_2007_block_have_no_ip_range)
{
	u8 block[64], out[64];

	memset(block, 0xff, 64);
	lwp_ctx_constants(&full07, block, out);
	for (u32 i = 0; i < 64; i++)
		cr_expect(eq(u8, out[i], i < 24 || (i >= 40 && i < 44) ? 0xff : 0));
}
