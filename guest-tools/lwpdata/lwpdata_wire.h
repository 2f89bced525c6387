/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lwpdata: offsets and little-endian access that writer and reader share. */
#ifndef LWPDATA_WIRE_H
#define LWPDATA_WIRE_H

#include <stdint.h>
#include <zlib.h>

#include "lwpdata.h"

/* Preamble: magic, then */
#define LWPDATA_PREAMBLE_MAJOR 8 /* u16 */
#define LWPDATA_PREAMBLE_MINOR 10 /* u16 */
#define LWPDATA_PREAMBLE_ZERO 12 /* u32 */

/* Section header */
#define LWPDATA_HEADER_TYPE 0 /* u32 */
#define LWPDATA_HEADER_CRC 4 /* u32: CRC-32 of type, size and payload */
#define LWPDATA_HEADER_SIZE 8 /* u64: bytes of payload, padding not included */

static inline uint16_t lwpdata_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t lwpdata_get32(const uint8_t *p)
{
	return (uint32_t)lwpdata_get16(p) | (uint32_t)lwpdata_get16(p + 2) << 16;
}

static inline uint64_t lwpdata_get64(const uint8_t *p)
{
	return (uint64_t)lwpdata_get32(p) | (uint64_t)lwpdata_get32(p + 4) << 32;
}

static inline void lwpdata_put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)value;
	p[1] = (uint8_t)(value >> 8);
}

static inline void lwpdata_put32(uint8_t *p, uint32_t value)
{
	lwpdata_put16(p, (uint16_t)value);
	lwpdata_put16(p + 2, (uint16_t)(value >> 16));
}

static inline void lwpdata_put64(uint8_t *p, uint64_t value)
{
	lwpdata_put32(p, (uint32_t)value);
	lwpdata_put32(p + 4, (uint32_t)(value >> 32));
}

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
