// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Saving and restoring at many points of one program (guest-tests/flat/tests/migrate.c), which goes through
 * all states of the engine and prints at its end what is in block and ring. One machine stops at all
 * points, is saved and goes on; a fresh process takes each save up and runs to the end. All of them must print
 * what a machine prints that nobody has disturbed.
 *
 * Points are steps: under TCG those of the property x-lwp-steps, under KVM exits of the vCPU that LWP has asked
 * for. Half of those with a pending record are followed by the way to where it is stored, or faults.
 */
#include "migrate.h"
#include "stepper.h"
#include "vm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of 1,000 points, at least so many must fall into each state; under KVM of 100. */
#define LEAST_OF_1000 20
#define LEAST_OF_100_KVM 3

static const char *const words[] = {
	"idle", "due", "pending", "faulting", "retrying", "ring-full", "threshold", "llwpcb-fault",
};
#define WORDS (sizeof(words) / sizeof(words[0]))

const struct program programs[PROGRAMS] = {
	{ "auto", "+lwp", "test=migrate cpus=1", 5, false },
	{ "os", "+lwp,lwp-context=os", "test=migrate cpus=1 context=os", 2, true },
	{ "2007", "+lwp,lwp-rev=2007", "test=migrate cpus=1 rev=2007", 2, false },
	/* KVM has none. */
	{ "dcache", "+lwp,lwp-dme=on,lwp-cache-l1d=4K/1/4,lwp-cache-l2=none,lwp-cache-l3=none",
	  "test=migrate cpus=1 dcache=1", 1, true },
};

/* What a worker reports about one point. */
struct verdict {
	uint64_t step;
	uint32_t states; /* bit n: words[n] */
	bool same;
	bool end; /* the source's own output, after all points */
};

const char *program_results(const char *text)
{
	const char *start = strstr(text, "# counting:");

	if (!start)
		start = strstr(text, "# misses:");
	return start ? start : text;
}

static bool on_kvm(void)
{
	return !strcmp(opt.accel, "kvm");
}

/* Does a restored machine print what it should? Saved while it was printing, it prints what is left. */
static bool ends_as(const char *text, const char *wanted)
{
	size_t len = strlen(text), whole = strlen(wanted);

	if (strstr(text, "# counting:") || strstr(text, "# misses:"))
		return !strcmp(program_results(text), wanted);
	return len && len < whole && !strcmp(wanted + whole - len, text);
}

static char *file_name(const char *what, unsigned int number)
{
	char *name;

	if (asprintf(&name, "%s/%s%u", opt.work, what, number) < 0)
		broken("no memory");
	return name;
}

/* @counter: of stepper_count(), under KVM */
static uint64_t steps_now(struct vm *vm, int counter)
{
	return on_kvm() ? stepper_counted(counter) : vm_cpu_number(vm, "x-lwp-steps");
}

static bool is_in(struct vm *vm, const char *state)
{
	char *text = vm_cpu_string(vm, "x-lwp-state");
	bool is = strstr(text, state);

	free(text);
	return is;
}

/* Run to a step. False: the machine has ended. */
static bool run_to(struct vm *vm, uint64_t step, int counter)
{
	if (!on_kvm()) {
		vm_cpu_set(vm, "x-lwp-stop-at", step);
		qmp_drop_events(&vm->qmp);
		vm_do(vm, "cont", NULL);
		vm_event(vm, "STOP");
		return true;
	}
	if (!stepper_run(vm, STEPPER_EXIT, step - steps_now(vm, counter)))
		return false;
	/* What becomes of a pending record is decided right behind: it is stored, or faults. */
	return draw(2) || !is_in(vm, "pending") || stepper_run(vm, STEPPER_BOUNDARY, 1);
}

char *program_output(const struct program *p, uint64_t *steps)
{
	static const char *const extra[] = { "-no-shutdown", "-S", NULL };
	char *output = file_name("reference", 0), *log = file_name("log", 0), *text;
	int counter = -1;
	struct vm vm;

	if (!vm_start(&vm, "reference", flat_machine(opt.qemu, p->cpu, p->append, extra), output,
		      log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	if (steps && on_kvm())
		counter = stepper_count(&vm);
	vm_do(&vm, "cont", NULL);
	vm_event(&vm, "SHUTDOWN");
	if (steps)
		*steps = steps_now(&vm, counter);
	vm_kill(&vm);
	if (counter >= 0)
		close(counter);
	text = read_file(output, NULL);
	if (!strstr(text, "\n1..") || strstr(text, "not ok"))
		broken("the program itself fails:\n%s", text);
	free(output);
	free(log);
	return text;
}

static uint32_t states_of(const char *text)
{
	uint32_t states = 0;
	size_t i;

	for (i = 0; i < WORDS; i++)
		states |= strstr(text, words[i]) ? 1u << i : 0;
	return states;
}

bool program_restored(const struct program *p, const char *save, unsigned int worker,
		      const char *wanted)
{
	char *output = file_name("restored", worker), *log = file_name("restored-log", worker),
	     *text;
	static const char *const extra[] = { "-incoming", "defer", NULL };
	struct vm vm;
	int status;
	bool same;

	if (!vm_start(&vm, "destination", flat_destination(p->cpu, p->append, extra), output, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	if (vm_load(&vm, save))
		vm_do(&vm, "cont", NULL);
	status = vm_wait(&vm, VM_PATIENCE);
	text = read_file(output, NULL);
	same = status == 1 && ends_as(text, wanted);
	if (!same) {
		char *errors = read_file(log, NULL);

		printf("# exit status %d, %s%s\n", status, errors, program_results(text));
		fflush(stdout);
		free(errors);
	}
	free(text);
	free(output);
	free(log);
	return same;
}

static void send_verdict(int to, const struct verdict *v)
{
	if (write(to, v, sizeof(*v)) != sizeof(*v))
		broken("a worker cannot report");
}

/* Does every opt.jobs-th point, in one source. */
static void work(const struct program *p, const uint64_t *points, unsigned int count,
		 unsigned int worker, const char *wanted, int to)
{
	static const char *const extra[] = { "-S", NULL };
	char *output = file_name("source", worker), *log = file_name("source-log", worker);
	char *save = file_name("save", worker), *text;
	struct verdict v = { 0 };
	bool ended = false;
	int counter = -1;
	unsigned int i;
	struct vm vm;

	if (!vm_start(&vm, "source", flat_machine(opt.qemu, p->cpu, p->append, extra), output, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	vm_capability(&vm, NULL);
	if (on_kvm())
		counter = stepper_count(&vm);
	for (i = worker; i < count; i += opt.jobs) {
		if (points[i] <= steps_now(&vm, counter))
			continue;
		ended = !run_to(&vm, points[i], counter);
		if (ended)
			break;
		text = vm_cpu_string(&vm, "x-lwp-state");
		v = (struct verdict){ .step = points[i], .states = states_of(text) };
		free(text);
		vm_save(&vm, save);
		v.same = program_restored(p, save, worker, wanted);
		send_verdict(to, &v);
	}
	if (!ended)
		vm_do(&vm, "cont", NULL);
	v = (struct verdict){ .end = true, .same = vm_wait(&vm, VM_PATIENCE) == 1 };
	text = read_file(output, NULL);
	v.same = v.same && !strcmp(program_results(text), wanted);
	send_verdict(to, &v);
	exit(0);
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One point in each of `count` parts of equal length. */
static uint64_t *choose(uint64_t steps, unsigned int count)
{
	uint64_t *points = calloc(count, sizeof(*points));
	unsigned int i;

	if (!points)
		broken("no memory");
	for (i = 0; i < count; i++)
		points[i] = 1 + i * steps / count + draw(steps / count);
	qsort(points, count, sizeof(*points), ascending);
	return points;
}

/* All points of a program; adds to fell[]. Returns how many were tried. */
static unsigned int run_program(const struct program *p, unsigned int count, unsigned int *fell)
{
	unsigned int tried = 0, differ = 0, ends = 0, i, s;
	uint64_t steps, *points;
	struct verdict v;
	char *wanted;
	int pipes[2];

	wanted = program_output(p, &steps);
	if (steps < count)
		broken("the program has %llu steps, too few", (unsigned long long)steps);
	points = choose(steps, count);
	fflush(stdout);
	if (pipe(pipes))
		broken("no pipe");
	for (i = 0; i < opt.jobs; i++) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(pipes[0]);
			work(p, points, count, i, program_results(wanted), pipes[1]);
		}
	}
	close(pipes[1]);
	while (read(pipes[0], &v, sizeof(v)) == sizeof(v)) {
		if (v.end) {
			ends += v.same;
			continue;
		}
		tried++;
		differ += !v.same;
		if (!v.same)
			printf("# differs when moved at step %llu\n", (unsigned long long)v.step);
		for (s = 0; s < WORDS; s++)
			fell[s] += v.states >> s & 1;
	}
	close(pipes[0]);
	while (wait(NULL) > 0)
		;
	ok(tried && !differ, "%s: %u of %u points over %llu steps end as the undisturbed run",
	   p->name, tried - differ, tried, (unsigned long long)steps);
	ok(ends == opt.jobs, "%s: a machine that was saved and goes on ends so, too", p->name);
	free(points);
	free(wanted);
	return tried;
}

/* How often points are drawn again because chance has left a state out. */
#define DRAWS_AGAIN 8

static bool lacks(const unsigned int fell[WORDS], unsigned int least)
{
	for (size_t i = 0; i < WORDS; i++) {
		if (fell[i] < least)
			return true;
	}
	return false;
}

void test_points(void)
{
	unsigned int fell[WORDS] = { 0 }, tried = 0, asked = 0, least;
	unsigned int more = opt.count / 5;
	size_t i;

	for (i = 0; i < PROGRAMS; i++) {
		unsigned int count = opt.count * programs[i].share / 10;

		if (!count || (opt.into && programs[i].apart) ||
		    (on_kvm() && strstr(programs[i].cpu, "lwp-dme=on")))
			continue;
		asked += count;
		tried += run_program(&programs[i], count, fell);
	}
	least = on_kvm() ? opt.count / 100 * LEAST_OF_100_KVM : opt.count * LEAST_OF_1000 / 1000;
	for (i = 0; i < DRAWS_AGAIN && more && lacks(fell, least); i++) {
		asked += more;
		tried += run_program(&programs[0], more, fell);
	}
	ok(tried >= asked * 9 / 10, "%u points tried of %u asked for", tried, asked);
	if (!least) {
		printf("#");
		for (i = 0; i < WORDS; i++)
			printf("%s %u in %s", i ? "," : "", fell[i], words[i]);
		putchar('\n');
		return;
	}
	for (i = 0; i < WORDS; i++)
		ok(fell[i] >= least, "%u points fell into '%s', at least %u should", fell[i],
		   words[i], least);
}
