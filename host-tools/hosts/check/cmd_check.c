// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl check: does a libvirt domain see the same LWP on each of these hosts? */
#include <argp.h>
#include <stdlib.h>

#include "lwpctl.h"
#include "printable.h"
#include "host_set.h"
#include "source.h"

struct arguments {
	const char *domain;
	char **names;
	size_t nr;
	const struct manager *manager;
	struct how how;
};

enum { OPTION_MANAGER = 0x100 };

static const struct argp_option options[] = {
	{ "manager", OPTION_MANAGER, "NAME", 0, "advise what this can do: libvirt (default), nova",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &a->how;
		return 0;
	case OPTION_MANAGER:
		for (a->manager = managers; a->manager->name; a->manager++)
			if (!strcmp(a->manager->name, arg))
				return 0;
		bad_usage(state, "--manager is libvirt or nova, not '%s'", arg);
		return 0;
	case ARGP_KEY_ARGS:
		a->domain = state->argv[state->next];
		a->names = state->argv + state->next + 1;
		a->nr = (size_t)(state->argc - state->next - 1);
		return 0;
	case ARGP_KEY_END:
		if (!a->domain || (!a->nr && !a->how.hosts_from))
			bad_usage(state, "it needs a domain and one host or more");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool say(const struct arguments *a, const struct domain *domain,
		const struct hostcaps *hosts, const char *name)
{
	char why[WHY_SIZE];
	bool good = true;

	for (unsigned int i = 0; domain_trap(domain, a->manager, i, why); i++)
		complain("%s: warning: %s", a->domain, why);
	if (!domain->settings.lwp) {
		printf("yes: %s has no LWP\n", name);
		return true;
	}
	/* All hosts that fail, a line each. */
	for (size_t i = 0; i < a->nr; i++)
		if (!host_set_fits_beside(&domain->settings, &hosts[0], &hosts[i],
					  a->manager->differs, why)) {
			printf("no: %s: %s\n", hostcaps_label(&hosts[i]), why);
			good = false;
		}
	if (!good)
		return false;
	printf("yes: %s has the same LWP on", name);
	for (size_t i = 0; i < a->nr; i++)
		printf("%s %s", i ? "," : "", hostcaps_label(&hosts[i]));
	putchar('\n');
	return true;
}

static bool judge(const struct arguments *a, const struct domain *domain,
		  const struct hostcaps *hosts)
{
	char *name = printable_string(domain->name);
	bool good = say(a, domain, hosts, name);

	free(name);
	return good;
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "DOMAIN HOST...",
		"Say whether a libvirt domain sees the same LWP on each host, and can so be "
		"migrated between them; if not, which host and why.\vDOMAIN is "
		"an XML file, or URI#NAME of a libvirt's domain. HOST is a file that "
		"`lwpctl caps --json' wrote, a directory of such files *.json, or the URI of a "
		"libvirt. What is likely to surprise is said as a warning. Exit status: 0 yes, 1 no.",
		hosts_children
	};
	struct arguments a = { .manager = managers };
	struct hostcaps *hosts = NULL;
	struct domain domain;
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	good = source_domain(&domain, a.domain);
	if (good) {
		hosts = source_hosts(a.names, &a.nr, &a.how);
		good = hosts && judge(&a, &domain, hosts);
	}
	source_hosts_free(hosts, a.nr);
	domain_free(&domain);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_check = { "check", run,
				   "say whether a domain sees the same LWP on each host" };
