// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl caps: what LWP a host can give its guests. */
#include <argp.h>

#include "lwpctl.h"
#include "output.h"
#include "source.h"

struct arguments {
	const char *qemu, *uri;
	struct how how;
	bool json;
};

enum { OPTION_QEMU = 0x100 };

static const struct argp_option options[] = {
	{ "qemu", OPTION_QEMU, "PROGRAM", 0, "ask this QEMU instead of /dev/kvm", 0 },
	{ "connect", 'c', "URI", LIBVIRT_OPTION, "ask this libvirt instead", 0 },
	{ "json", 'j', NULL, 0, "JSON, as baseline and check read it", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->how;
		return 0;
	case OPTION_QEMU:
		a->qemu = arg;
		return 0;
	case 'c':
		a->uri = arg;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case ARGP_KEY_ARG:
		bad_usage(state, "it takes no argument, got '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		if (a->qemu && a->uri)
			bad_usage(state, "--qemu or --connect, not both");
		if (a->how.accel && !a->qemu && !a->uri)
			bad_usage(state, "--accel goes with --qemu or --connect");
		if (a->how.emulator && !a->uri)
			bad_usage(state, "--emulator goes with --connect");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool ask(const struct arguments *a, struct hostcaps *host)
{
	const char *accel = a->how.accel ?: "tcg";

	if (a->qemu)
		return hostcaps_from_qemu(host, a->qemu, accel);
	if (a->uri)
		return hostcaps_from_libvirt(host, a->uri, a->how.emulator, accel);
	return hostcaps_from_kvm(host, "/dev/kvm");
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, NULL,
		"Say what LWP this host, or another one, can give its guests.\vWithout options: "
		"KVM of this host, as /dev/kvm announces it.",
		how_children
	};
	struct arguments a = { 0 };
	struct hostcaps host;
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	good = ask(&a, &host);
	if (good && a.json)
		put_json(hostcaps_to_json(&host));
	else if (good)
		hostcaps_print(&host, stdout);
	hostcaps_free(&host);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_caps = { "caps", run, "say what LWP a host can give its guests" };
