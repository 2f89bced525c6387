// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * late-records REFERENCE TESTED OVERSHOOTS PERMILLE: compare what random programs left in their rings.
 *
 * REFERENCE and TESTED are outputs of the flat test `diff` (records=1) with the same programs; OVERSHOOTS has the
 * trace events kvm_lwp_overshoot of the second run. A program whose ring, block and missed events are not the
 * same must have been late: each record of TESTED that REFERENCE does not have, by a longest common subsequence of
 * the program's records, is named by an overshoot, in the order of the trace; and none is lost but those that were
 * missed instead, or whose event is late beyond the program's end. At most PERMILLE of the records of instructions and branches after the first 100 may overshoot;
 * 0: none at all.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_INSNS 2
#define EVENT_BRANCHES 3
#define FIRST_RECORDS 100 /* before the margin is found */
#define MAX_PROGRAMS 20000
#define MAX_RECORDS 512 /* more than a ring has slots */
#define MAX_OVERSHOOTS 1000000

struct record {
	unsigned long first, address, target;
};

struct program {
	unsigned int number, head, count;
	unsigned int due; /* events that would have had a record if the program had gone on */
	unsigned long missed;
	char hashes[64];
	struct record *record;
};

struct run {
	unsigned int count;
	struct program *program;
};

struct overshoot {
	unsigned int event;
	unsigned long address; /* 0: it was not known when it was traced */
};

static struct overshoot overshoots[MAX_OVERSHOOTS];
static unsigned int overshoot_count;

static _Noreturn void bad(const char *path, const char *what)
{
	fprintf(stderr, "late-records: %s: %s\n", path, what);
	exit(1);
}

static FILE *open_input(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f)
		bad(path, strerror(errno));
	return f;
}

static void *allocate(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p)
		bad("records", "no memory");
	return p;
}

/* One line of a run: a program's end, or one of its records behind that. */
static void take_line(const char *path, struct run *run, const char *line)
{
	struct program next = { 0 }, *p = run->count ? &run->program[run->count - 1] : NULL;
	const char *at = strstr(line, "# dump program ");
	struct record r;

	if (at &&
	    sscanf(at,
		   "# dump program %u: ring %16[0-9a-f] block %16[0-9a-f] memory %*x stops %*x %*u head %x missed %lx due %u",
		   &next.number, next.hashes, next.hashes + 20, &next.head, &next.missed,
		   &next.due) == 6) {
		if (run->count == MAX_PROGRAMS)
			bad(path, "too many programs");
		next.record = allocate(MAX_RECORDS, sizeof(r));
		run->program[run->count++] = next;
		return;
	}
	at = strstr(line, "# record ");
	if (!at || !p)
		return;
	if (p->count == MAX_RECORDS ||
	    sscanf(at, "# record %lx %lx %lx", &r.first, &r.address, &r.target) != 3)
		bad(path, "a record that cannot be");
	p->record[p->count++] = r;
}

static void read_run(const char *path, struct run *run)
{
	FILE *f = open_input(path);
	char *line = NULL;
	size_t room = 0;

	run->program = allocate(MAX_PROGRAMS, sizeof(*run->program));
	while (getline(&line, &room, f) >= 0)
		take_line(path, run, line);
	free(line);
	fclose(f);
	if (!run->count)
		bad(path, "no programs");
}

static void read_overshoots(const char *path)
{
	FILE *f = open_input(path);
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, f) >= 0) {
		struct overshoot *o = &overshoots[overshoot_count];
		const char *at = strstr(line, " event ");

		if (overshoot_count == MAX_OVERSHOOTS)
			bad(path, "too many overshoots");
		if (!at || sscanf(at, " event %u names %lx", &o->event, &o->address) != 2)
			bad(path, "a line that is no overshoot");
		overshoot_count++;
	}
	free(line);
	fclose(f);
}

static bool same_program(const struct program *a, const struct program *b)
{
	return a->number == b->number && a->head == b->head && a->missed == b->missed &&
	       a->due == b->due && !memcmp(a->hashes, b->hashes, sizeof(a->hashes));
}

/* Mark the records of either that belong to a longest common subsequence. */
static void common(const struct program *a, const struct program *b, bool *in_a, bool *in_b)
{
	static unsigned short longest[MAX_RECORDS + 1][MAX_RECORDS + 1];
	unsigned int i, j;

	memset(longest, 0, sizeof(longest));
	for (i = a->count; i-- > 0;) {
		for (j = b->count; j-- > 0;) {
			if (!memcmp(&a->record[i], &b->record[j], sizeof(struct record)))
				longest[i][j] = longest[i + 1][j + 1] + 1;
			else if (longest[i + 1][j] > longest[i][j + 1])
				longest[i][j] = longest[i + 1][j];
			else
				longest[i][j] = longest[i][j + 1];
		}
	}
	for (i = 0, j = 0; i < a->count && j < b->count;) {
		if (!memcmp(&a->record[i], &b->record[j], sizeof(struct record)))
			in_a[i++] = in_b[j++] = true;
		else if (longest[i + 1][j] >= longest[i][j + 1])
			i++;
		else
			j++;
	}
}

static unsigned int event_of(const struct record *r)
{
	return r->first & 0xff;
}

static bool sampled(const struct record *r)
{
	return event_of(r) == EVENT_INSNS || event_of(r) == EVENT_BRANCHES;
}

/* Is it the next one but for some that made no difference? */
static bool named(const struct record *r, unsigned int *next)
{
	unsigned int i;

	for (i = *next; i < overshoot_count; i++) {
		if (overshoots[i].event == event_of(r) &&
		    (!overshoots[i].address || overshoots[i].address == r->address)) {
			*next = i + 1;
			return true;
		}
	}
	return false;
}

/* What the comparison has found so far. */
struct verdict {
	unsigned int same, differ, records, next, early;
	bool good;
};

/* One program; *v goes on. */
static void compare(const struct program *want, const struct program *got, struct verdict *v)
{
	bool in_want[MAX_RECORDS] = { false }, in_got[MAX_RECORDS] = { false };
	unsigned int i, lost = 0, late = 0;
	bool same = same_program(want, got);

	if (same)
		v->same++;
	else
		common(want, got, in_want, in_got);
	for (i = 0; i < got->count; i++) {
		const struct record *r = &got->record[i];

		v->records += sampled(r);
		if (same || in_got[i])
			continue;
		late++;
		if (named(r, &v->next)) {
			v->early += v->records <= FIRST_RECORDS;
			continue;
		}
		printf("program %u: record %u (event %u, 0x%lx) is not the reference's, nor counted as late\n",
		       got->number, i, event_of(r), r->address);
		v->good = false;
	}
	v->differ += late;
	for (i = 0; i < want->count && !same; i++)
		lost += !in_want[i];
	if (!same && lost + want->missed + want->due > late + got->missed + got->due) {
		printf("program %u: %u records and %lu missed events instead of %u and %lu\n",
		       got->number, got->count, got->missed, want->count, want->missed);
		v->good = false;
	}
	if (!same && !late && !lost) {
		printf("program %u: the records are the same, ring or block are not\n",
		       got->number);
		v->good = false;
	}
}

int main(int argc, char **argv)
{
	struct verdict v = { .good = true };
	struct run want = { 0 }, got = { 0 };
	unsigned int i, late, of;
	unsigned long permille;

	if (argc != 5) {
		fprintf(stderr, "usage: late-records REFERENCE TESTED OVERSHOOTS PERMILLE\n");
		return 2;
	}
	read_run(argv[1], &want);
	read_run(argv[2], &got);
	read_overshoots(argv[3]);
	permille = strtoul(argv[4], NULL, 10);
	if (want.count != got.count)
		bad(argv[2], "not the same programs");
	for (i = 0; i < want.count; i++)
		compare(&want.program[i], &got.program[i], &v);
	late = overshoot_count - v.early;
	of = v.records > FIRST_RECORDS ? v.records - FIRST_RECORDS : 0;
	printf("%u of %u programs the same; %u overshoots, %u records differ; after the first %u: %u of %u (%.2f%%)\n",
	       v.same, want.count, overshoot_count, v.differ, FIRST_RECORDS, late, of,
	       of ? 100.0 * late / of : 0.0);
	if (permille ? late * 1000ul > permille * of : overshoot_count) {
		printf("more than %lu of a thousand are late\n", permille);
		v.good = false;
	}
	return !v.good;
}
