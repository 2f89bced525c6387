// SPDX-License-Identifier: GPL-2.0-or-later
/* A small QMP client: QEMU answers each command with one line of JSON and may put events before the answer. */
#include "qmp.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define KVM_STAT_PREFIX "lwp_"
#define LINE_MOST (16u << 20) /* all models of a QEMU are some 100 KB */

static int fail(struct qmp *q, const char *what, const char *why)
{
	snprintf(q->error, sizeof(q->error), "QMP: %s: %s", what, why);
	return -1;
}

/*
 * One line, the caller's to free; NULL: it has no end, QEMU has closed the socket, or was silent for longer than the
 * socket's timeout. After a signal the kernel does not resume a call on a socket that has one, not even if the signal
 * is ignored, as SIGCHLD and SIGCONT are (signal(7)): so this does.
 */
static char *read_line(struct qmp *q)
{
	char *line = NULL;
	size_t size, length = 0;
	FILE *text = must(open_memstream(&line, &size));
	int byte;

	for (;;) {
		errno = 0;
		byte = getc(q->stream);
		if (byte == EOF && errno == EINTR) {
			clearerr(q->stream);
			continue;
		}
		if (byte == EOF || byte == '\n' || length++ == LINE_MOST)
			break;
		putc(byte, text);
	}
	q->late = byte == EOF && errno == EAGAIN;
	fclose(text);
	if (byte == '\n')
		return must(line);
	free(line);
	return NULL;
}

static json_object *read_object(struct qmp *q)
{
	char *line = read_line(q);
	json_object *object = line ? json_tokener_parse(line) : NULL;

	free(line);
	return object;
}

/* A member of an object that is a string; "" if there is none. */
static const char *text_in(json_object *object, const char *name)
{
	json_object *value;

	if (!json_object_object_get_ex(object, name, &value) ||
	    !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

/* How many items what should be an array has. */
static size_t items(json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/* Why nothing came. */
static const char *silence(const struct qmp *q)
{
	return q->late ? "QEMU gives no answer" : "QEMU has ended, or what it says is not QMP";
}

json_object *qmp_call(struct qmp *q, const char *command, json_object *arguments)
{
	json_object *answer, *value, *request = json_object_new_object();

	json_object_object_add(request, "execute", json_object_new_string(command));
	if (arguments)
		json_object_object_add(request, "arguments", arguments);
	/* Not through the stream: it may hold an event that has not been read yet. */
	dprintf(fileno(q->stream), "%s\n",
		json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN));
	json_object_put(request);

	while ((answer = read_object(q))) {
		if (json_object_object_get_ex(answer, "return", &value)) {
			json_object_get(value);
			json_object_put(answer);
			if (!value)
				fail(q, command, "the answer is nothing");
			return value;
		}
		if (json_object_object_get_ex(answer, "error", &value)) {
			fail(q, command, text_in(value, "desc"));
			json_object_put(answer);
			return NULL;
		}
		json_object_put(answer); /* an event */
	}
	fail(q, command, silence(q));
	return NULL;
}

void qmp_close(struct qmp *q)
{
	if (q->stream)
		fclose(q->stream);
	memset(q, 0, sizeof(*q));
}

int qmp_open(struct qmp *q, int fd)
{
	json_object *object;

	q->error[0] = '\0';
	q->stream = fdopen(fd, "r");
	if (!q->stream)
		return fail(q, "fdopen", strerror(errno));
	object = read_object(q);
	if (!json_object_object_get_ex(object, "QMP", NULL)) {
		json_object_put(object);
		return fail(q, "greeting", "there is none");
	}
	json_object_put(object);
	object = qmp_call(q, "qmp_capabilities", NULL);
	if (!object)
		return -1;
	json_object_put(object);
	return 0;
}

bool qmp_has_model(struct qmp *q, const char *name)
{
	json_object *models = qmp_call(q, "query-cpu-definitions", NULL);
	bool found = false;

	if (!models)
		return false;
	for (size_t i = 0; !found && i < items(models); i++)
		found = !strcmp(text_in(json_object_array_get_idx(models, i), "name"), name);
	json_object_put(models);
	if (!found)
		snprintf(q->error, sizeof(q->error), "there is no CPU model '%s'", name);
	return found;
}

static json_object *list_of(json_object *item)
{
	json_object *list = json_object_new_array();

	json_object_array_add(list, item);
	return list;
}

/* write_stat - one statistic of KVM's, whose others are not of LWP and may be lists, or of QEMU's own */
static void write_stat(size_t cpu, json_object *stat, bool kvm, FILE *to)
{
	const char *text = text_in(stat, "name");
	json_object *value;

	json_object_object_get_ex(stat, "value", &value);
	if (!*text || (kvm && strncmp(text, KVM_STAT_PREFIX, strlen(KVM_STAT_PREFIX))))
		return;
	fprintf(to, "%zu ", cpu);
	for (text += kvm ? strlen(KVM_STAT_PREFIX) : 0; *text; text++)
		fputc(*text == '_' ? '-' : *text, to);
	fprintf(to, " %" PRIu64 "\n", json_object_get_uint64(value));
}

/* write_stats - what has been counted for the CPU at a QOM @path, or, if that is NULL, for the machine */
static int write_stats(struct qmp *q, size_t cpu, const char *path, bool kvm, FILE *to)
{
	json_object *arguments = json_object_new_object(), *provider = json_object_new_object();
	json_object *answer, *list;

	json_object_object_add(provider, "provider", json_object_new_string(kvm ? "kvm" : "lwp"));
	json_object_object_add(arguments, "target", json_object_new_string(path ? "vcpu" : "vm"));
	if (path)
		json_object_object_add(arguments, "vcpus", list_of(json_object_new_string(path)));
	json_object_object_add(arguments, "providers", list_of(provider));
	answer = qmp_call(q, "query-stats", arguments);
	for (size_t i = 0; i < items(answer); i++) {
		json_object_object_get_ex(json_object_array_get_idx(answer, i), "stats", &list);
		for (size_t j = 0; j < items(list); j++)
			write_stat(cpu, json_object_array_get_idx(list, j), kvm, to);
	}
	json_object_put(answer);
	return answer ? 0 : -1;
}

static bool runs_in_kvm(struct qmp *q)
{
	json_object *answer = qmp_call(q, "query-kvm", NULL), *enabled;
	bool kvm = json_object_object_get_ex(answer, "enabled", &enabled) &&
		   json_object_get_boolean(enabled);

	json_object_put(answer);
	return kvm;
}

int qmp_lwp_stats(struct qmp *q, FILE *to)
{
	json_object *cpus = qmp_call(q, "query-cpus-fast", NULL);
	bool kvm = runs_in_kvm(q);
	int status = cpus ? 0 : -1;

	for (size_t i = 0; !status && i < items(cpus); i++) {
		const char *path = text_in(json_object_array_get_idx(cpus, i), "qom-path");

		status = write_stats(q, i, path, kvm, to);
	}
	if (!status && !kvm)
		status = write_stats(q, 0, NULL, kvm, to);
	json_object_put(cpus);
	return status;
}
