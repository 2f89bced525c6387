/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The LWP that several hosts have in common, and whether a guest runs the same on all of them. */
#ifndef LWPCTL_HOST_SET_H
#define LWPCTL_HOST_SET_H

#include "settings.h"

/* Revision and contexts of a baseline. */
struct wish {
	u32 rev;
	int context; /* index of the word */
};

/*
 * The LWP that each of @nr hosts can give, with every property said, so that no host's defaults matter: AND of the
 * features, minimum of event count and latency bits, maximum of the smallest ring (lwp_caps_intersect()); @caps
 * is the same as numbers. Returns false, with host and field in @why, if there is none.
 */
bool host_set_baseline(const struct hostcaps *hosts, size_t nr, const struct wish *wish,
		       struct settings *settings, struct lwp_caps *caps, char why[WHY_SIZE]);

/* Does a guest with these settings see the same LWP on each host? Else host and field are in @why. */
bool host_set_fits(const struct settings *settings, const struct hostcaps *hosts, size_t nr,
		   char why[WHY_SIZE]);

/*
 * The same of one host: does the guest see there what it sees on @first? @why does not name the host, so that hosts
 * have it in common; @advice is what to do where they differ in what is not said.
 */
bool host_set_fits_beside(const struct settings *settings, const struct hostcaps *first,
			  const struct hostcaps *host, const char *advice, char why[WHY_SIZE]);

#endif
