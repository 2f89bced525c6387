// SPDX-License-Identifier: GPL-2.0-or-later
/* What users name on the command line. */
#include <stdlib.h>

#include "lwpctl.h"
#include "memory.h"
#include "printable.h"
#include "source.h"

enum { OPTION_ACCEL = 0x200, OPTION_EMULATOR };

static const struct argp_option how_options[] = {
	{ "accel", OPTION_ACCEL, "kvm|tcg", 0, "accelerator of QEMU's guests (default: tcg)", 0 },
	{ "emulator", OPTION_EMULATOR, "PROGRAM", LIBVIRT_OPTION,
	  "QEMU of libvirt (default: its choice)", 0 },
	{ 0 },
};

static error_t parse_how(int key, char *arg, struct argp_state *state)
{
	struct how *how = state->input;

	switch (key) {
	case OPTION_ACCEL:
		if (strcmp(arg, "kvm") && strcmp(arg, "tcg"))
			bad_usage(state, "--accel is kvm or tcg, not '%s'", arg);
		how->accel = arg;
		return 0;
	case OPTION_EMULATOR:
		how->emulator = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp how_argp = { .options = how_options, .parser = parse_how };
const struct argp_child how_children[] = { { &how_argp, 0, NULL, 0 }, { 0 } };

static bool source_host(struct hostcaps *host, const char *from, const struct how *how)
{
	if (strstr(from, "://"))
		return hostcaps_from_libvirt(host, from, how->emulator, how->accel);
	return hostcaps_load(host, from);
}

void source_hosts_free(struct hostcaps *hosts, size_t nr)
{
	for (size_t i = 0; hosts && i < nr; i++)
		hostcaps_free(&hosts[i]);
	free(hosts);
}

struct named {
	struct hostcaps *host;
	const char *from;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return strcmp(x->host->name, y->host->name);
}

/* Hosts of one name are told apart by where they were read from. */
static void label(struct hostcaps *hosts, char *const names[], size_t nr)
{
	struct named *list = must(calloc(nr + 1, sizeof(*list)));

	for (size_t i = 0; i < nr; i++)
		list[i] = (struct named){ &hosts[i], names[i] };
	qsort(list, nr, sizeof(*list), by_name);
	for (size_t i = 0; i < nr; i++) {
		bool alone = (!i || by_name(&list[i - 1], &list[i])) &&
			     (i + 1 == nr || by_name(&list[i], &list[i + 1]));
		char *from;

		if (alone)
			continue;
		from = printable_string(list[i].from);
		list[i].host->label = formatted("%s (%s)", list[i].host->name, from);
		free(from);
	}
	free(list);
}

struct hostcaps *source_hosts(char *const names[], size_t nr, const struct how *how)
{
	struct hostcaps *hosts = must(calloc(nr, sizeof(*hosts)));

	for (size_t i = 0; i < nr; i++) {
		if (source_host(&hosts[i], names[i], how))
			continue;
		source_hosts_free(hosts, nr);
		return NULL;
	}
	label(hosts, names, nr);
	return hosts;
}

bool source_domain(struct domain *domain, const char *from)
{
	const char *hash = strstr(from, "://") ? strrchr(from, '#') : NULL;
	char *uri, *xml;
	bool good;

	if (!hash)
		return domain_load(domain, from);
	memset(domain, 0, sizeof(*domain));
	uri = copy_string(from, (size_t)(hash - from));
	xml = libvirt_domain_xml(uri, hash + 1);
	good = xml && domain_parse(domain, xml, strlen(xml), from);
	free(xml);
	free(uri);
	return good;
}
