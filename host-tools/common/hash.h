/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashing for tables in memory. */
#ifndef LWPCTL_HASH_H
#define LWPCTL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Mixes one more number in (the finisher of splitmix64). */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) + 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
	hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
	return hash ^ hash >> 31;
}

/* FNV-1a. */
static inline uint64_t hash_bytes(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	return hash;
}

#endif
