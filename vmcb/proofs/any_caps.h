/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inputs of all properties: numbers of a leaf, and EAX. */
#ifndef ANY_CAPS_H
#define ANY_CAPS_H

#include "lwp_cb.h"
#include "prove.h"

/*
 * Any numbers that lwp_caps_valid() accepts. With -DREV and -DOFFSET: those of one revision and one
 * LwpEventOffset; property `splits` shows that a run for each of them is a run for all.
 */
static inline struct lwp_caps any_caps(void)
{
	ANY(struct lwp_caps, caps);

	assume(lwp_caps_valid(&caps));
#ifdef REV
	assume(caps.rev == REV && caps.event_offset == OFFSET);
	caps.rev = REV;
	caps.event_offset = OFFSET;
#endif
	return caps;
}

/* EAX of the leaf, with bit 0: any that these numbers allow. */
static inline u32 any_avail(const struct lwp_caps *caps)
{
	ANY(u32, avail);

	assume(!(avail & ~(caps->features | LWP_F_AVAIL)));
	return avail;
}

#endif
