// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What lwprun refuses, each in one line, with the fake processor and the victim as in test_lwprun.c.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
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

Test(refusals, a_static_program_cannot_wait_for_its_records_to_be_written)
{
	lwprun("--windows=all", getenv("STATIC_PROGRAM"), NULL);
	expect_refusal(1, "nothing can be preloaded into it");
	expect_refusal(1, "liblwp");
}

Test(refusals, what_cannot_be_attached_to_is_refused)
{
	/* One more than Linux has. */
	lwprun("--pid=4194305", NULL);
	expect_refusal(2, "1 to 4194304");
	lwprun("--pid=0", NULL);
	expect_refusal(2, "1 to 4194304");
	lwprun("--pid=4194304", NULL);
	expect_refusal(1, "process 4194304: No such file or directory");
	lwprun("--pid=1", VICTIM, "records", "1", NULL);
	expect_refusal(2, "--pid does not go with a program");
	lwprun("--pid=1", "--windows=all", NULL);
	expect_refusal(2, "--pid does not go with --windows=all");
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
	lwprun(path, NULL);
	expect_refusal(1, "not a 64-bit x86 program");
	expect_refusal(1, "liblwp");
	unlink(path);
}

Test(refusals, a_set_user_id_program_is_refused)
{
	char path[128], command[1200];

	snprintf(path, sizeof(path), "%s/setuid", directory);
	snprintf(command, sizeof(command), "cp %s %s && chmod 4755 %s", VICTIM, path, path);
	cr_assert(eq(int, system(command), 0));
	lwprun(path, "records", "1", NULL);
	expect_refusal(1, "set-user-ID");
	chmod(path, 02755);
	lwprun(path, "records", "1", NULL);
	expect_refusal(1, "set-group-ID");
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
	lwprun("--windows=all", path, NULL);
	expect_refusal(1, "nothing can be preloaded into it");
	file = fopen(path, "w");
	fputs("#!/bin/sh\nexit 9\n", file);
	fclose(file);
	lwprun("-q", path, NULL);
	cr_expect(eq(int, run.status, 9));
	unlink(path);
}

Test(refusals, wrong_programs_are_refused)
{
	lwprun("/nonexistent", NULL);
	expect_refusal(1, "No such file");
	lwprun("/", NULL);
	expect_refusal(1, "Is a directory");
	lwprun("-o", "/dev/null", VICTIM, NULL);
	expect_refusal(1, "not a regular file");
	lwprun("/etc/passwd", NULL);
	expect_refusal(1, "Permission denied");
	lwprun("no-such-program", NULL);
	expect_refusal(1, "No such file");
}

Test(refusals, numbers_out_of_range_are_refused)
{
	/* 25 bits: 33554431 is the largest interval. */
	lwprun("-e", "instructions:33554432", VICTIM, NULL);
	expect_refusal(2, "0 to 33554431");
	lwprun("-e", "instructions:-1", VICTIM, NULL);
	expect_refusal(2, "0 to 33554431");
	lwprun("-e", "nonsense", VICTIM, NULL);
	expect_refusal(2, "unknown event");
	lwprun("-e", "cycles,cycles", VICTIM, NULL);
	expect_refusal(2, "twice");
	lwprun("-m", "1000", VICTIM, NULL);
	expect_refusal(2, "multiple of 32");
	/* LwpMinBufferSize 1: 32 records. */
	lwprun("-m", "992", VICTIM, NULL);
	expect_refusal(2, "1024");
	lwprun("--live=0s", VICTIM, NULL);
	expect_refusal(2, "up to an hour");
	lwprun("-r", "16", VICTIM, NULL);
	expect_refusal(2, "0 to 15");
	lwprun("--max-threads=0", VICTIM, NULL);
	expect_refusal(2, "1 to");
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
	lwprun(VICTIM, "records", "300000", NULL);
	expect_refusal(1, "cannot write");
	/* With an interval nothing is thinned at the end. */
	lwprun("-e", "instructions:1009", VICTIM, "records", "300000", NULL);
	expect_refusal(1, "cannot write");
	/* Nor a temporary one: the directory is empty. */
	cr_expect(eq(int, rmdir(directory), 0));
}
