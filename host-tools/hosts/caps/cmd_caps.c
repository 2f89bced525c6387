// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl caps: what LWP a host can give its guests. */
#include <argp.h>
#include <ctype.h>

#include "lwpctl.h"
#include "output.h"
#include "hostcaps.h"

/* ---- Formats -------------------------------------------------------------------------------- */

static void print_text(const struct hostcaps *host)
{
	hostcaps_print(host, stdout);
}

static void print_json(const struct hostcaps *host)
{
	put_json(hostcaps_to_json(host));
}

static void print_class(const struct hostcaps *host)
{
	puts(host->open.name);
}

/* A provider.yaml of OpenStack's Nova. A trait has capital letters, digits and underscores. */
static void print_nova(const struct hostcaps *host)
{
	printf("meta:\n  schema_version: '1.0'\n"
	       "providers:\n  - identification:\n      uuid: $COMPUTE_NODE\n"
	       "    traits:\n      additional:\n        - CUSTOM_LWP\n"
	       "        - CUSTOM_LWP_EVENTS_%u\n        - CUSTOM_LWP_CLASS_",
	       host->open.max_events);
	for (const char *c = host->open.name; *c; c++)
		putchar(*c == '-' ? '_' : toupper(*c));
	putchar('\n');
}

/* Ganeti's tags of a node: the cluster's tag htools:migration:lwp keeps instances on nodes of one. */
static void print_tags(const struct hostcaps *host)
{
	printf("lwp:%s\n", host->open.name);
}

/* The file of node-feature-discovery's folder features.d. */
static void print_nfd(const struct hostcaps *host)
{
#define LABEL "feature.node.kubernetes.io/lwp"
	printf(LABEL "=true\n" LABEL ".max-events=%u\n" LABEL ".class=%s\n", host->open.max_events,
	       host->open.name);
}

/* For the textfile collector of Prometheus' node_exporter. */
static void print_prometheus(const struct hostcaps *host)
{
#define METRIC                                                                                \
	"# HELP lwp_host_info LWP of guests that say no more than lwp=on, 0: there is none\n" \
	"# TYPE lwp_host_info gauge\n"                                                        \
	"lwp_host_info"
	printf(METRIC "{class=\"%s\",max_events=\"%u\"} 1\n", host->open.name,
	       host->open.max_events);
}

/* The default first. */
static const struct format {
	const char *name;
	void (*print)(const struct hostcaps *host);
	const char *without; /* the text of a host without a class; NULL: print() needs none */
} formats[] = {
	{ "text", print_text },
	{ "json", print_json },
	{ "class", print_class, "" },
	{ "nova", print_nova, "meta:\n  schema_version: '1.0'\nproviders: []\n" },
	{ "tags", print_tags, "" },
	{ "nfd", print_nfd, "" },
	{ "prometheus", print_prometheus, METRIC " 0\n" },
};

static const struct format *format_of(const char *name, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	bad_usage(state, "no format '%s'; `lwpctl caps --help' names them", name);
	return formats;
}

static bool print(const struct format *format, const struct hostcaps *host)
{
	if (!format->without || host->open.name) {
		format->print(host);
		return true;
	}
	fputs(format->without, stdout);
	return format->print != print_class ||
	       refuse("%s: a guest with lwp=on gets no LWP here, and there is no class",
		      host->name);
}

/* ---- Command line --------------------------------------------------------------------------- */

struct arguments {
	const char *qemu, *accel;
	const struct format *format;
};

enum { OPTION_QEMU = 0x100, OPTION_ACCEL, OPTION_CLASS };

static const struct argp_option options[] = {
	{ "qemu", OPTION_QEMU, "PROGRAM", 0, "ask this QEMU instead of /dev/kvm", 0 },
	{ "accel", OPTION_ACCEL, "kvm|tcg", 0, "accelerator of its guests (default: tcg)", 0 },
	{ "class", OPTION_CLASS, NULL, 0,
	  "the class alone: hosts of one class take each other's guests that say lwp=on", 0 },
	{ "format", 'f', "FORMAT", 0, "text (default), json, class, nova, tags, nfd, prometheus",
	  0 },
	{ "json", 'j', NULL, 0, "JSON, as baseline and check read it", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_QEMU:
		a->qemu = arg;
		return 0;
	case OPTION_ACCEL:
		if (strcmp(arg, "kvm") && strcmp(arg, "tcg"))
			bad_usage(state, "--accel is kvm or tcg, not '%s'", arg);
		a->accel = arg;
		return 0;
	case 'f':
		a->format = format_of(arg, state);
		return 0;
	case OPTION_CLASS:
		a->format = format_of("class", state);
		return 0;
	case 'j':
		a->format = format_of("json", state);
		return 0;
	case ARGP_KEY_ARG:
		bad_usage(state, "it takes no argument, got '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		if (a->accel && !a->qemu)
			bad_usage(state, "--accel goes with --qemu");
		if (a->format->without && !a->qemu)
			bad_usage(state, "the class, and --format=%s, need --qemu",
				  a->format->name);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool ask(const struct arguments *a, struct hostcaps *host)
{
	if (a->qemu)
		return hostcaps_from_qemu(host, a->qemu, a->accel ?: "tcg");
	return hostcaps_from_kvm(host, "/dev/kvm");
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"Say what LWP this host can give its guests.\vWithout options: KVM of this host, as "
		"/dev/kvm announces it.",
	};
	struct arguments a = { .format = formats };
	struct hostcaps host;
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	good = ask(&a, &host) && print(a.format, &host);
	hostcaps_free(&host);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_caps = { "caps", run, "say what LWP a host can give its guests" };
