/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What users name on the command line: files, or libvirt URIs. */
#ifndef LWPCTL_SOURCE_H
#define LWPCTL_SOURCE_H

#include <argp.h>

#include "domain.h"
#include "hostcaps.h"

/* Flags of an option that needs libvirt: it is not shown where lwpctl is built without. */
#ifdef HAVE_LIBVIRT
#define LIBVIRT_OPTION 0
#else
#define LIBVIRT_OPTION OPTION_HIDDEN
#endif

/* Which hosts there are, and how to ask a libvirt that is named by its URI. */
struct how {
	const char *emulator; /* NULL: libvirt's default */
	const char *accel;
	const char *hosts_from; /* a file with a host a line, "-" is standard input; or NULL */
	bool skip_without; /* leave hosts without LWP out */
};
/* Its options as children of a command's; the input is a struct how. The second: with those of hosts. */
extern const struct argp_child how_children[], hosts_children[];

/*
 * Of files ("-" is not standard input), directories, which stand for their files *.json, and libvirt URIs (with "://");
 * @names before those of @how. The result, @nr hosts, is the caller's to free. NULL after a line for each bad one.
 */
struct hostcaps *source_hosts(char *const names[], size_t *nr, const struct how *how);
void source_hosts_free(struct hostcaps *hosts, size_t nr);
/* A domain: FILE, or "URI#NAME" with a libvirt URI. */
bool source_domain(struct domain *domain, const char *from);

/* from_libvirt.c: the XML of a domain of a libvirt, the caller's to free, or NULL after one line. */
char *libvirt_domain_xml(const char *uri, const char *name);
/* The <cpu> elements' common CPU, the caller's to free, or NULL after one line. */
char *libvirt_baseline_cpu(const char *uri, const struct how *how, const char *const cpus[],
			   size_t nr);

#endif
