/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a libvirt domain says of LWP: its <cpu> element and its <qemu:commandline>. */
#ifndef LWPCTL_DOMAIN_H
#define LWPCTL_DOMAIN_H

#include "settings.h"

struct domain {
	char *name;
	char *check; /* of <cpu>, or NULL */
	char *policy; /* of the feature lwp, or NULL */
	bool own_cpu; /* <qemu:commandline> has a -cpu, which takes the place of libvirt's */
	struct settings settings;
};

/*
 * Reads the domain XML in memory. Returns true; or false after one line that names @path, the line in it and what
 * was expected. Free the result in any case.
 */
bool domain_parse(struct domain *domain, const char *xml, size_t size, const char *path);
/* The same from the file @path. */
bool domain_load(struct domain *domain, const char *path);
void domain_free(struct domain *domain);

/* What who makes domains can do: each is the end of a warning, or of a reason. */
struct manager {
	const char *name;
	const char *require, *enforce, *check;
	const char *differs; /* from host to host */
};
/* The first is libvirt without any; the last has no name. */
extern const struct manager managers[];

/*
 * Warnings for the one who starts this domain with libvirt, one at a time: false when there are no more. @nr
 * counts from 0.
 */
bool domain_trap(const struct domain *domain, const struct manager *manager, unsigned int nr,
		 char trap[WHY_SIZE]);

#endif
