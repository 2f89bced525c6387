/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What LWP a host can give its guests, in each revision: in memory, as JSON, as text. */
#ifndef LWPCTL_HOSTCAPS_H
#define LWPCTL_HOSTCAPS_H

#include <json-c/json.h>
#include <stdio.h>

#include "vocabulary.h"

/* Why something is refused, for one line. */
#define WHY_SIZE 512
/* Says why, and is false. */
#define no(why, ...) (snprintf(why, WHY_SIZE, __VA_ARGS__), false)

struct host_rev {
	bool offered; /* else the rest is nothing */
	bool vmcb; /* lwp-vmcb=on is possible */
	u8 contexts; /* bit n: context_words[n] */
	u8 deliveries; /* bit n: delivery_words[n] */
	struct lwp_caps caps; /* with everything switched on, but without LWP_ECX_VMCB_AREA */
};

/* What guests get that say no more than lwp=on. Of a host that QEMU was not asked for: QEMU's own defaults, no name. */
struct host_open {
	char *name; /* the class: hosts of one class take each other's guests of this kind; NULL: there are none */
	u32 rev, max_events;
	int context, delivery; /* index of the word */
};

struct hostcaps {
	char *name; /* of the host */
	char *label; /* for messages: where two have one name, with their files; NULL: the name */
	char *source; /* who said so */
	char *reason; /* why it has no LWP, or NULL */
	struct host_rev rev[LWP_REVS];
	struct host_open open;
};

/* What messages call it. */
const char *hostcaps_label(const struct hostcaps *host);

/* Has it LWP of any revision? */
bool hostcaps_any(const struct hostcaps *host);
void hostcaps_free(struct hostcaps *host);

/*
 * Reads what hostcaps_to_json() wrote. Returns true; or false after one line that names @path, the line or the place in
 * the JSON, and what was expected there. The numbers are consistent (lwp_caps_valid()). Free the result in any case.
 */
bool hostcaps_load(struct hostcaps *host, const char *path);
/* The same from memory; @path is for messages. */
bool hostcaps_parse(struct hostcaps *host, const char *text, size_t size, const char *path);

/* A file of less than this size as a string, to be freed; NULL after one line. */
char *read_text(const char *path, size_t mib, size_t *size);

/* To be released by the caller. */
json_object *hostcaps_to_json(const struct hostcaps *host);
/* For people. */
void hostcaps_print(const struct hostcaps *host, FILE *to);

/* Where it comes from. All return true, or false after one line. A host without LWP is no failure. */
/* KVM of this machine, through the device file @path. */
bool hostcaps_from_kvm(struct hostcaps *host, const char *path);
/* A QEMU program, started with accelerator @accel ("kvm", "tcg") for a moment. */
bool hostcaps_from_qemu(struct hostcaps *host, const char *program, const char *accel);

/* Does a QEMU have a CPU model of this name? False after one line. */
bool qemu_has_model(const char *program, const char *name);

#endif
