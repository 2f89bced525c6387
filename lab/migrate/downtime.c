// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What LWP costs a live migration: one Linux guest that writes the same amount of memory without LWP, with LWP
 * switched off, and with eight profiled threads, taking turns in one run.
 */
#include "guest.h"
#include "migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TURNS 50

static const struct config {
	const char *name, *cpu, *init;
} configs[] = {
	{ "without lwp", "-lwp", "plain" },
	{ "lwp present, off", "+lwp", "plain" },
	{ "eight threads profiled", "+lwp", "" },
};
#define CONFIGS (sizeof(configs) / sizeof(configs[0]))

struct times {
	double down[MAX_TURNS], total[MAX_TURNS]; /* milliseconds */
};

static double number(json_object *answer, const char *name)
{
	json_object *value;

	if (!json_object_object_get_ex(answer, name, &value))
		broken("query-migrate says nothing of %s", name);
	return json_object_get_double(value);
}

/* One migration of a guest that has just been booted. */
static void measure(const struct config *c, unsigned int turn, struct times *t)
{
	json_object *answer;
	struct vm vm, next;
	char uri[512];

	snprintf(uri, sizeof(uri), "unix:%s/socket", opt.work);
	guest_start(&vm, "source", opt.qemu, c->cpu, c->init, false);
	guest_rounds(1);
	guest_start(&next, "destination", opt.into_qemu, c->cpu, c->init, true);
	vm_capability(&vm, "return-path");
	vm_capability(&next, "return-path");
	vm_do(&next, "migrate-incoming", "{\"uri\":\"%s\"}", uri);
	vm_do(&vm, "migrate", "{\"uri\":\"%s\"}", uri);
	if (!vm_migrated(&vm) || !vm_migrated(&next))
		broken("%s: migration failed", c->name);
	answer = qmp_call(&vm.qmp, "query-migrate", NULL);
	t->down[turn] = number(answer, "downtime");
	t->total[turn] = number(answer, "total-time");
	json_object_put(answer);
	vm_kill(&vm);
	vm_kill(&next);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, opt.count, sizeof(*values), compare);
	return values[opt.count / 2];
}

void bench(void)
{
	static struct times times[CONFIGS];
	double down[CONFIGS], total[CONFIGS];
	unsigned int turn;
	size_t i;

	if (!opt.count || opt.count > MAX_TURNS)
		broken("1 to %d turns", MAX_TURNS);
	for (turn = 0; turn < opt.count; turn++) {
		for (i = 0; i < CONFIGS; i++)
			measure(&configs[i], turn, &times[i]);
	}
	printf("live migration over a unix socket, 256 MiB, median of %u turns\n\n", opt.count);
	printf("%-24s %12s %7s %12s %7s\n", "guest", "downtime ms", "ratio", "total ms", "ratio");
	for (i = 0; i < CONFIGS; i++) {
		down[i] = median(times[i].down);
		total[i] = median(times[i].total);
		printf("%-24s %12.0f %7.2f %12.0f %7.2f\n", configs[i].name, down[i],
		       down[i] / down[0], total[i], total[i] / total[0]);
	}
	ok(!heard.wrong, "no round was wrong meanwhile");
}
