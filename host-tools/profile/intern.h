/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each string once: equal strings are the same pointer. */
#ifndef LWPCTL_INTERN_H
#define LWPCTL_INTERN_H

#include <stddef.h>

struct intern {
	char **table; /* open addressing, a power of two */
	size_t nr, size;
};

/* The one copy of `string`; it lives until intern_free(). */
const char *intern(struct intern *in, const char *string);

void intern_free(struct intern *in);

#endif
