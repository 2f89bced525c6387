// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a guest has seen of LWP must be the same where it goes: every difference is refused in plain words,
 * before the guest stops at its source, where it then runs on. And a machine without LWP is loaded by an
 * unpatched QEMU of the same version, and the other way round.
 */
#include "migrate.h"
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct pair {
	const char *what, *from, *to; /* CPU properties; NULL: no LWP */
	const char *says; /* what the destination must say */
	bool unpatched; /* is the destination */
	bool late; /* the source has nothing to say early: found when the CPU is loaded */
} pairs[] = {
	{ "fewer events", "+lwp", "+lwp,lwp-max-events=3",
	  "source offers 6 events, this host 3: start both with lwp-max-events=3", false, false },
	{ "more events", "+lwp,lwp-max-events=2", "+lwp",
	  "source offers 2 events, this host 6: start both with lwp-max-events=2", false, false },
	{ "LWPVAL missing", "+lwp", "+lwp,lwp-val=off",
	  "source offers LWPVAL records, this host does not: start both with lwp-val=off", false,
	  false },
	{ "instructions missing", "+lwp", "+lwp,lwp-ire=off", "start both with lwp-ire=off", false,
	  false },
	{ "branches missing", "+lwp", "+lwp,lwp-bre=off", "start both with lwp-bre=off", false,
	  false },
	{ "data cache misses missing", "+lwp,lwp-dme=on", "+lwp",
	  "source offers data cache miss records, this host does not: start both with lwp-dme=off",
	  false, false },
	{ "core clocks missing", "+lwp", "+lwp,lwp-cnh=off", "start both with lwp-cnh=off", false,
	  false },
	{ "reference clocks missing", "+lwp", "+lwp,lwp-rnh=off", "start both with lwp-rnh=off",
	  false, false },
	{ "continuous mode missing", "+lwp", "+lwp,lwp-cont=off", "start both with lwp-cont=off",
	  false, false },
	{ "time stamps missing", "+lwp", "+lwp,lwp-ptsc=off", "start both with lwp-ptsc=off", false,
	  false },
	{ "interrupt missing", "+lwp", "+lwp,lwp-int=off", "start both with lwp-int=off", false,
	  false },
	{ "interrupt too many", "+lwp,lwp-int=off", "+lwp",
	  "this host offers threshold interrupts, source does not: start both with lwp-int=off",
	  false, false },
	{ "larger smallest ring", "+lwp", "+lwp,lwp-min-buffer=4",
	  "start both with lwp-min-buffer=4", false, false },
	{ "smaller latency", "+lwp,lwp-latency-max=20", "+lwp,lwp-latency-max=12",
	  "source offers latencies of 20 bits, this host 12: start both with lwp-latency-max=12",
	  false, false },
	{ "other revision", "+lwp", "+lwp,lwp-rev=2007",
	  "source has lwp-rev=43724, this host 2007: start both with the same", false, false },
	{ "other contexts", "+lwp", "+lwp,lwp-context=os",
	  "source has lwp-context=auto, this host os: start both with the same", false, false },
	{ "other delivery", "+lwp", "+lwp,lwp-delivery=prompt",
	  "source has lwp-delivery=exact, this host prompt: start both with the same", false,
	  false },
	{ "other profile", "+lwp,lwp-profile=fam15h",
	  "+lwp,lwp-max-events=3,lwp-cont=off,lwp-ptsc=off,lwp-int=off", "start both with", false,
	  false },
	{ "VMCB area missing", "+lwp,lwp-context=os,lwp-vmcb=on", "+lwp,lwp-context=os",
	  "start both with lwp-vmcb=off", false, false },
	{ "destination without LWP", "+lwp", NULL, "section or instance 'x86-lwp'", false, false },
	{ "unpatched destination", "+lwp", NULL, "section or instance 'x86-lwp'", true, false },
	{ "source without LWP", NULL, "+lwp", "comes without LWP and has it here", false, true },
};

static const char append[] = "test=bench cpus=1 rounds=1000000";

/* The guest's STOP event would have come before the one that ends migration: is there one? */
static bool migrate_and_watch(struct vm *source, const char *uri, bool *stopped)
{
	json_object *event, *data, *status, *name;
	const char *text = "";
	bool completed = false;

	*stopped = false;
	qmp_drop_events(&source->qmp);
	vm_do(source, "migrate", "{\"uri\":\"%s\"}", uri);
	while (strcmp(text, "failed") && !completed) {
		event = qmp_event(&source->qmp, "MIGRATION", "STOP");
		if (!event)
			vm_broken(source);
		json_object_object_get_ex(event, "event", &name);
		if (!strcmp(json_object_get_string(name), "STOP")) {
			*stopped = true;
			json_object_put(event);
			continue;
		}
		json_object_object_get_ex(event, "data", &data);
		json_object_object_get_ex(data, "status", &status);
		text = strcmp(json_object_get_string(status), "failed") ? "" : "failed";
		completed = !strcmp(json_object_get_string(status), "completed");
		json_object_put(event);
	}
	return completed;
}

/* Return path: the source waits for the destination's word before it stops for good. */
static void start_pair(struct vm *source, struct vm *destination, const struct pair *p, char *uri,
		       size_t size)
{
	static const char *const extra[] = { "-incoming", "defer", NULL };
	char log[2][512];

	snprintf(log[0], sizeof(log[0]), "%s/source-log", opt.work);
	snprintf(log[1], sizeof(log[1]), "%s/destination-log", opt.work);
	snprintf(uri, size, "unix:%s/socket", opt.work);
	if (!vm_start(source, "source", flat_machine(opt.qemu, p->from, append, NULL), NULL,
		      log[0]))
		broken("%s: QEMU does not start: %s", p->what, read_file(log[0], NULL));
	if (!vm_start(destination, "destination",
		      flat_machine(p->unpatched ? opt.base : opt.qemu, p->to, append, extra), NULL,
		      log[1]))
		broken("%s: QEMU does not start: %s", p->what, read_file(log[1], NULL));
	vm_capability(source, "return-path");
	vm_capability(destination, "return-path");
	/* As for a guest of a usual size: its memory takes much longer than a refusal, on a busy host too. */
	if (!p->late)
		vm_do(source, "migrate-set-parameters", "{\"max-bandwidth\":50000}");
	vm_do(destination, "migrate-incoming", "{\"uri\":\"%s\"}", uri);
}

/* What who asked for the migration is told of its end. */
static bool source_says(struct vm *source, const char *text)
{
	json_object *info = qmp_call(&source->qmp, "query-migrate", NULL), *error;
	bool says;

	if (!info)
		vm_broken(source);
	says = json_object_object_get_ex(info, "error-desc", &error) &&
	       strstr(json_object_get_string(error), text);
	if (!says)
		printf("# %s\n", json_object_to_json_string(info));
	json_object_put(info);
	return says;
}

static void refused(const struct pair *p)
{
	struct vm source, destination;
	bool stopped, completed;
	char uri[512], *said;

	start_pair(&source, &destination, p, uri, sizeof(uri));
	completed = migrate_and_watch(&source, uri, &stopped);
	vm_wait(&destination, VM_PATIENCE);
	said = read_file(destination.log, NULL);
	ok(!completed && strstr(said, p->says), "%s: refused, saying \"%s\"", p->what, p->says);
	if (completed || !strstr(said, p->says))
		printf("# %s\n", said);
	if (p->from && p->to)
		ok(source_says(&source, p->says), "%s: the source says why, too", p->what);
	if (!p->late)
		ok(!stopped, "%s: before the guest stops", p->what);
	/* A source that had stopped says that migration has failed, and only then goes on. */
	if (stopped && !vm_is(&source, "running"))
		vm_event(&source, "RESUME");
	ok(vm_is(&source, "running"), "%s: the guest runs on at its source", p->what);
	free(said);
	vm_kill(&source);
}

/* Without LWP nothing is different, whoever sends. */
static void exchanged(const char *what, const char *from, const char *to)
{
	static const char *const extra[] = { "-incoming", "defer", NULL };
	struct vm source, destination;
	char save[512], log[512];

	snprintf(save, sizeof(save), "%s/plain", opt.work);
	snprintf(log, sizeof(log), "%s/log", opt.work);
	if (!vm_start(&source, "source", flat_machine(from, NULL, append, NULL), NULL, log))
		broken("%s does not start", from);
	vm_capability(&source, NULL);
	vm_save(&source, save);
	vm_kill(&source);
	if (!vm_start(&destination, "destination", flat_machine(to, NULL, append, extra), NULL,
		      log))
		broken("%s does not start", to);
	ok(vm_load(&destination, save) && vm_is(&destination, "running"), "%s", what);
	vm_kill(&destination);
}

/*
 * A machine of the version that had contexts of format 1: its section of what both sides must agree on has version 1,
 * and no number of the format at its end.
 */
static void another_format(void)
{
	static const char section[] = "\7x86-lwp";
	static const char *const extra[] = { "-incoming", "defer", NULL };
	static const char says[] =
		"LWP: source sends contexts in format 1, this host takes format 2";
	struct vm source, destination;
	char save[512], log[512], *bytes, *at, *said;
	size_t size, rest;
	FILE *f;

	snprintf(save, sizeof(save), "%s/format", opt.work);
	snprintf(log, sizeof(log), "%s/log", opt.work);
	if (!vm_start(&source, "source", flat_machine(opt.qemu, "+lwp", append, NULL), NULL, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	vm_capability(&source, NULL);
	vm_save(&source, save);
	vm_kill(&source);
	bytes = read_file(save, &size);
	at = memmem(bytes, size, section, strlen(section));
	if (!at)
		broken("no LWP in the stream");
	at += strlen(section);
	at[7] = 1; /* version; the instance is before it */
	at += 8 + 20;
	rest = size - 1 - (size_t)(at - bytes);
	memmove(at, at + 1, rest);
	f = fopen(save, "w");
	if (!f || fwrite(bytes, 1, size - 1, f) != size - 1 || fclose(f))
		broken("%s: cannot be written", save);
	free(bytes);
	if (!vm_start(&destination, "destination", flat_machine(opt.qemu, "+lwp", append, extra),
		      NULL, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	ok(!vm_load(&destination, save), "contexts of format 1: refused");
	vm_wait(&destination, VM_PATIENCE);
	said = read_file(log, NULL);
	ok(strstr(said, says), "contexts of format 1: with the reason in one line");
	if (!strstr(said, says))
		printf("# %s\n", said);
	free(said);
}

void test_mismatch(void)
{
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		refused(&pairs[i]);
	another_format();
	exchanged("a machine without LWP is loaded by unpatched QEMU", opt.qemu, opt.base);
	exchanged("a machine of unpatched QEMU is loaded", opt.base, opt.qemu);
}
