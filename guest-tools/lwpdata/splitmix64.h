/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A well-mixed number, the same for the same inputs. */
#ifndef LWPDATA_SPLITMIX64_H
#define LWPDATA_SPLITMIX64_H

#include <stdint.h>

static inline uint64_t splitmix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

#endif
