/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the programs in this folder: the machine, the modules and the arguments of each run. */
#ifndef KVM_PROGRAMS_H
#define KVM_PROGRAMS_H

#include <stddef.h>

/* What a run's result is. */
enum kvm_result {
	KVM_RESULT_TAP, /* TAP: each line counts */
	KVM_RESULT_SEEDED_TAP, /* TAP; a seed may follow the arguments, else the program draws one */
	KVM_RESULT_EXITS, /* the lines "# exits": the same with the kernel's own modules */
};

#define KVM_MAX_RUNS 9
#define KVM_MAX_ARGS 4

/* One run in L1, the machine that QEMU in TCG emulates. */
struct kvm_run {
	const char *name; /* unique in the program; NULL: the program's only run */
	const char *line; /* what differs from the program's other runs, NULL: nothing */
	const char *cpu; /* -cpu of L1's machine, without its "-lwp" */
	const char *kvm_amd; /* parameters of the module kvm_amd, NULL: none */
	const char *args[KVM_MAX_ARGS + 1]; /* of the program, up to a NULL */
	unsigned int smp; /* processors of L1, 0: one */
	unsigned int limit; /* seconds, 0: KVM_RUN_LIMIT */
};

struct kvm_program {
	const char *name; /* the executable's, "kvm_" and the name of the runs */
	const char *line; /* one line of description */
	const char *since; /* the first kernel that has what it tests, as "7.3"; NULL: all have */
	enum kvm_result result;
	unsigned int single; /* index of the run for those who run each program once */
	struct kvm_run runs[KVM_MAX_RUNS]; /* those with a cpu */
};

/* Many times what any run takes: a machine that hangs is a failure, not the end of the test. */
#define KVM_RUN_LIMIT 1500

#define KVM_PROGRAM_PREFIX "kvm_"

extern const struct kvm_program kvm_programs[];
extern const size_t kvm_program_count;

/* How many runs a program has. */
unsigned int kvm_run_count(const struct kvm_program *p);
/* The unique name of a run, as "test_perf/skid-500"; "test_abi" for an only run. */
void kvm_run_name(const struct kvm_program *p, const struct kvm_run *r, char *to, size_t size);
/* The word for a program's result. */
const char *kvm_result_word(enum kvm_result result);

#endif
