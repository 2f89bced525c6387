/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes checksums and the END section of a damaged data file right, so that what lies after them is reached. */
#ifndef LWPDATA_SIGN_H
#define LWPDATA_SIGN_H

#include <string.h>

#include "lwpdata_wire.h"

static inline void sign(uint8_t *section, uint64_t payload, uint32_t *chain)
{
	uint32_t crc = lwpdata_header_crc(section);
	uint8_t link[4];

	crc = (uint32_t)crc32_z(crc, section + LWPDATA_SECTION_HEADER_SIZE, payload);
	lwp_put32(section + LWPDATA_HEADER_CRC, crc);
	lwp_put32(link, crc);
	*chain = (uint32_t)crc32_z(*chain, link, sizeof(link));
}

/* What a writer would have made of these sections. */
static inline void make_right(uint8_t *file, size_t size)
{
	uint64_t at = LWPDATA_PREAMBLE_SIZE, sections = 0, records = 0;
	uint32_t chain = 0;

	while (at + LWPDATA_SECTION_HEADER_SIZE <= size) {
		uint8_t *section = file + at, *payload = section + LWPDATA_SECTION_HEADER_SIZE;
		uint64_t left = size - at - LWPDATA_SECTION_HEADER_SIZE;
		uint64_t length = lwp_get64(section + LWPDATA_HEADER_SIZE);

		if (length > left || lwpdata_padding(length) > left - length)
			return;
		memset(payload + length, 0, lwpdata_padding(length));
		if (lwp_get32(section) == LWPDATA_END && length == 24) {
			lwp_put64(payload, sections);
			lwp_put64(payload + 8, records);
			lwp_put32(payload + 16, chain);
		}
		if (lwp_get32(section) == LWPDATA_RECORDS && length >= 8)
			records += lwp_get32(payload + 4);
		sign(section, length, &chain);
		sections++;
		at += LWPDATA_SECTION_HEADER_SIZE + length + lwpdata_padding(length);
	}
}

#endif
