// SPDX-License-Identifier: GPL-2.0-or-later
/* Event records: which byte is what (43724-501 to 43724-514; 2007-501 to 2007-507). */
#include "vmcb_test.h"

static const u8 branch_bytes[32] = {
	3,    5, /* EventId, CoreId */
	0x00, 0xe0, /* TKN, PRD, PRV: bits 31:29 of the first dword */
	0x78, 0x56, 0x34, 0x12, /* Data1 */
	0xef, 0xcd, 0xab, 0x90, 0x78, 0x56, 0x34, 0x12, /* InstructionAddress */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* Data2 */
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* time stamp */
};

static const struct lwp_record branch = {
	.event_id = 3,
	.core_id = 5,
	.flags = 0xe000,
	.data1 = 0x12345678,
	.address = 0x1234567890abcdef,
	.data2 = 0x1122334455667788,
	.timestamp = 0x0807060504030201,
};

Test(record, every_byte_has_its_place) /* 43724-501, 43724-504, 2007-501 */
{
	u8 out[32];

	memset(out, 0xaa, sizeof(out));
	lwp_record_encode(&branch, out);
	cr_expect(eq(int, memcmp(out, branch_bytes, 32), 0));
}

Test(record, decode_reads_every_byte) /* 43724-501, 2007-501 */
{
	struct lwp_record rec;

	lwp_record_decode(branch_bytes, &rec);
	expect_same_record(&rec, &branch);
}

/* Bits 31, 30, 29, 28 of the first dword. */
Test(record, flag_bits_of_a_branch) /* 43724-508 */
{
	cr_expect(eq(u32, (u32)LWP_RECORD_TKN << 16, 0x80000000));
	cr_expect(eq(u32, (u32)LWP_RECORD_PRD << 16, 0x40000000));
	cr_expect(eq(u32, (u32)LWP_RECORD_PRV << 16, 0x20000000));
	cr_expect(eq(u32, (u32)LWP_RECORD_FUS << 16, 0x10000000));
}

/* SRC 31:29, DAV 28: DRAM with a data address is 7000_0000h. */
Test(record, flag_bits_of_a_cache_miss) /* 43724-511, 43724-512, 2007-507 */
{
	u16 flags = LWP_SRC_DRAM << LWP_RECORD_SRC_SHIFT | LWP_RECORD_DAV;

	cr_expect(eq(u32, (u32)flags << 16, 0x70000000));
	cr_expect(eq(u32, (u32)(LWP_SRC_OTHER << LWP_RECORD_SRC_SHIFT) << 16, 0xe0000000));
	cr_expect(eq(u32, (u32)(LWP_SRC_LOCAL_L3 << LWP_RECORD_SRC_SHIFT) << 16, 0x20000000));
	cr_expect(eq(u32, (u32)(LWP_SRC_REMOTE << LWP_RECORD_SRC_SHIFT) << 16, 0x40000000));
}

Test(record, inserted_event_is_255) /* 43724-502 */
{
	cr_expect(eq(u32, LWP_EVENT_ID_INS, 255));
}
