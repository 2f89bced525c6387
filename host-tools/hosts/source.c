// SPDX-License-Identifier: GPL-2.0-or-later
/* What users name on the command line. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "host_groups.h"
#include "json_out.h"
#include "lwpctl.h"
#include "memory.h"
#include "printable.h"
#include "source.h"

#define LIST_MIB 64

enum { OPTION_HOSTS_FROM = 0x200, OPTION_SKIP };

static const struct argp_option hosts_options[] = {
	{ "hosts-from", OPTION_HOSTS_FROM, "FILE", 0, "more hosts, one a line; -: standard input",
	  0 },
	{ "skip-without", OPTION_SKIP, NULL, 0, "leave out hosts that have no LWP", 0 },
	{ 0 },
};

static error_t parse_hosts(int key, char *arg, struct argp_state *state)
{
	struct host_list *how = state->input;

	switch (key) {
	case OPTION_HOSTS_FROM:
		how->hosts_from = arg;
		return 0;
	case OPTION_SKIP:
		how->skip_without = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp hosts_argp = { .options = hosts_options, .parser = parse_hosts };
const struct argp_child hosts_children[] = { { &hosts_argp, 0, NULL, 0 }, { 0 } };

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

struct list {
	char **names;
	size_t nr, room;
};

static int is_json(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return *entry->d_name != '.' && end && !strcmp(end, ".json");
}

static bool add_host(struct list *list, const char *name)
{
	struct dirent **files;
	bool good = true;
	int nr = scandir(name, &files, is_json, alphasort);

	/* No directory: a file, or what cannot be read as one. */
	if (nr < 0)
		*APPEND(list->names, list->nr, list->room) = formatted("%s", name);
	for (int i = 0; i < nr; i++) {
		char *path = formatted("%s/%s", name, files[i]->d_name);
		struct stat file;

		/* One that nobody has named would be waited for. */
		if (!stat(path, &file) && S_ISFIFO(file.st_mode)) {
			good = refuse("%s: expected a file, this is a FIFO", path);
			free(path);
		} else {
			*APPEND(list->names, list->nr, list->room) = path;
		}
		free(files[i]);
	}
	if (nr >= 0)
		free(files);
	return good && (nr || refuse("%s: expected files *.json in this directory", name));
}

/* A host a line. */
static bool add_lines(struct list *list, const char *path)
{
	size_t size, line = 1;
	char *text = read_text(strcmp(path, "-") ? path : "/dev/stdin", LIST_MIB, &size), *end;
	bool good = text;

	for (char *at = text; text && at < text + size; at = end + 1, line++) {
		end = strchrnul(at, '\n');
		if (end - at >= PATH_MAX || (!*end && end < text + size)) {
			good = refuse("%s: line %zu: expected a name of less than %d bytes%s", path,
				      line, PATH_MAX, *end ? "" : ", there is a NUL");
			break;
		}
		*end = '\0';
		good &= !*at || add_host(list, at);
	}
	free(text);
	return good;
}

static bool leave_out_without(struct hostcaps *hosts, size_t *nr)
{
	json_object *groups = json_new(), *group = NULL;
	size_t left = 0;
	char *text;

	for (size_t i = 0; i < *nr; i++) {
		if (hostcaps_any(&hosts[i])) {
			hosts[left++] = hosts[i];
			continue;
		}
		group = host_groups_add(groups, "", &hosts[i]);
		hostcaps_free(&hosts[i]);
	}
	*nr = left;
	if (group) {
		text = host_group_text(group);
		complain("left out, without LWP: %s", text);
		free(text);
	}
	json_object_put(groups);
	return left || refuse("no host is left");
}

struct hostcaps *source_hosts(char *const names[], size_t *nr, const struct host_list *how)
{
	struct list list = { 0 };
	struct hostcaps *hosts;
	bool good = true;

	for (size_t i = 0; i < *nr; i++)
		good &= add_host(&list, names[i]);
	if (how->hosts_from)
		good &= add_lines(&list, how->hosts_from);
	if (good && !list.nr)
		good = refuse("%s: expected a host a line, there is none", how->hosts_from);
	*nr = list.nr;
	hosts = must(calloc(list.nr + 1, sizeof(*hosts)));
	for (size_t i = 0; i < list.nr; i++)
		good &= hostcaps_load(&hosts[i], list.names[i]);
	if (good)
		label(hosts, list.names, list.nr);
	if (good && how->skip_without)
		good = leave_out_without(hosts, nr);
	for (size_t i = 0; i < list.nr; i++)
		free(list.names[i]);
	free(list.names);
	if (good)
		return hosts;
	source_hosts_free(hosts, *nr);
	return NULL;
}
