// SPDX-License-Identifier: GPL-2.0-or-later
/* Event records to and from their 32 bytes. */
#include "lwp_record.h"

_Static_assert(LWP_RECORD_TIMESTAMP + sizeof(u64) == LWP_RECORD_SIZE, "a record is 32 bytes");

/* 43724-501, 43724-504, 2007-501 */
void lwp_record_encode(const struct lwp_record *rec, u8 out[LWP_RECORD_SIZE])
{
	/* EventId, CoreId, Flags and Data1 are the bytes of one word. */
	lwp_put64(out, rec->event_id | (u32)rec->core_id << 8 | (u32)rec->flags << 16 |
			       (u64)rec->data1 << 32);
	lwp_put64(out + LWP_RECORD_ADDRESS, rec->address);
	lwp_put64(out + LWP_RECORD_DATA2, rec->data2);
	lwp_put64(out + LWP_RECORD_TIMESTAMP, rec->timestamp);
}

/* 43724-501, 2007-501 */
void lwp_record_decode(const u8 in[LWP_RECORD_SIZE], struct lwp_record *rec)
{
	rec->event_id = in[LWP_RECORD_EVENT_ID];
	rec->core_id = in[LWP_RECORD_CORE_ID];
	rec->flags = lwp_get16(in + LWP_RECORD_FLAGS);
	rec->data1 = lwp_get32(in + LWP_RECORD_DATA1);
	rec->address = lwp_get64(in + LWP_RECORD_ADDRESS);
	rec->data2 = lwp_get64(in + LWP_RECORD_DATA2);
	rec->timestamp = lwp_get64(in + LWP_RECORD_TIMESTAMP);
}
