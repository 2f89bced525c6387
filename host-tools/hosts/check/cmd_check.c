// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl check: does a libvirt domain see the same LWP on each of these hosts? */
#include <argp.h>
#include <stdlib.h>

#include "domain.h"
#include "host_groups.h"
#include "json_out.h"
#include "lwpctl.h"
#include "output.h"
#include "printable.h"
#include "source.h"

struct arguments {
	struct host_list how;
	const char *domain;
	char **names;
	size_t nr;
	const struct manager *manager;
	bool summary, json;
};

enum { OPTION_MANAGER = 0x100, OPTION_SUMMARY };

static const struct argp_option options[] = {
	{ "manager", OPTION_MANAGER, "NAME", 0, "advise what this can do: libvirt (default), nova",
	  0 },
	{ "summary", OPTION_SUMMARY, NULL, 0, "a line for each reason, not for each host", 0 },
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_MANAGER:
		for (a->manager = managers; a->manager->name; a->manager++)
			if (!strcmp(a->manager->name, arg))
				return 0;
		bad_usage(state, "--manager is libvirt or nova, not '%s'", arg);
		return 0;
	case OPTION_SUMMARY:
		a->summary = true;
		return 0;
	case 'j':
		a->json = true;
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
		return other_key(key, state);
	}
}

static void say_json(const char *domain, bool good, json_object *yes, json_object *no)
{
	json_object *root = json_new();

	json_add(root, "lwp_check", 1u);
	json_add(root, "domain", domain);
	json_add(root, "verdict", good ? "yes" : "no");
	json_add(root, "yes", yes);
	json_add(root, "no", no);
	put_json(root);
}

static bool judge(const struct arguments *a, const struct domain *domain,
		  const struct hostcaps *hosts)
{
	char *name = printable_string(domain->name), why[WHY_SIZE];
	json_object *yes = json_new(), *no = json_new();
	bool good = true;

	for (unsigned int i = 0; domain_trap(domain, a->manager, i, why); i++)
		complain("%s: warning: %s", a->domain, why);
	for (size_t i = 0; i < a->nr; i++) {
		bool fits = host_set_fits_beside(&domain->settings, &hosts[0], &hosts[i],
						 a->manager->differs, why);

		good &= fits;
		if (fits)
			snprintf(why, sizeof(why), "%.300s has %s LWP", name,
				 domain->settings.lwp ? "the same" : "no");
		if (fits || a->summary || a->json)
			host_groups_add(fits ? yes : no, why, &hosts[i]);
		else
			printf("no: %s: %s\n", hostcaps_label(&hosts[i]), why);
	}
	if (a->json) {
		say_json(name, good, yes, no);
	} else {
		host_groups_print(good ? yes : no, good ? "yes: " : "no: ");
		json_object_put(good ? no : yes);
	}
	free(name);
	return good;
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "DOMAIN HOST...",
		"Say whether a libvirt domain sees the same LWP on each host, and can so be "
		"migrated between them; if not, which host and why.\vDOMAIN is "
		"an XML file, as of virsh dumpxml. HOST is a file that `lwpctl caps --json' wrote, or "
		"a directory of such files *.json. What is likely to surprise is said as a warning. "
		"Exit status: 0 yes, 1 no.",
		hosts_children
	};
	struct arguments a = { .manager = managers };
	struct hostcaps *hosts = NULL;
	struct domain domain;
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	good = domain_load(&domain, a.domain);
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
