// SPDX-License-Identifier: GPL-2.0-or-later
/* What flatrun --judge says of serial logs, whole, cut and hostile. */
#include <criterion/criterion.h>
#include <string.h>
#include "../judge.h"

static char said[4000];

static enum judgement of(const char *text)
{
	FILE *log = fmemopen((void *)text, strlen(text), "r");
	FILE *to;
	enum judgement result;

	memset(said, 0, sizeof(said));
	to = fmemopen(said, sizeof(said), "w");
	result = judge(log, to);
	fclose(to);
	fclose(log);
	return result;
}

#define ROW(name) "# row " name "\nTAP version 13\n"

Test(judge, each_row_is_a_point)
{
	cr_assert_eq(
		of("SeaBIOS\r\n\r\n# suite: 3 rows\r\n\r\n" ROW("ire") "ok 1 - a\r\nok 2 - b\r\n1..2\r\n" ROW(
			"bre") "not ok 1 - c\r\n"
			       "#   is 1\r\n1..1\r\n" ROW(
				       "ring") "ok 1 - ring # SKIP needs lwp\r\n1..1\r\n\r\n# suite: end\r\n"),
		JUDGED_FAIL);
	cr_assert_str_eq(said, "TAP version 13\n"
			       "ok 1 - ire\n"
			       "not ok 2 - bre: 1 of 1 points\n"
			       "#   not ok 1 - c\n"
			       "ok 3 - ring # SKIP needs lwp\n"
			       "1..3\n"
			       "1 passed, 1 failed, 1 skipped\n");
}

Test(judge, rows_of_single_boots_need_no_suite)
{
	cr_assert_eq(of(ROW("ire") "ok 1 - a\n1..1\n"), JUDGED_PASS);
	cr_assert_str_eq(said, "TAP version 13\nok 1 - ire\n1..1\n1 passed, 0 failed, 0 skipped\n");
}

Test(judge, nothing_but_skipped_rows_is_a_skip)
{
	cr_assert_eq(of(ROW("ire") "ok 1 - ire # SKIP needs lwp\n1..1\n"), JUDGED_SKIP);
}

Test(judge, what_has_no_row_is_no_log)
{
	cr_assert_eq(of("\n"), JUDGED_NO_LOG);
	cr_assert_eq(of("TAP version 13\nok 1 - a\n1..1\n"), JUDGED_NO_LOG);
	cr_assert_str_empty(said);
}

Test(judge, a_log_that_is_cut_fails)
{
	cr_assert_eq(of("# suite: 2 rows\n" ROW("ire") "ok 1 - a\n"), JUDGED_FAIL);
	cr_assert(strstr(said, "not ok 1 - ire: the row has no end, after 1 points\n"));
	cr_assert(strstr(said,
			 "not ok 2 - the suite: 1 rows of 2 are in the log, and not its end\n"));
	cr_assert_eq(of("# suite: 2 rows\n"), JUDGED_FAIL);
	cr_assert(strstr(said, "0 rows of 2"));
}

Test(judge, a_suite_without_a_row_of_it_fails)
{
	cr_assert_eq(of("# suite: 2 rows\n" ROW("ire") "ok 1 - a\n1..1\n# suite: end\n"),
		     JUDGED_FAIL);
	cr_assert(strstr(said, "not ok 2 - the suite: 1 rows of 2 are in the log\n"));
}

Test(judge, a_second_boot_is_judged_for_itself)
{
	cr_assert_eq(
		of("# suite: 2 rows\n" ROW("ire") "ok 1 - a\n"
						  "# suite: 1 rows\n" ROW(
							  "bre") "ok 1 - a\n1..1\n# suite: end\n"),
		JUDGED_FAIL);
	cr_assert(strstr(said, "ok 3 - bre\n"));
	cr_assert(strstr(said, "1 passed, 2 failed"));
}

Test(judge, lines_that_are_missing_fail)
{
	cr_assert_eq(of(ROW("ire") "ok 1 - a\nok 3 - c\n1..3\n"), JUDGED_FAIL);
	cr_assert_eq(of(ROW("ire") "ok 1 - a\nok 1 - a\n1..2\n"), JUDGED_FAIL);
	cr_assert(strstr(said, "lines are missing"));
	cr_assert_eq(of(ROW("ire") "1..0\n"), JUDGED_FAIL);
	cr_assert(strstr(said, "no points"));
}

Test(judge, a_test_that_bails_out_fails_with_its_reason)
{
	cr_assert_eq(of(ROW("ire") "ok 1 - a\n\nBail out! kernel trap 14\n"), JUDGED_FAIL);
	cr_assert(strstr(said, "not ok 1 - ire: the test is broken: kernel trap 14\n"));
}

Test(judge, an_unknown_row_fails_and_is_printed_harmlessly)
{
	cr_assert_eq(of(ROW("\033[2J # SKIP x") "ok 1 - a\n1..1\n"), JUDGED_FAIL);
	cr_assert(strstr(said, "not ok 1 - ?[2J ? SKIP x: this flatrun has no row of this name\n"));
}

Test(judge, many_failures_are_not_all_shown)
{
	static char text[200000];
	FILE *f = fmemopen(text, sizeof(text), "w");
	int i;

	fprintf(f, ROW("ire"));
	for (i = 1; i <= 5000; i++)
		fprintf(f, "not ok %d - x\n", i);
	fprintf(f, "1..5000\n");
	fclose(f);
	cr_assert_eq(of(text), JUDGED_FAIL);
	cr_assert(strstr(said, "ire: 5000 of 5000 points\n"));
	cr_assert(strstr(said, "0 passed, 1 failed, 0 skipped\n"));
}
