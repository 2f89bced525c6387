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

void host_groups_print(json_object *groups, const char *before)
{
	json_object_object_foreach(groups, said, group)
	{
		char *text = host_group_text(group);

		printf("%s%s: %s\n", before, text, said);
		free(text);
	}
	json_object_put(groups);
}

/* ---- What a pool loses ---------------------------------------------------------------------- */

static json_object *baseline_of(const struct hostcaps *hosts, size_t nr, const struct wish *wish)
{
	struct settings s;
	struct lwp_caps caps;
	char why[WHY_SIZE];

	if (!host_set_baseline(hosts, nr, wish, &s, &caps, why))
		settings_init(&s);
	return settings_json(&s);
}

/* "NAME VALUE instead of VALUE, ...", to be freed; "": nothing. */
static char *gains(json_object *all, json_object *rest)
{
	char *text = NULL;
	size_t size;
	FILE *to = must(open_memstream(&text, &size));
	const char *comma = "";

	json_object_object_foreach(all, name, had)
	{
		json_object *has = json_object_object_get(rest, name);

		if (json_object_equal(had, has))
			continue;
		fprintf(to, "%s%s %s instead of %s", comma, name,
			has ? json_object_get_string(has) : "unset", json_object_get_string(had));
		comma = ", ";
	}
	if (fclose(to))
		must(NULL);
	return text;
}

static json_object *fewest_first(json_object *groups, size_t most)
{
	json_object *sorted = json_new();

	for (size_t nr = 1; nr <= most; nr++) {
		json_object_object_foreach(groups, said, group)
		{
			if (json_object_get_uint64(json_object_object_get(group, "count")) == nr)
				json_add(sorted, said, json_object_get(group));
		}
	}
	json_object_put(groups);
	return sorted;
}

json_object *host_groups_losses(const struct hostcaps *hosts, size_t nr, const struct wish *wish)
{
	json_object *all = baseline_of(hosts, nr, wish), *losses = json_new(), *own = json_list();
	struct hostcaps *rest = must(calloc(nr, sizeof(*rest)));
	bool *holds = must(calloc(nr, sizeof(*holds)));

	for (size_t i = 0; i < nr; i++)
		json_append(own, baseline_of(&hosts[i], 1, wish));
	json_object_object_foreach(all, name, value)
	{
		json_object *without;
		size_t left = 0;
		char *gain;

		for (size_t i = 0; i < nr; i++) {
			json_object *one = json_object_array_get_idx(own, i);

			holds[i] = json_object_equal(json_object_object_get(one, name), value);
			if (!holds[i])
				rest[left++] = hosts[i];
		}
		if (!left)
			continue;
		without = baseline_of(rest, left, wish);
		gain = gains(all, without);
		/* Two properties may be held down by the same hosts. */
		if (*gain && !json_object_object_get(losses, gain))
			for (size_t i = 0; i < nr; i++)
				if (holds[i])
					host_groups_add(losses, gain, &hosts[i]);
		free(gain);
		json_object_put(without);
	}
	free(holds);
	free(rest);
	json_object_put(own);
	json_object_put(all);
	return fewest_first(losses, nr);
}
