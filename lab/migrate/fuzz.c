// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Damaged streams: the saves of a profiled program, with bytes changed in what belongs to LWP, are loaded and
 * the program goes on to its end. QEMU may refuse or run; it must not crash, and whatever LWP writes must go to
 * block and ring of the states that were accepted, through pages that the program may write itself.
 */
#include "damage.h"
#include "migrate.h"
#include "vm.h"

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

enum outcome { REFUSED, RAN, LOOPED, CRASHED, OUTCOMES };

/* What became of a stream. */
struct verdict {
	unsigned int number, aim;
	enum outcome outcome;
	bool faulted; /* the program was told of more #PFs than without damage */
	struct written written;
};

/* A worker's files and memory, one machine at a time. */
struct worker {
	char stream[512], output[512], log[512];
	int memory;
};

/* #PFs in the program of each base that comes back as it was saved */
static unsigned int usual_faults[BASES];

static struct worker worker_new(unsigned int number)
{
	struct worker w = { .memory = memory_new() };

	snprintf(w.stream, sizeof(w.stream), "%s/damaged%u", opt.work, number);
	snprintf(w.output, sizeof(w.output), "%s/output%u", opt.work, number);
	snprintf(w.log, sizeof(w.log), "%s/log%u", opt.work, number);
	return w;
}

static void write_stream(const struct worker *w, const struct damage *d)
{
	FILE *f = fopen(w->stream, "we");

	if (!f || fwrite(d->bytes, 1, d->size, f) != d->size || fclose(f))
		broken("%s: %s", w->stream, strerror(errno));
}

static enum outcome run(const struct base *b, const struct worker *w)
{
	static const char *const extra[] = { "-incoming", "defer", NULL };
	bool loaded;
	struct vm vm;
	int status;

	memory_clear(w->memory);
	if (!vm_start(&vm, "destination",
		      flat_machine(opt.qemu, b->cpu, b->append, memory_arguments(w->memory, extra)),
		      w->output, w->log))
		broken("QEMU does not start: %s", read_file(w->log, NULL));
	loaded = vm_load(&vm, w->stream);
	/* The program may be over before QEMU has answered. */
	if (loaded)
		vm_try(&vm, "cont", NULL);
	status = vm_wait(&vm, LOOPING);
	if (status >= 128)
		return CRASHED;
	if (status < 0)
		return LOOPED;
	return loaded ? RAN : REFUSED;
}

/* #PFs, and whatever else kept the program from the end of a piece of code */
static unsigned int faults_in(const char *path)
{
	char *text = read_file(path, NULL), *line = strstr(text, "# faults ");
	unsigned int faults = 0;

	if (line)
		sscanf(line, "# faults %u", &faults);
	free(text);
	return faults;
}

static struct verdict try(unsigned int which, const struct damage *d, const struct worker *w)
{
	struct verdict v = { .aim = d->aim };
	struct span span[MAX_SPANS];
	unsigned int spans;

	write_stream(w, d);
	v.outcome = run(&bases[which], w);
	if (v.outcome == CRASHED)
		fprintf(stderr, "%s\n", read_file(w->log, NULL));
	if (v.outcome == RAN || v.outcome == LOOPED) {
		spans = damage_spans(which, d, span);
		v.written = territory_compare(damage_territory(which), w->memory, span, spans);
		v.faulted = faults_in(w->output) > usual_faults[which];
	}
	return v;
}

static _Noreturn void work(unsigned int number, int to)
{
	struct worker w = worker_new(number);
	struct verdict v;
	unsigned int which;
	struct damage d;

	for (; number < opt.count; number += opt.jobs) {
		/* From the number and the seed alone */
		draw_from(opt.seed + number);
		which = (unsigned int)draw(BASES);
		d = damage_draw(which);
		v = try(which, &d, &w);
		v.number = number;
		free(d.bytes);
		if (write(to, &v, sizeof(v)) != sizeof(v))
			broken("a worker cannot report");
	}
	exit(0);
}

/* Without damage: what LWP writes is there to be seen, and lies where it belongs. */
static void try_undamaged(void)
{
	struct worker w = worker_new(0);
	unsigned int i, contained = 0, wrote = 0;

	for (i = 0; i < BASES; i++) {
		struct damage d = damage_none(i);
		struct verdict v = try(i, &d, &w);

		usual_faults[i] = faults_in(w.output);
		contained += v.outcome == RAN && !v.written.stray && !v.written.redirected;
		wrote += v.written.bytes != 0;
		if (v.written.stray)
			printf("# base %u: physical address 0x%llx\n", i,
			       (unsigned long long)v.written.stray_at);
		free(d.bytes);
	}
	ok(contained == BASES, "undamaged streams: %u of %u write to their rings and blocks only",
	   contained, BASES);
	ok(wrote == BASES, "undamaged streams: %u of %u write", wrote, BASES);
	close(w.memory);
}

static struct tally {
	unsigned int outcomes[OUTCOMES];
	unsigned int wrote, redirected, stray; /* of those accepted */
	struct {
		unsigned int accepted, faulted, redirected;
	} aim[AIMS + 1]; /* NOT_AIMED, too */
} tally;

static void count(const struct verdict *v)
{
	bool accepted = v->outcome == RAN || v->outcome == LOOPED;

	tally.outcomes[v->outcome]++;
	tally.wrote += v->written.bytes != 0;
	tally.redirected += v->written.redirected != 0;
	tally.stray += v->written.stray;
	tally.aim[v->aim].accepted += accepted;
	tally.aim[v->aim].faulted += v->faulted;
	tally.aim[v->aim].redirected += v->written.redirected != 0;
	if (v->outcome == CRASHED)
		printf("# mutation %u crashes QEMU\n", v->number);
	if (v->written.stray)
		printf("# mutation %u: LWP writes to physical address 0x%llx\n", v->number,
		       (unsigned long long)v->written.stray_at);
}

/* What was aimed at was tried: with success where it may be written, with a fault elsewhere. */
static void judge_aims(void)
{
	unsigned int aim;

	for (aim = 0; aim < AIMS; aim++) {
		unsigned int accepted = tally.aim[aim].accepted;

		if (aim == WRITABLE)
			ok(tally.aim[aim].redirected,
			   "aimed at pages that are %s: %u accepted, %u write there",
			   aim_names[aim], accepted, tally.aim[aim].redirected);
		else
			ok(tally.aim[aim].faulted,
			   "aimed at pages that are %s: %u accepted, %u fault there",
			   aim_names[aim], accepted, tally.aim[aim].faulted);
	}
}

static void judge_all(void)
{
	const unsigned int *outcomes = tally.outcomes;
	unsigned int accepted = outcomes[RAN] + outcomes[LOOPED],
		     done = accepted + outcomes[REFUSED] + outcomes[CRASHED];

	printf("# %u refused, %u ran to an end, %u ran on; %u not aimed were accepted\n",
	       outcomes[REFUSED], outcomes[RAN], outcomes[LOOPED], tally.aim[NOT_AIMED].accepted);
	ok(done == opt.count && !outcomes[CRASHED], "%u damaged streams, %u of them crash QEMU",
	   done, outcomes[CRASHED]);
	ok(outcomes[REFUSED] && tally.aim[NOT_AIMED].accepted,
	   "some are refused and some are accepted");
	ok(tally.wrote && tally.redirected && !tally.stray,
	   "of %u accepted %u write, %u elsewhere than before, %u where they must not", accepted,
	   tally.wrote, tally.redirected, tally.stray);
	judge_aims();
}

void test_fuzz(void)
{
	struct verdict v;
	unsigned int i;
	int pipes[2];

	for (i = 0; i < BASES; i++)
		damage_prepare(i);
	try_undamaged();
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
	while (read(pipes[0], &v, sizeof(v)) == sizeof(v))
		count(&v);
	while (wait(NULL) > 0)
		;
	judge_all();
}
