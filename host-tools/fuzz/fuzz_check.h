/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the targets share. */
#ifndef LWPCTL_FUZZ_CHECK_H
#define LWPCTL_FUZZ_CHECK_H

#include <stdint.h>
#include <stdlib.h>

#define CHECK(cond)              \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
