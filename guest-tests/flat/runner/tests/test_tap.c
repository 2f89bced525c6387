// SPDX-License-Identifier: GPL-2.0-or-later
/* What a run's output and ending amount to: pass, fail, skip, or an error of the test itself. */
#include <criterion/criterion.h>
#include <string.h>
#include "../tap.h"

#define EXIT_PASS 1 /* isa-debug-exit: 2 * 0 + 1 */
#define EXIT_FAIL 3
#define EXIT_BROKEN 5

static struct tap tap;
static char why[300];

static enum verdict verdict(const char *output, struct ending end)
{
	char copy[1000], *rest = copy, *line;

	memset(&tap, 0, sizeof(tap));
	why[0] = '\0';
	strcpy(copy, output);
	while ((line = strsep(&rest, "\n")))
		tap_line(&tap, line, NULL);
	return tap_verdict(&tap, &end, why, sizeof(why));
}

static enum verdict ended(const char *output, int status)
{
	return verdict(output, (struct ending){ .status = status });
}

Test(tap, all_points_ok_is_a_pass)
{
	cr_assert_eq(ended("TAP version 13\nok 1 - a\nok 2 - b # SKIP no c\n1..2\n", EXIT_PASS),
		     VERDICT_PASS);
	cr_assert_eq(tap.passed, 1);
	cr_assert_eq(tap.skipped, 1);
	cr_assert_eq(tap.failed, 0);
	cr_assert_str_empty(why);
}

Test(tap, a_point_not_ok_is_a_failure)
{
	cr_assert_eq(ended("TAP version 13\nok 1 - a\nnot ok 2 - b\n#   note\n1..2\n", EXIT_FAIL),
		     VERDICT_FAIL);
	cr_assert_eq(tap.failed, 1);
	cr_assert_str_empty(why);
}

Test(tap, nothing_but_skipped_points_is_a_skip)
{
	cr_assert_eq(ended("TAP version 13\nok 1 - a # SKIP x\n1..1\n", EXIT_PASS), VERDICT_SKIP);
}

Test(tap, a_missing_or_wrong_plan_is_an_error)
{
	cr_assert_eq(ended("TAP version 13\nok 1 - a\n", EXIT_PASS), VERDICT_ERROR);
	cr_assert_str_eq(why, "no plan after 1 points");
	cr_assert_eq(ended("TAP version 13\nok 1 - a\n1..2\n", EXIT_PASS), VERDICT_ERROR);
	cr_assert_str_eq(why, "1 points, but a plan of 2");
}

Test(tap, a_status_that_contradicts_the_points_is_an_error)
{
	cr_assert_eq(ended("TAP version 13\nnot ok 1 - a\n1..1\n", EXIT_PASS), VERDICT_ERROR);
	cr_assert_eq(ended("TAP version 13\nok 1 - a\n1..1\n", EXIT_FAIL), VERDICT_ERROR);
}

Test(tap, bailing_out_is_an_error_with_its_reason)
{
	cr_assert_eq(ended("TAP version 13\nok 1 - a\n\nBail out! kernel trap 14\n", EXIT_BROKEN),
		     VERDICT_ERROR);
	cr_assert_str_eq(why, "kernel trap 14");
}

Test(tap, an_emulator_that_fails_is_an_error)
{
	cr_assert_eq(ended("", EXIT_PASS), VERDICT_ERROR);
	cr_assert_str_eq(why, "QEMU ended with status 1 before the kernel started");
	cr_assert_eq(ended("TAP version 13\nok 1 - a\n1..1\n", 0), VERDICT_ERROR);
	cr_assert_eq(verdict("TAP version 13\n",
			     (struct ending){ .signalled = true, .status = 11 }),
		     VERDICT_ERROR);
	cr_assert_str_eq(why, "QEMU was killed by signal 11");
}

Test(tap, a_test_that_hangs_fails_and_a_kernel_that_never_starts_is_an_error)
{
	struct ending late = { .timed_out = true, .signalled = true, .status = 9 };

	cr_assert_eq(verdict("TAP version 13\nok 1 - a\n", late), VERDICT_FAIL);
	cr_assert_str_eq(why, "no end within the time limit, after 1 points");
	cr_assert_eq(verdict("SeaBIOS\n", late), VERDICT_ERROR);
	cr_assert_str_eq(why, "the kernel did not start within the time limit");
}

Test(tap, dump_lines_go_to_the_dump)
{
	char text[100] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	tap_line(&tap, "# dump a: 0 0201", f);
	tap_line(&tap, "# note", f);
	fclose(f);
	cr_assert_str_eq(text, "a: 0 0201\n");
}
