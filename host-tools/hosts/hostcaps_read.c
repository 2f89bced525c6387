// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading the JSON that describes a host. It comes from other machines and from editors: whatever is not as
 * it should be is named by its place.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>

#include "hostcaps.h"
#include "lwpctl.h"
#include "memory.h"
#include "printable.h"

/* Where we are, for messages. */
struct place {
	const char *path;
	const char *rev; /* "revisions.43724" or NULL */
};

static bool wrong(const struct place *at, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool wrong(const struct place *at, const char *key, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (at->rev)
		return refuse("%s: revisions.%s%s%s: expected %s", at->path, at->rev,
			      *key ? "." : "", key, text);
	return refuse("%s: %s: expected %s", at->path, key, text);
}

/* Member @key of @object if it has this type; else says what was expected, in @what. */
static json_object *member(const struct place *at, json_object *object, const char *key,
			   json_type type, const char *what)
{
	json_object *value;

	if (!json_object_object_get_ex(object, key, &value)) {
		wrong(at, key, "%s, there is nothing", what);
		return NULL;
	}
	if (!json_object_is_type(value, type)) {
		wrong(at, key, "%s, got %s", what,
		      value ? json_type_to_name(json_object_get_type(value)) : "null");
		return NULL;
	}
	return value;
}

static bool read_number(const struct place *at, json_object *object, const char *key, u32 max,
			u32 *number)
{
	char what[64];
	json_object *value;
	int64_t n;

	snprintf(what, sizeof(what), "a number from 0 to %u", max);
	value = member(at, object, key, json_type_int, what);
	if (!value)
		return false;
	n = json_object_get_int64(value);
	if (n < 0 || n > max)
		return wrong(at, key, "%s, got %s", what, json_object_get_string(value));
	*number = (u32)n;
	return true;
}

static bool read_byte(const struct place *at, json_object *object, const char *key, u8 *number)
{
	u32 n = 0;
	bool good = read_number(at, object, key, UINT8_MAX, &n);

	*number = (u8)n;
	return good;
}

/* Each string of the array @key to @take, which returns false for one that it does not know. */
static bool read_words(const struct place *at, json_object *object, const char *key,
		       bool (*take)(struct host_rev *rev, const char *word), struct host_rev *rev)
{
	json_object *array = member(at, object, key, json_type_array, "an array of names");

	for (size_t i = 0; array && i < json_object_array_length(array); i++) {
		json_object *item = json_object_array_get_idx(array, i);

		if (!json_object_is_type(item, json_type_string))
			return wrong(at, key, "names, item %zu is none", i);
		if (!take(rev, json_object_get_string(item)))
			return wrong(at, key, "names that this program knows, got '%s'",
				     json_object_get_string(item));
	}
	return array;
}

static bool take_context(struct host_rev *rev, const char *word)
{
	int index = word_index(context_words, word);

	if (index >= 0)
		rev->contexts |= (u8)(1u << index);
	return index >= 0;
}

static bool take_delivery(struct host_rev *rev, const char *word)
{
	int index = word_index(delivery_words, word);

	if (index >= 0)
		rev->deliveries |= (u8)(1u << index);
	return index >= 0;
}

static bool take_feature(struct host_rev *rev, const char *word)
{
	const struct lwp_feature *feature = lwp_feature_by_property(word);
	u32 flag = feature ? lwp_feature_flag(feature, rev->caps.rev) : 0;

	rev->caps.features |= flag;
	return flag;
}

static bool take_filter(struct host_rev *rev, const char *word)
{
	const struct lwp_filter *filter = lwp_filter_by_name(word);

	if (filter)
		rev->caps.ecx_features |= filter->flag;
	return filter;
}

static bool read_rev(const struct place *at, json_object *object, u32 id, struct host_rev *rev)
{
	struct lwp_caps *caps = &rev->caps;
	json_object *vmcb;
	u32 block = 0;

	caps->rev = (u8)id;
	vmcb = member(at, object, "vmcb", json_type_boolean, "true or false");
	if (!vmcb || !read_words(at, object, "contexts", take_context, rev) ||
	    !read_words(at, object, "deliveries", take_delivery, rev) ||
	    !read_byte(at, object, "version", &caps->version) ||
	    !read_byte(at, object, "max_events", &caps->max_events) ||
	    !read_byte(at, object, "min_buffer", &caps->min_buffer) ||
	    !read_byte(at, object, "latency_max", &caps->latency_max) ||
	    !read_byte(at, object, "latency_rounding", &caps->latency_rnd) ||
	    !read_number(at, object, "block_size", UINT16_MAX, &block) ||
	    !read_byte(at, object, "event_offset", &caps->event_offset) ||
	    !read_byte(at, object, "event_size", &caps->event_size) ||
	    !read_words(at, object, "features", take_feature, rev) ||
	    !read_words(at, object, "filters", take_filter, rev))
		return false;
	rev->vmcb = json_object_get_boolean(vmcb);
	caps->cb_size = (u16)block;
	if (!rev->contexts)
		return wrong(at, "contexts", "one name or more, there is none");
	if (!rev->deliveries)
		return wrong(at, "deliveries", "one name or more, there is none");
	if (!lwp_caps_valid(caps))
		return wrong(at, "", "numbers that fit together as those of one LWP do");
	rev->offered = true;
	return true;
}

static bool read_revs(struct place *at, json_object *root, struct hostcaps *host)
{
	json_object *revs = member(at, root, "revisions", json_type_object, "an object");

	if (!revs)
		return false;
	json_object_object_foreach(revs, name, value)
	{
		const struct lwp_rev *rev = lwp_rev_by_name(name);

		if (!rev)
			return wrong(at, "revisions", "'43724' and '2007', got '%s'", name);
		at->rev = rev->name;
		if (!json_object_is_type(value, json_type_object))
			return wrong(at, "", "an object");
		if (!read_rev(at, value, rev->id, &host->rev[rev->id]))
			return false;
		at->rev = NULL;
	}
	return true;
}

static bool read_string(const struct place *at, json_object *root, const char *key, bool needed,
			char **text)
{
	json_object *value;

	if (!needed && !json_object_object_get_ex(root, key, NULL))
		return true;
	value = member(at, root, key, json_type_string, "a string");
	if (!value)
		return false;
	*text = printable(json_object_get_string(value), (size_t)json_object_get_string_len(value));
	return true;
}

static bool read_root(struct place *at, json_object *root, struct hostcaps *host)
{
	u32 format = 0;

	if (!json_object_is_type(root, json_type_object))
		return refuse("%s: expected the JSON object that `lwpctl caps --json' prints",
			      at->path);
	if (!read_number(at, root, "lwp_capabilities", INT_MAX, &format))
		return false;
	if (format != 1)
		return wrong(at, "lwp_capabilities",
			     "1, the format that this program knows, got %u", format);
	return read_string(at, root, "host", true, &host->name) &&
	       read_string(at, root, "source", true, &host->source) &&
	       read_string(at, root, "reason", false, &host->reason) && read_revs(at, root, host);
}

static int line_of(const char *text, size_t offset)
{
	int line = 1;

	for (size_t i = 0; i < offset; i++)
		line += text[i] == '\n';
	return line;
}

bool hostcaps_parse(struct hostcaps *host, const char *text, size_t size, const char *path)
{
	json_tokener *tokener = must(json_tokener_new());
	struct place at = { .path = path };
	enum json_tokener_error error;
	json_object *root;
	bool good = false;
	size_t end;

	memset(host, 0, sizeof(*host));
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	root = json_tokener_parse_ex(tokener, text, (int)size);
	error = json_tokener_get_error(tokener);
	end = json_tokener_get_parse_end(tokener);
	if (error == json_tokener_continue)
		complain("%s: line %d: expected more JSON, the file ends", path,
			 line_of(text, size));
	else if (error != json_tokener_success)
		complain("%s: line %d: expected JSON: %s", path, line_of(text, end),
			 json_tokener_error_desc(error));
	else
		good = read_root(&at, root, host);
	json_object_put(root);
	json_tokener_free(tokener);
	return good;
}

char *read_text(const char *path, size_t mib, size_t *size)
{
	FILE *file = fopen(path, "re");
	size_t most = mib << 20;
	char *text = must(malloc(most));
	bool good = false;

	*size = file ? fread(text, 1, most, file) : 0;
	if (!file || ferror(file))
		complain("%s: %s", path, strerror(errno));
	else if (*size == most)
		complain("%s: expected less than %zu MiB", path, mib);
	else
		good = true;
	if (file)
		fclose(file);
	if (good)
		text[*size] = '\0';
	else
		free(text);
	return good ? text : NULL;
}

bool hostcaps_load(struct hostcaps *host, const char *path)
{
	size_t size;
	char *text = read_text(path, 1, &size);
	bool good;

	memset(host, 0, sizeof(*host));
	good = text && hostcaps_parse(host, text, size, path);
	free(text);
	return good;
}
