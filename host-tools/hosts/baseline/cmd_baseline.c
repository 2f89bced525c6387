// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl baseline: the LWP that all hosts of a pool can give. */
#include <argp.h>
#include <stdlib.h>

#include "baseline_out.h"
#include "lwpctl.h"
#include "memory.h"
#include "output.h"
#include "host_groups.h"
#include "json_out.h"
#include "source.h"

enum format { FORMAT_CPU, FORMAT_LIBVIRT, FORMAT_HOST, FORMAT_JSON };

struct arguments {
	struct host_list how;
	char **names;
	size_t nr;
	struct wish wish;
	enum format format;
	const char *model, *qemu;
	bool groups, summary;
};

enum { OPTION_REV = 0x100, OPTION_CONTEXT, OPTION_QEMU, OPTION_GROUPS, OPTION_SUMMARY };

/* What QEMU and libvirt call models by. */
#define MODEL_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

static const struct argp_option options[] = {
	{ "format", 'f', "FORMAT", 0,
	  "cpu (default): the argument of QEMU's -cpu; libvirt: <cpu> and <qemu:commandline>; "
	  "host: /etc/vlwp/host.conf; json",
	  0 },
	{ "model", 'm', "MODEL", 0, "CPU model of the output (default: EPYC)", 0 },
	{ "qemu", OPTION_QEMU, "PROGRAM", 0, "ask this QEMU whether it has the model", 0 },
	{ "lwp-rev", OPTION_REV, "REV", 0, "43724 (default) or 2007", 0 },
	{ "lwp-context", OPTION_CONTEXT, "KIND", 0, "auto (default) or os", 0 },
	{ "groups", OPTION_GROUPS, NULL, 0, "say, too, what there is to gain without which hosts",
	  0 },
	{ "summary", OPTION_SUMMARY, NULL, 0, "say instead how many hosts offer what", 0 },
	{ "json", 'j', NULL, 0, "the same as --format=json", 0 },
	{ 0 },
};

static enum format format_of(const char *word, struct argp_state *state)
{
	static const char *const words[] = { "cpu", "libvirt", "host", "json" };

	for (enum format f = FORMAT_CPU; f <= FORMAT_JSON; f++)
		if (!strcmp(word, words[f]))
			return f;
	bad_usage(state, "--format is cpu, libvirt, host or json, not '%s'", word);
	return FORMAT_CPU;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	const struct lwp_rev *rev;

	switch (key) {
	case 'j':
		a->format = FORMAT_JSON;
		return 0;
	case OPTION_GROUPS:
		a->groups = true;
		return 0;
	case OPTION_SUMMARY:
		a->summary = true;
		return 0;
	case 'f':
		a->format = format_of(arg, state);
		return 0;
	case 'm':
		if (!*arg || arg[strspn(arg, MODEL_CHARACTERS)])
			bad_usage(state, "'%s' is not the name of a CPU model", arg);
		a->model = arg;
		return 0;
	case OPTION_QEMU:
		a->qemu = arg;
		return 0;
	case OPTION_REV:
		rev = lwp_rev_by_name(arg);
		if (!rev)
			bad_usage(state, "--lwp-rev is 43724 or 2007, not '%s'", arg);
		else
			a->wish.rev = rev->id;
		return 0;
	case OPTION_CONTEXT:
		a->wish.context = word_index(context_words, arg);
		if (a->wish.context < 0)
			bad_usage(state, "--lwp-context is auto or os, not '%s'", arg);
		return 0;
	case ARGP_KEY_ARGS:
		a->names = state->argv + state->next;
		a->nr = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		if (!a->nr && !a->how.hosts_from)
			bad_usage(state, "it needs the hosts: files of `lwpctl caps --json'");
		if ((a->groups || a->summary) &&
		    (a->format == FORMAT_LIBVIRT || a->format == FORMAT_HOST))
			bad_usage(state, "--groups and --summary are text or JSON");
		return 0;
	default:
		return other_key(key, state);
	}
}

static void print(const struct arguments *a, const struct hostcaps *hosts, const struct settings *s)
{
	char *text;

	if (a->format == FORMAT_HOST) {
		baseline_host(s, hosts, a->nr, stdout);
	} else if (a->format == FORMAT_LIBVIRT) {
		baseline_libvirt(s, a->model, stdout);
	} else {
		text = baseline_words(s, a->model);
		puts(text);
		free(text);
	}
}

/* By what a pool of this host alone would have. */
static bool summarize(const struct arguments *a, const struct hostcaps *hosts)
{
	json_object *kinds = json_new(), *root;
	struct settings settings;
	struct lwp_caps caps;
	char why[WHY_SIZE];

	for (size_t i = 0; i < a->nr; i++) {
		bool good = host_set_baseline(&hosts[i], 1, &a->wish, &settings, &caps, why);
		char *words = good ? baseline_words(&settings, a->model) : NULL;

		host_groups_add(kinds, words ?: hosts[i].reason ?: "no such LWP", &hosts[i]);
		free(words);
	}
	if (a->format != FORMAT_JSON) {
		host_groups_print(kinds, "");
		return true;
	}
	root = json_new();
	json_add(root, "lwp_summary", 1u);
	json_add(root, "kinds", kinds);
	put_json(root);
	return true;
}

static bool tell(const struct arguments *a, const struct hostcaps *hosts)
{
	json_object *losses = a->groups ? host_groups_losses(hosts, a->nr, &a->wish) : NULL, *root;
	struct settings settings;
	struct lwp_caps caps;
	char why[WHY_SIZE];
	bool good = host_set_baseline(hosts, a->nr, &a->wish, &settings, &caps, why);

	if (!good)
		complain("%s", why);
	else if (a->format != FORMAT_JSON)
		print(a, hosts, &settings);
	if (a->format != FORMAT_JSON) {
		if (losses)
			host_groups_print(losses, "without ");
	} else if (good || losses) {
		root = good ? baseline_json(&settings, &caps, a->model, hosts, a->nr) : json_new();
		if (losses)
			json_add(root, "groups", losses);
		put_json(root);
	}
	return good;
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "HOST...",
		"Print the LWP that all hosts can give: AND of the features, minimum of the "
		"events, largest smallest ring.\vHOST is a file that `lwpctl caps --json' wrote, or a "
		"directory of such files *.json.",
		hosts_children
	};
	struct arguments a = { .model = "EPYC" };
	struct hostcaps *hosts;
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.qemu && !qemu_has_model(a.qemu, a.model))
		return LWPCTL_FAILED;
	hosts = source_hosts(a.names, &a.nr, &a.how);
	good = hosts && (a.summary ? summarize(&a, hosts) : tell(&a, hosts));
	source_hosts_free(hosts, a.nr);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_baseline = { "baseline", run,
				      "print the LWP that all hosts of a pool can give" };
