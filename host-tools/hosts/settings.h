/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest's configuration says of LWP: QEMU's CPU properties (docs/cpu.md), set or left open, and
 * what a host makes of them.
 */
#ifndef LWPCTL_SETTINGS_H
#define LWPCTL_SETTINGS_H

#include "hostcaps.h"

#define NOT_SAID (-1)
/* Characters of a line of /etc/vlwp/host.conf, in which QEMU finds settings, one a line. */
#define HOST_FILE_LINE 255

struct settings {
	bool lwp; /* the guest has LWP; the rest matters only then */
	int rev; /* LWP_REV_* or NOT_SAID */
	int context, delivery, profile; /* index of the word, or NOT_SAID */
	int vmcb; /* 0, 1 or NOT_SAID */
	int max_events, min_buffer, latency_max, latency_rnd; /* or NOT_SAID */
	u32 on, off; /* settings_flag() of the features that are switched */
	int enforce; /* 0, 1 or NOT_SAID */
};

/* A feature in settings.on and settings.off: its flag in 43724, where every feature has one. */
static inline u32 settings_flag(const struct lwp_feature *feature)
{
	return lwp_feature_flag(feature, LWP_REV_43724);
}

/* Nothing is said. */
void settings_init(struct settings *s);

enum setting_verdict {
	SETTING_OK,
	SETTING_NOT_OURS, /* no property that matters here */
	SETTING_BAD, /* why says what was expected */
};
/* One property; a later one wins. @value NULL: the name alone, which means on. */
enum setting_verdict settings_set(struct settings *s, const char *name, const char *value,
				  char why[WHY_SIZE]);
/* "NAME=VALUE" as in "+lwp" or "lwp=on"; a CPU model has none of these. */
enum setting_verdict settings_set_word(struct settings *s, const char *word, char why[WHY_SIZE]);

/*
 * The LWP of a guest with these settings on @host, which QEMU computes in the same way. Returns false,
 * with the property and what the two sides say in @why, when the host cannot give it.
 */
bool settings_apply(const struct settings *s, const struct hostcaps *host, struct lwp_caps *caps,
		    char why[WHY_SIZE]);

/* A block that has its slots and nothing else shrinks with their number, as QEMU makes it. False: it has more. */
bool caps_shrink(struct lwp_caps *caps, u32 max_events);

/* In what two guests' LWPs differ, as "NAME: ..." with @a_name and @b_name for the sides; false: in nothing. */
bool caps_differ(const struct lwp_caps *a, const char *a_name, const struct lwp_caps *b,
		 const char *b_name, char why[WHY_SIZE]);

/* Each property that is said, in a fixed order, but "lwp". */
void settings_each(const struct settings *s,
		   void (*tell)(void *opaque, const char *name, const char *value), void *opaque);
/* The same as an object of names and values, with "lwp". */
json_object *settings_json(const struct settings *s);

#endif
