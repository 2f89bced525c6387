/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lwpdata: offsets that writer and reader share. Numbers are written by lwp_put32() and its like of vmcb/. */
#ifndef LWPDATA_WIRE_H
#define LWPDATA_WIRE_H

#include <stdint.h>
#include <zlib.h>

#include "lwp_types.h"
#include "lwpdata.h"

/* Preamble: magic, then */
#define LWPDATA_PREAMBLE_MAJOR 8 /* u16 */
#define LWPDATA_PREAMBLE_MINOR 10 /* u16 */
#define LWPDATA_PREAMBLE_ZERO 12 /* u32 */

/* Section header */
#define LWPDATA_HEADER_TYPE 0 /* u32 */
#define LWPDATA_HEADER_CRC 4 /* u32: CRC-32 of type, size and payload */
#define LWPDATA_HEADER_SIZE 8 /* u64: bytes of payload, padding not included */

/* Zero bytes that follow a payload of `size` bytes. */
static inline unsigned int lwpdata_padding(uint64_t size)
{
	return (unsigned int)(-size & (LWPDATA_ALIGN - 1));
}

/* The beginning of a section's CRC: its header's type and size. */
static inline uint32_t lwpdata_header_crc(const uint8_t *header)
{
	uint32_t crc = (uint32_t)crc32_z(0, header + LWPDATA_HEADER_TYPE, sizeof(uint32_t));

	return (uint32_t)crc32_z(crc, header + LWPDATA_HEADER_SIZE, sizeof(uint64_t));
}

#endif
