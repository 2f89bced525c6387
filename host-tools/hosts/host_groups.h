/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many hosts in few lines: groups of which the same is said. They are an object: what is said: { "count", "hosts" }. */
#ifndef LWPCTL_HOST_GROUPS_H
#define LWPCTL_HOST_GROUPS_H

#include "host_set.h"

/* Returns the group. */
json_object *host_groups_add(json_object *groups, const char *said, const struct hostcaps *host);
/* "5 hosts (a, b, c and 2 more)", to be freed. */
char *host_group_text(json_object *group);
/* A line for each; releases them. */
void host_groups_print(json_object *groups, const char *before);

/*
 * What a pool loses by whom. The hosts that alone have of a property what the whole pool has are the smallest set
 * without which it could have more. What is said of them is what the rest has in place of it, in all properties. Fewest
 * hosts first. A pool without a baseline has lwp=off.
 */
json_object *host_groups_losses(const struct hostcaps *hosts, size_t nr, const struct wish *wish);

#endif
