// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl explain: CPUID leaf 8000_001C and LWP_CFG, bit by bit. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "lwp_cpuid.h"
#include "lwpctl.h"

struct arguments {
	char **values;
	int nr;
	const struct lwp_rev *rev;
};

enum { OPTION_REV = 0x100 };

static const struct argp_option options[] = {
	{ "lwp-rev", OPTION_REV, "REV", 0, "43724 (default) or 2007", 0 },
	{ 0 },
};

/* What is taken together as a leaf. */
static const char *const leaf_registers[4] = { "eax", "ebx", "ecx", "edx" };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_REV:
		a->rev = lwp_rev_by_name(arg);
		if (!a->rev)
			bad_usage(state, "--lwp-rev is 43724 or 2007, not '%s'", arg);
		return 0;
	case ARGP_KEY_ARGS:
		a->values = state->argv + state->next;
		a->nr = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		bad_usage(state, "it needs values: EAX EBX ECX EDX, or REGISTER=VALUE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return end != text && !*end && !errno && *text != '-' && *value <= max;
}

static bool explain_one(const char *argument, const char *name, const char *value,
			const struct lwp_rev *rev, uint64_t *parsed)
{
	uint64_t max = strcmp(name, "cfg") ? UINT32_MAX : UINT64_MAX;

	if (!number(value, max, parsed))
		return refuse("'%s': expected a number of %d bits, as 0x80032013", argument,
			      max == UINT32_MAX ? 32 : 64);
	if (explain_register(name, *parsed, rev->id, stdout))
		return true;
	return refuse("'%s': expected eax=, ebx=, ecx=, edx= or cfg=", argument);
}

static void judge(const uint64_t value[4], u32 rev)
{
	struct lwp_leaf leaf = { (u32)value[0], (u32)value[1], (u32)value[2], (u32)value[3] };
	struct lwp_caps caps;

	puts(lwp_leaf_decode(&leaf, rev, &caps) ? "Together: an LWP that makes sense" :
						  "Together: no LWP, or one that makes no sense");
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "EAX EBX ECX EDX\nREGISTER=VALUE...",
		"Say what the bits of CPUID leaf 8000_001C mean, or of some of its registers, or of "
		"the MSR LWP_CFG (cfg)."
	};
	struct arguments a = { .rev = lwp_rev_get(LWP_REV_43724) };
	uint64_t value[4];

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (!strchr(a.values[0], '=')) {
		if (a.nr != 4)
			return misused(
				"expected four values, EAX EBX ECX EDX, or REGISTER=VALUE; got %d",
				a.nr);
		for (int i = 0; i < 4; i++)
			if (!explain_one(a.values[i], leaf_registers[i], a.values[i], a.rev,
					 &value[i]))
				return LWPCTL_USAGE;
		judge(value, a.rev->id);
		return LWPCTL_OK;
	}
	for (int i = 0; i < a.nr; i++) {
		char *equals = strchr(a.values[i], '='), *name;
		bool good;

		if (!equals)
			return misused("'%s': expected REGISTER=VALUE", a.values[i]);
		name = strndup(a.values[i], (size_t)(equals - a.values[i]));
		good = name && explain_one(a.values[i], name, equals + 1, a.rev, &value[0]);
		free(name);
		if (!good)
			return LWPCTL_USAGE;
	}
	return LWPCTL_OK;
}

const struct command cmd_explain = { "explain", run,
				     "say what the bits of CPUID leaf 8000_001C mean" };
