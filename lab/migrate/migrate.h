/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tests of migration: what the user asked for, and the parts. */
#ifndef LAB_MIGRATE_H
#define LAB_MIGRATE_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_QEMU_ARGS 80

struct options {
	const char *qemu, *base; /* patched, unpatched */
	const char *firmware, *flat; /* -L; the test kernel */
	const char *kernel, *initrd; /* Linux, whose init is guest-tests/linux/live */
	const char *accel; /* of the flat machine, and of the Linux guest */
	const char *into; /* of the one that takes a save up; NULL: the same */
	const char *into_qemu; /* its emulator; qemu if none is named */
	const char *machine; /* its type, NULL: the current q35 */
	const char *properties; /* more of the flat machine's CPU; NULL: none */
	const char *role; /* of this host in a pair: first or second */
	const char *work; /* a directory of our own */
	uint64_t seed;
	unsigned int count; /* of points, mutations, migrations, turns */
	unsigned int jobs;
};
extern struct options opt;

/* One verdict: a line, and a count for the end. Returns cond. */
bool ok(bool cond, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line for what this machine lacks, counted too. */
void skipped(const char *what);

/* Uniform in 0..below - 1, from opt.seed and what was drawn before. */
uint64_t draw(uint64_t below);
/* From now on as if that had been the seed. */
void draw_from(uint64_t seed);

/*
 * The machine of the flat tests with @cpu properties behind the model, running the test kernel with the
 * command line @append; @extra (NULL: none) goes behind. The result lasts until the next call.
 */
const char *const *flat_machine(const char *qemu, const char *cpu, const char *append,
				const char *const *extra);
/* The same with opt.into and opt.into_qemu. */
const char *const *flat_destination(const char *cpu, const char *append, const char *const *extra);

/* The program that goes through all states of the engine, in four machines. */
#define PROGRAMS 4
extern const struct program {
	const char *name, *cpu, *append;
	unsigned int share; /* of ten points */
	bool apart; /* TCG and KVM do not take up what the other saved */
} programs[PROGRAMS];
/* Output of the undisturbed run, the caller's to free, and how many steps it has (NULL: do not ask). */
char *program_output(const struct program *p, uint64_t *steps);
/* The part of the output that the program prints when it is over. */
const char *program_results(const char *text);

/*
 * Take the file @save up in a fresh process, of which @worker may have one at a time: are the results those
 * of @wanted?
 */
bool program_restored(const struct program *p, const char *save, unsigned int worker,
		      const char *wanted);

/* points.c: save and restore at opt.count points of a program, in every state of the engine */
void test_points(void);
/* mismatch.c: what does not fit is refused while the guest runs; what has no LWP goes both ways */
void test_mismatch(void);
/* fuzz.c: opt.count damaged streams */
void test_fuzz(void);
/* live.c: opt.count live migrations of a Linux guest */
void test_live(void);
/* pair.c: opt.count live migrations of the Linux guest from one host to another and back */
void test_pair(void);
/* pit.c: a machine whose PIT was loaded before zero */
void test_pit(void);
/* snapshot.c: opt.count snapshots in one process */
void test_snapshot(void);
/* moments.c: save and restore at opt.count moments, for any accelerator */
void test_moments(void);
/* downtime.c: opt.count turns */
void bench(void);

#endif
