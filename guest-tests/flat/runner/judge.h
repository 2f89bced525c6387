/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The serial log of a suite (kernel/suite.h), or of single rows of one, judged without the machine that wrote it. */
#ifndef FLATRUN_JUDGE_H
#define FLATRUN_JUDGE_H

#include <stdio.h>

enum judgement { JUDGED_PASS, JUDGED_FAIL, JUDGED_SKIP, JUDGED_NO_LOG };

/*
 * A TAP line for each row of the log goes to `to`, with the points that are not ok below it. JUDGED_SKIP: no row has
 * run. JUDGED_NO_LOG: no row begins there; nothing has been written.
 */
enum judgement judge(FILE *log, FILE *to);

#endif
