/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event records: the 32 bytes that LWP writes into the ring. Source: 43724-501 to
 * 43724-514; 2007-501 to 2007-507.
 */
#ifndef LWP_RECORD_H
#define LWP_RECORD_H

#include "lwp_rev.h"

#define LWP_RECORD_SIZE 32
#define LWP_RECORD_EVENT_ID 0 /* u8 */
#define LWP_RECORD_CORE_ID 1 /* u8 */
#define LWP_RECORD_FLAGS 2 /* u16 */
#define LWP_RECORD_DATA1 4 /* u32 */
#define LWP_RECORD_ADDRESS 8 /* u64 */
#define LWP_RECORD_DATA2 16 /* u64 */
#define LWP_RECORD_TIMESTAMP 24 /* u64: time stamp where PTSC is active, else 0 */

/* Flags, as bits of the 16-bit field (bit 15 is bit 31 of the first dword). */
#define LWP_RECORD_TKN 0x8000 /* branch: taken (43724-508) */
#define LWP_RECORD_PRD 0x4000 /* branch: predicted correctly */
#define LWP_RECORD_PRV 0x2000 /* branch: PRD is valid */
#define LWP_RECORD_FUS 0x1000 /* branch: fused pair (43724) */
#define LWP_RECORD_SRC_SHIFT 13 /* data cache miss: source of the data, 3 bits */
#define LWP_RECORD_DAV 0x1000 /* data cache miss: data address is valid */

enum lwp_data_source {
	LWP_SRC_NONE = 0,
	LWP_SRC_LOCAL_L3 = 1,
	LWP_SRC_REMOTE = 2,
	LWP_SRC_DRAM = 3,
	LWP_SRC_OTHER = 7,
	LWP_SOURCES,
};

struct lwp_record {
	u8 event_id; /* 0 = invalid, none pending */
	u8 core_id;
	u16 flags;
	u32 data1;
	u64 address; /* linear address of the instruction */
	u64 data2;
	u64 timestamp;
};

void lwp_record_encode(const struct lwp_record *rec, u8 out[LWP_RECORD_SIZE]);
void lwp_record_decode(const u8 in[LWP_RECORD_SIZE], struct lwp_record *rec);

#endif
