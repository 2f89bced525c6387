// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Damaged streams: the saves of a profiled program, with bytes changed in what belongs to LWP, are loaded and
 * the program goes on. QEMU may refuse or run, it must not crash.
 */
#include "migrate.h"
#include "vm.h"

#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program ends long before; what a damaged one does is not waited for. */
#define LOOPING 10
#define MAX_EDITS 3
#define SECTION_FOOTER 0x7e

static const struct base {
	const char *cpu, *append;
	uint64_t step; /* where it is saved: with a record that is pending, and faulting */
} bases[] = {
	{ "+lwp", "test=migrate cpus=1", 7000 },
	{ "+lwp", "test=migrate cpus=1", 12500 },
	{ "+lwp,lwp-context=os", "test=migrate cpus=1 context=os", 6999 },
};
#define BASES (sizeof(bases) / sizeof(bases[0]))

/*
 * Where LWP's parts lie in a stream: behind their name, with the length before it. What lies behind them is not
 * damaged: QEMU believes what others say, as cpu_common of a pending CPU_INTERRUPT_DEBUG.
 */
static const struct section {
	const char *name;
	size_t length; /* bytes behind the name: version and, of a section, instance; data */
	bool counted; /* a u32 with the number of further bytes ends them */
	unsigned int weight;
} sections[] = {
	{ "\7x86-lwp", 8 + 20, false, 1 },
	{ "\7cpu/lwp", 4 + 151, false, 4 },
	{ "\20x86-lwp-contexts", 8 + 4, true, 5 },
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

static struct save {
	char *bytes;
	size_t size;
	size_t at[SECTIONS], end[SECTIONS]; /* 0: this save has no such section */
} saves[BASES];

static void save_base(const struct base *b, struct save *s, const char *path)
{
	static const char *const extra[] = { "-S", NULL };
	char log[512];
	uint32_t counted;
	struct vm vm;
	size_t i;

	snprintf(log, sizeof(log), "%s/log", opt.work);
	if (!vm_start(&vm, "source", flat_machine(opt.qemu, b->cpu, b->append, extra), NULL, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	vm_capability(&vm, NULL);
	vm_cpu_set(&vm, "x-lwp-stop-at", b->step);
	vm_do(&vm, "cont", NULL);
	vm_event(&vm, "STOP");
	vm_save(&vm, path);
	vm_kill(&vm);
	s->bytes = read_file(path, &s->size);
	for (i = 0; i < SECTIONS; i++) {
		const char *name = sections[i].name;
		const char *found = memmem(s->bytes, s->size, name, strlen(name));

		if (!found)
			continue;
		s->at[i] = (size_t)(found - s->bytes) + strlen(name);
		s->end[i] = s->at[i] + sections[i].length;
		if (sections[i].counted) {
			memcpy(&counted, s->bytes + s->end[i] - sizeof(counted), sizeof(counted));
			s->end[i] += be32toh(counted);
		}
		if (s->end[i] >= s->size || s->bytes[s->end[i]] != SECTION_FOOTER)
			broken("'%s' is not as long as this test believes", name + 1);
	}
	if (!s->at[0] || !s->at[1])
		broken("no LWP in the stream of '%s'", b->cpu);
}

/* A byte of LWP's parts; *room bytes from there belong to the same part. */
static size_t place(const struct save *s, size_t *room)
{
	unsigned int weight;
	size_t i, at;

	do {
		weight = (unsigned int)draw(10);
		for (i = 0; weight >= sections[i].weight; i++)
			weight -= sections[i].weight;
	} while (!s->at[i]);
	at = s->at[i] + draw(s->end[i] - s->at[i]);
	*room = s->end[i] - at;
	return at;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void edit(const struct save *s, char *bytes)
{
	static const uint64_t extremes[] = { 0, UINT64_MAX, 1ull << 63, 1ull << 47, 0xfff, 1 };
	size_t room, other, at = place(s, &room), from;

	switch (draw(4)) {
	case 0:
		bytes[at] = (char)(bytes[at] ^ (1 << draw(8)));
		break;
	case 1:
		bytes[at] = (char)draw(256);
		break;
	case 2:
		memcpy(bytes + at, &extremes[draw(6)], least(room, 1ull << draw(4)));
		break;
	default:
		from = place(s, &other);
		memmove(bytes + at, bytes + from, least(least(room, other), 1 + draw(8)));
	}
}

/* Mutation `number`, drawn from it and the seed alone. */
static const struct base *mutate(unsigned int number, const char *path)
{
	size_t which, size, room, i;
	FILE *f;
	char *bytes;

	draw_from(opt.seed + number);
	which = draw(BASES);
	size = saves[which].size;
	bytes = malloc(size);
	if (!bytes)
		broken("no memory");
	memcpy(bytes, saves[which].bytes, size);
	for (i = 1 + draw(MAX_EDITS); i; i--)
		edit(&saves[which], bytes);
	if (!draw(50))
		size = place(&saves[which], &room);
	f = fopen(path, "we");
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		broken("%s: %s", path, strerror(errno));
	free(bytes);
	return &bases[which];
}

enum outcome { REFUSED, RAN, LOOPED, CRASHED };

static enum outcome load(const struct base *b, const char *path, const char *log)
{
	static const char *const extra[] = { "-incoming", "defer", NULL };
	bool loaded;
	struct vm vm;
	int status;

	if (!vm_start(&vm, "destination", flat_machine(opt.qemu, b->cpu, b->append, extra), NULL,
		      log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	loaded = vm_load(&vm, path) && vm_try(&vm, "cont", NULL);
	status = vm_wait(&vm, LOOPING);
	if (status >= 128)
		return CRASHED;
	if (status < 0)
		return LOOPED;
	return loaded ? RAN : REFUSED;
}

static _Noreturn void work(unsigned int worker, int to)
{
	char path[512], log[512];
	unsigned int number;
	uint32_t report;

	snprintf(path, sizeof(path), "%s/damaged%u", opt.work, worker);
	snprintf(log, sizeof(log), "%s/log%u", opt.work, worker);
	for (number = worker; number < opt.count; number += opt.jobs) {
		const struct base *b = mutate(number, path);

		report = load(b, path, log);
		if (report == CRASHED)
			fprintf(stderr, "mutation %u: %s\n", number, read_file(log, NULL));
		report |= number << 8;
		if (write(to, &report, sizeof(report)) != sizeof(report))
			broken("a worker cannot report");
	}
	exit(0);
}

void test_fuzz(void)
{
	unsigned int outcomes[CRASHED + 1] = { 0 }, i, done;
	uint32_t report;
	char path[512];
	int pipes[2];

	snprintf(path, sizeof(path), "%s/save", opt.work);
	for (i = 0; i < BASES; i++)
		save_base(&bases[i], &saves[i], path);
	fflush(stdout);
	if (pipe(pipes))
		broken("no pipe");
	for (i = 0; i < opt.jobs; i++) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(pipes[0]);
			work(i, pipes[1]);
		}
	}
	close(pipes[1]);
	while (read(pipes[0], &report, sizeof(report)) == sizeof(report)) {
		outcomes[report & 0xff]++;
		if ((report & 0xff) == CRASHED)
			printf("# mutation %u crashes QEMU\n", report >> 8);
	}
	while (wait(NULL) > 0)
		;
	done = outcomes[REFUSED] + outcomes[RAN] + outcomes[LOOPED] + outcomes[CRASHED];
	printf("# %u refused, %u ran to an end, %u ran on\n", outcomes[REFUSED], outcomes[RAN],
	       outcomes[LOOPED]);
	ok(done == opt.count && !outcomes[CRASHED], "%u damaged streams, %u of them crash QEMU",
	   done, outcomes[CRASHED]);
	ok(outcomes[REFUSED] && outcomes[RAN], "some are refused and some are accepted");
}
