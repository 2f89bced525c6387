/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lwpctl export writes, in each of its formats (formats.h). */
#ifndef LWPCTL_EXPORT_H
#define LWPCTL_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "view.h"

struct export
{
	FILE *out;
	const char *output; /* its name, NULL: the standard output */
	struct view *view;
	const struct view_options *options;
	uint32_t event_id; /* the one event of formats that have room for one */
};

/* Each returns false after one line. */
#define EXPORT_FORMAT(name, text) bool export_##name(struct export *e);
#include "formats.h"

#endif
