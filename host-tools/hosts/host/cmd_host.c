// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwpctl host: checks a file with a host's defaults by the rules of QEMU (qemu-patches/lwp/lwp-host.c), and installs it,
 * so that QEMU has it at its next start, and libvirt sees it.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lwpctl.h"
#include "memory.h"
#include "settings.h"

#define HOST_FILE_MAX (64 * 1024)
#define EMULATOR "/usr/lib/vlwp/bin/qemu-system-x86_64"

struct arguments {
	const char *file, *root, *emulator;
	bool check;
};

enum { OPTION_CHECK = 0x100, OPTION_EMULATOR, OPTION_ROOT };

static const struct argp_option options[] = {
	{ "check", OPTION_CHECK, NULL, 0, "only check it", 0 },
	{ "emulator", OPTION_EMULATOR, "PROGRAM", 0,
	  "QEMU as libvirt knows it (default: " EMULATOR ")", 0 },
	{ "root", OPTION_ROOT, "DIR", 0, "install it below this folder", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_CHECK:
		a->check = true;
		return 0;
	case OPTION_EMULATOR:
		a->emulator = arg;
		return 0;
	case OPTION_ROOT:
		a->root = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			bad_usage(state, "it takes one file, got '%s' too", arg);
		a->file = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		bad_usage(state, "it needs a file, as of `lwpctl baseline --format=host'");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- The rules ------------------------------------------------------------------------------ */

static bool set(struct settings *s, const char *name, const char *value, char why[WHY_SIZE])
{
	enum setting_verdict verdict = SETTING_NOT_OURS;

	if (!strcmp(name, "announce"))
		return !strcmp(value, "on") || !strcmp(value, "off") ||
		       no(why, "announce: expected 'on' or 'off', got '%s'", value);
	if (!strncmp(name, "lwp-", 4) && strcmp(name, "lwp-vmcb") != 0)
		verdict = settings_set(s, name, value, why);
	if (verdict == SETTING_NOT_OURS)
		return no(why, "%s is not a name for this file", name);
	return verdict == SETTING_OK;
}

static bool said_before(const char *text, const char *line, const char *name)
{
	size_t length = strlen(name);

	for (; text < line; text = strchr(text, '\n') + 1)
		if (!strncmp(text, name, length) && text[length] == '=')
			return true;
	return false;
}

static bool read_line(struct settings *s, const char *text, const char *line, size_t length,
		      char why[WHY_SIZE])
{
	char name[HOST_FILE_LINE + 1], *value;

	if (length > HOST_FILE_LINE)
		return no(why, "has more than %d characters", HOST_FILE_LINE);
	if (!length || *line == '#')
		return true;
	memcpy(name, line, length);
	name[length] = '\0';
	for (const char *c = name; *c; c++)
		if (*c < ' ' || *c > '~')
			return no(why, "has a byte %02xh, which is no plain text", (u8)*c);
	value = strchr(name, '=');
	if (!value)
		return no(why, "wants NAME=VALUE, not '%s'", name);
	*value++ = '\0';
	if (said_before(text, line, name))
		return no(why, "%s is set twice", name);
	return set(s, name, value, why);
}

/* Can any host give it? */
static bool can_be_had(const struct settings *s, char why[WHY_SIZE])
{
	struct hostcaps all = { 0 };
	char what[WHY_SIZE];
	struct lwp_caps caps;

	for (u32 id = 0; id < LWP_REVS; id++) {
		struct host_rev *rev = &all.rev[id];

		*rev = (struct host_rev){ .offered = true, .contexts = 3, .deliveries = 3 };
		lwp_caps_profile(&rev->caps, LWP_PROFILE_FULL, id);
		rev->caps.min_buffer = 0;
		rev->caps.latency_max = (u8)lwp_field_get(LWP_ECX_LATENCY_MAX, ~0u);
	}
	if (!settings_apply(s, &all, &caps, what))
		return no(why, "no host has all of it: %.400s", what);
	return caps.latency_max || !lwp_caps_has(&caps, LWP_KIND_DME) ||
	       no(why, "lwp-dme=on needs lwp-latency-max=10 to 31");
}

static bool is_good(const char *text, size_t size, char why[WHY_SIZE])
{
	const char *line = text, *end;
	char what[WHY_SIZE];
	struct settings s;

	settings_init(&s);
	if (size > HOST_FILE_MAX)
		return no(why, "has more than %d bytes", HOST_FILE_MAX);
	if (memchr(text, '\0', size))
		return no(why, "has bytes that are zero: it is no text");
	for (unsigned int nr = 1; line < text + size; line = end + 1, nr++) {
		end = strchrnul(line, '\n');
		if (!read_line(&s, text, line, (size_t)(end - line), what))
			return no(why, "line %u: %.480s", nr, what);
	}
	return can_be_had(&s, why);
}

/* ---- Installing ----------------------------------------------------------------------------- */

/* A QEMU that starts meanwhile reads the old file or the new one. */
static bool write_whole(const char *place, const char *text, size_t size)
{
	char *other = formatted("%s.XXXXXX", place);
	int fd = mkstemp(other);
	bool good = fd >= 0 && write(fd, text, size) == (ssize_t)size && !fchmod(fd, 0644) &&
		    !fsync(fd) && !rename(other, place);

	if (!good)
		complain("%s: %s", place, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !good)
		unlink(other);
	free(other);
	return good;
}

static bool install(const char *root, const char *text, size_t size)
{
	char *place = formatted("%s/etc/vlwp/host.conf", root);
	bool good;

	/* Its folders; what is wrong with them is said of the file. */
	for (char *end = place + strlen(root); (end = strchr(end + 1, '/')); *end = '/') {
		*end = '\0';
		mkdir(place, 0755);
	}
	good = write_whole(place, text, size);
	free(place);
	return good;
}

/*
 * libvirt asks an emulator again before it uses it when the ctime of its file is not what it was, in whole seconds
 * (virQEMUCapsIsValid()). The mode stays.
 */
static bool touch(const char *program)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	struct stat was, is;
	bool good = !stat(program, &was);

	for (is = was; good && is.st_ctime == was.st_ctime; nanosleep(&moment, NULL))
		good = !chmod(program, was.st_mode & 07777) && !stat(program, &is);
	return good || refuse("%s: %s: libvirt does not ask it again; restart it without its "
			      "cache/qemu/capabilities",
			      program, strerror(errno));
}

static bool touch_emulator(const struct arguments *a)
{
	char *usual = formatted("%s" EMULATOR, a->root);
	bool good = true;

	if (a->emulator || !access(usual, F_OK))
		good = touch(a->emulator ?: usual);
	free(usual);
	return good;
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		"FILE",
		"Check a file with this host's defaults of LWP and install it as "
		"/etc/vlwp/host.conf.\vQEMU reads it when it starts. libvirt asks its QEMU again.",
	};
	struct arguments a = { .root = "" };
	char why[WHY_SIZE], *text;
	size_t size;
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	text = read_text(a.file, 1, &size);
	if (!text)
		return LWPCTL_FAILED;
	good = is_good(text, size, why) || refuse("%s: %s", a.file, why);
	if (good && !a.check)
		good = install(a.root, text, size) && touch_emulator(&a);
	free(text);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_host = { "host", run, "check and install a host's defaults of LWP" };
