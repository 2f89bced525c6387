/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many hosts in few lines: groups of which the same is said. They are an object: what is said: { "count", "hosts" }. */
#ifndef LWPCTL_HOST_GROUPS_H
#define LWPCTL_HOST_GROUPS_H

#include "host_set.h"

/* Returns the group. */
json_object *host_groups_add(json_object *groups, const char *said, const struct hostcaps *host);
/* "5 hosts (a, b, c and 2 more)", to be freed. */
char *host_group_text(json_object *group);

#endif
