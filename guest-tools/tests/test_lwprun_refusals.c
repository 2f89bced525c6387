// SPDX-License-Identifier: GPL-2.0-or-later
/* What lwprun refuses, each in one line, with the fake processor and the victim as in test_lwprun.c. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lwprun_run.h"

TestSuite(refusals, .init = set_up, .fini = tear_down, .timeout = 60);

static void expect_refusal(int status, const char *words)
{
	cr_expect(eq(int, run.status, status));
	cr_expect(eq(u32, lines(run.errors), 1), "%s", run.errors);
	cr_expect(strstr(run.errors, words) != NULL, "%s", run.errors);
	cr_expect(not(run.have_file));
}

/* Running lwprun with these arguments. */
#define refused(status, words, ...) (lwprun(__VA_ARGS__, NULL), expect_refusal(status, words))

Test(refusals, a_static_program_cannot_wait_for_its_records_to_be_written)
{
	refused(1, "nothing can be preloaded into it", "--windows=all", getenv("STATIC_PROGRAM"));
	expect_refusal(1, "liblwp");
}

Test(refusals, what_cannot_be_attached_to_is_refused)
{
	/* One more than Linux has. */
	refused(2, "1 to 4194304", "--pid=4194305");
	refused(2, "1 to 4194304", "--pid=0");
	refused(1, "process 4194304: No such file or directory", "--pid=4194304");
	refused(2, "--pid does not go with a program", "--pid=1", VICTIM, "records", "1");
	refused(2, "--pid does not go with --windows=all", "--pid=1", "--windows=all");
}

Test(refusals, a_32_bit_program_is_told_of_liblwp)
{
	char path[128];
	/* The begin of an ELF file of class 32. */
	const char head[64] = "\x7f"
			      "ELF\x01\x01\x01";
	FILE *file;

	snprintf(path, sizeof(path), "%s/program32", directory);
	file = fopen(path, "w");
	fwrite(head, 1, sizeof(head), file);
	fclose(file);
	chmod(path, 0755);
	refused(1, "not a 64-bit x86 program", path);
	expect_refusal(1, "liblwp");
	unlink(path);
}

Test(refusals, a_set_user_id_program_is_refused)
{
	char path[128], command[1200];

	snprintf(path, sizeof(path), "%s/setuid", directory);
	snprintf(command, sizeof(command), "cp %s %s && chmod 4755 %s", VICTIM, path, path);
	cr_assert(eq(int, system(command), 0));
	refused(1, "set-user-ID", path, "records", "1");
	chmod(path, 02755);
	refused(1, "set-group-ID", path, "records", "1");
	unlink(path);
}

Test(refusals, the_interpreter_of_a_script_is_followed)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/script", directory);
	file = fopen(path, "w");
	fprintf(file, "#!%s\n", getenv("STATIC_PROGRAM"));
	fclose(file);
	chmod(path, 0755);
	refused(1, "nothing can be preloaded into it", "--windows=all", path);
	file = fopen(path, "w");
	fputs("#!/bin/sh\nexit 9\n", file);
	fclose(file);
	lwprun("-q", path, NULL);
	cr_expect(eq(int, run.status, 9));
	unlink(path);
}

Test(refusals, wrong_programs_are_refused)
{
	refused(1, "No such file", "/nonexistent");
	refused(1, "Is a directory", "/");
	refused(1, "not a regular file", "-o", "/dev/null", VICTIM);
	refused(1, "Permission denied", "/etc/passwd");
	refused(1, "No such file", "no-such-program");
}

Test(refusals, numbers_out_of_range_are_refused)
{
	/* 25 bits: 33554431 is the largest interval. */
	refused(2, "0 to 33554431", "-e", "instructions:33554432", VICTIM);
	refused(2, "0 to 33554431", "-e", "instructions:-1", VICTIM);
	refused(2, "unknown event", "-e", "nonsense", VICTIM);
	refused(2, "twice", "-e", "cycles,cycles", VICTIM);
	refused(2, "multiple of 32", "-m", "1000", VICTIM);
	/* LwpMinBufferSize 1: 32 records. */
	refused(2, "1024", "-m", "992", VICTIM);
	refused(2, "up to an hour", "--live=0s", VICTIM);
	refused(2, "0 to 15", "-r", "16", VICTIM);
	refused(2, "1 to", "--max-threads=0", VICTIM);
}

Test(refusals, windows_have_every_branch_and_nothing_else)
{
	refused(2, "--event does not go with", "--windows", "-ebranches", VICTIM);
	refused(2, "--event does not go with", "--windows", "-einstructions", VICTIM);
	refused(2, "multiple of 32K", "--windows", "-m4K", VICTIM);
	refused(2, "--random does not go with", "--windows", "-r1", VICTIM);
	refused(2, "window of branches '1'", "--windows=1", VICTIM);
	refused(2, "window of branches 'x'", "--windows=x", VICTIM);
	refused(2, "window's share of branches ''", "--windows=8:", VICTIM);
	refused(2, "window's share of branches '1ms' is not a number from 8", "--windows=8:1ms",
		VICTIM);
	refused(2, "window's share of branches '7'", "--windows=8:7", VICTIM);
	refused(2, "multiple of 32K", "--windows=all", "-m4K", VICTIM);
}

Test(refusals, stacks_are_of_one_event)
{
	refused(2, "--stacks does not go with --windows", "--stacks", "--windows", VICTIM);
	refused(2, "--stacks wants one event", "--stacks", "-einstructions,branches", VICTIM);
	refused(2, "multiple of 32K", "--stacks", "-m4K", VICTIM);
	refused(2, "--pid does not go with --stacks", "--pid=1", "--stacks");
	refused(1, "as --stacks wants", "--stacks", getenv("STATIC_PROGRAM"));
}

Test(refusals, a_pool_that_is_too_small_is_said_to_be)
{
	const char *argv[] = { VICTIM, "records", "1", NULL };
	FILE *pool = fopen(data_path, "w");
	char preload[1024];

	cr_assert(pool != NULL);
	fputs("not a pool", pool);
	fclose(pool);
	snprintf(preload, sizeof(preload), "%s:%s", getenv("FAKE_LWP"), getenv("LIBLWPRUN"));
	setenv("LD_PRELOAD", preload, 1);
	setenv("LWPRUN_POOL", data_path, 1);
	run_program(argv);
	cr_expect(strstr(run.errors, "is not profiled") != NULL, "%s", run.errors);
	cr_expect(strstr(run.errors, "too small") != NULL, "%s", run.errors);
}

Test(refusals, a_full_disk_leaves_no_file)
{
	struct rlimit limit = { .rlim_cur = 100000, .rlim_max = RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	refused(1, "cannot write", VICTIM, "records", "300000");
	/* With an interval nothing is thinned at the end. */
	refused(1, "cannot write", "-e", "instructions:1009", VICTIM, "records", "300000");
	/* Nor a temporary one: the directory is empty. */
	cr_expect(eq(int, rmdir(directory), 0));
}
