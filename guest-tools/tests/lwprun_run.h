/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running lwprun with the fake processor and the victim, and what came of it. */
#ifndef LWPRUN_TEST_RUN_H
#define LWPRUN_TEST_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "lwpdata.h"

#define MAX 64
#define VICTIM getenv("VICTIM")

/* What a run left behind. */
struct run {
	int status; /* as a shell shows it */
	char errors[4096]; /* standard error */
	bool have_file;
	unsigned int sections;
	uint64_t records, missed;
	uint32_t kept_bits; /* one of 2^kept_bits records was kept */
	uint32_t nr_processes, nr_threads;
	struct {
		char comm[32], exe[512];
		uint32_t pid, parent, origin, how;
		uint64_t records;
	} processes[MAX];
	struct {
		uint32_t process, flags;
		char comm[32];
		uint64_t records, missed, end_records;
		uint64_t stacks, weight,
			least; /* how many, what they stand for, addresses in the shortest */
	} threads[MAX];
	struct lwpdata_stats stats;
	uint32_t program_object;
	unsigned int data_maps, data_unmaps;
	unsigned int heaps, stacks, program_data; /* of these data_maps */
};
extern struct run run;

/* Where the profile is. */
extern char data_path[128];
/* The folder that it is in, the test's own. */
extern char directory[64];

/* Of a suite: .init and .fini. */
void set_up(void);
void tear_down(void);

/* Run a program; its errors and its status are in `run`. */
void run_program(const char *const argv[]);

/* Run lwprun with these arguments after -o DATA, up to NULL. */
void lwprun(const char *first, ...);

/* Calls `each` for every section of the profile. */
void for_sections(void (*each)(const struct lwpdata_section *));

void copy_text(char *to, size_t size, struct lwpdata_bytes text);

/* How many lines a text has. */
uint32_t lines(const char *text);

#endif
