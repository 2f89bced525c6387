/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzz targets share: a check that ends the run, input bytes, a choice of numbers. */
#ifndef FUZZ_H
#define FUZZ_H

#include "lwp_cb.h"
#include "lwp_state.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define CHECK(cond)                                                                              \
	do {                                                                                     \
		if (!(cond)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
			abort();                                                                 \
		}                                                                                \
	} while (0)

struct fuzz_input {
	const u8 *data;
	size_t left;
};

/* The next len bytes of the input; zeros where it ends. */
static inline void fuzz_bytes(struct fuzz_input *in, void *to, size_t len)
{
	size_t n = len < in->left ? len : in->left;

	memset(to, 0, len);
	memcpy(to, in->data, n);
	in->data += n;
	in->left -= n;
}

static inline u8 fuzz_u8(struct fuzz_input *in)
{
	u8 v;

	fuzz_bytes(in, &v, 1);
	return v;
}

static inline u32 fuzz_u32(struct fuzz_input *in)
{
	u8 b[4];

	fuzz_bytes(in, b, 4);
	return lwp_get32(b);
}

static inline u64 fuzz_u64(struct fuzz_input *in)
{
	u8 b[8];

	fuzz_bytes(in, b, 8);
	return lwp_get64(b);
}

/* 0 full 43724, 1 family 15h, 2 2007, 3 full 43724 without cache misses. */
static inline void fuzz_caps(u8 choice, struct lwp_caps *caps)
{
	switch (choice % 4) {
	case 1:
		lwp_caps_profile(caps, LWP_PROFILE_FAM15H, LWP_REV_43724);
		break;
	case 2:
		lwp_caps_profile(caps, LWP_PROFILE_FULL, LWP_REV_2007);
		break;
	default:
		lwp_caps_profile(caps, LWP_PROFILE_FULL, LWP_REV_43724);
		if (choice % 4 == 3)
			caps->features &= ~LWP_F_DME;
	}
}

#endif
