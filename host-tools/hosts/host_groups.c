// SPDX-License-Identifier: GPL-2.0-or-later
/* Many hosts in few lines. */
#include "host_groups.h"
#include "json_out.h"

#define NAMES_SHOWN 3

json_object *host_groups_add(json_object *groups, const char *said, const struct hostcaps *host)
{
	json_object *group = json_object_object_get(groups, said), *names;

	if (!group) {
		group = json_new();
		json_add(groups, said, group);
		json_add(group, "hosts", json_list());
	}
	names = json_object_object_get(group, "hosts");
	json_append(names, hostcaps_label(host));
	json_add(group, "count", json_object_array_length(names));
	return group;
}

char *host_group_text(json_object *group)
{
	json_object *names = json_object_object_get(group, "hosts");
	size_t nr = json_object_array_length(names), size;
	char *text = NULL;
	FILE *to = must(open_memstream(&text, &size));

	fprintf(to, "%zu host%s (", nr, nr == 1 ? "" : "s");
	for (size_t i = 0; i < nr && i < NAMES_SHOWN; i++)
		fprintf(to, "%s%s", i ? ", " : "",
			json_object_get_string(json_object_array_get_idx(names, i)));
	if (nr > NAMES_SHOWN)
		fprintf(to, " and %zu more", nr - NAMES_SHOWN);
	fputc(')', to);
	if (fclose(to))
		must(NULL);
	return text;
}
