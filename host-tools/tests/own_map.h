/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an address of this program lies: what /proc/self/maps says. */
#ifndef LWPCTL_OWN_MAP_H
#define LWPCTL_OWN_MAP_H

#include "lwpdata.h"

/* The mapping of `address` and the path of its file. False: it is in none. */
bool own_map(const void *address, struct lwpdata_map *map, char path[4096]);

#endif
