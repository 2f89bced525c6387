/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hosts that users name on the command line. */
#ifndef LWPCTL_SOURCE_H
#define LWPCTL_SOURCE_H

#include <argp.h>

#include "hostcaps.h"

/* Which hosts there are besides those that are named, and which of them count. */
struct host_list {
	const char *hosts_from; /* a file with a host a line, "-" is standard input; or NULL */
	bool skip_without; /* leave hosts without LWP out */
};
/* Its options, as children of a command's; the input is a struct host_list. */
extern const struct argp_child hosts_children[];

/*
 * Of files ("-" is not standard input) and directories, which stand for their files *.json; @names before those of
 * @how. The result, @nr hosts, is the caller's to free. NULL after a line for each bad one.
 */
struct hostcaps *source_hosts(char *const names[], size_t *nr, const struct host_list *how);
void source_hosts_free(struct hostcaps *hosts, size_t nr);

#endif
