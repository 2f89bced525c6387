// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One of the two programs of test_two: linked twice, at disjoint fixed addresses. Profiles known code of its
 * own on CPU 0 and reports in TAP; argv[1] is the name to report under.
 */
#include <unistd.h>

#include "known.h"
#include "lwptest.h"

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "fixed";
	char go;

	lwptest_stay_on(0);
	lwptest_need(IRE);
	/* Both start when the parent closes the pipe. */
	if (read(STDIN_FILENO, &go, 1) < 0)
		tap_error("no start signal");
	for (int round = 0; round < 4; round++) {
		struct lwptest t;

		lwptest_setup(&t, IRE, 96 + round, 50, 131072);
		known_yield(t.block, 5000, 200);
		lwptest_complete(&t, KNOWN_YIELD(5000, 200), name);
		lwptest_inside(&t, known_yield_begin, known_yield_end, name);
		lwptest_free(&t);
	}
	return tap_done();
}
