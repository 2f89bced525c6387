// SPDX-License-Identifier: GPL-2.0-or-later
/* fork: the child has a new address space, so LWP is off there; the parent's profile is not disturbed (43724-902). */
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include "known.h"
#include "lwptest.h"

int main(void)
{
	struct lwptest parent, after;
	struct lwp_record rec;
	uint64_t records, strangers = 0;
	int status;
	pid_t child;

	lwptest_need(IRE);
	lwptest_setup(&parent, IRE, 9, 9, 65536);
	__llwpcb(parent.block);
	tap(__slwpcb() == parent.block, "LWP is on in the parent");
	child = fork();
	if (!child) {
		bool off = !__slwpcb();

		/* Its own profile is exact, and goes to its own ring. */
		lwptest_setup(&after, IRE, 0, 0, 65536);
		known_loop(after.block, 10000);
		_exit(off && lwptest_records(&after) == KNOWN_LOOP(10000) ? 0 : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		tap_error("cannot fork");
	tap(__slwpcb() == parent.block, "LWP is still on in the parent");
	__llwpcb(NULL);
	tap(WIFEXITED(status) && !WEXITSTATUS(status),
	    "it was off in the child, whose own ring is exact");
	records = lwptest_records(&parent);
	tap(records > 10, "the parent has records: %llu", (unsigned long long)records);
	for (uint64_t i = 0; i < records; i++) {
		lwptest_record(&parent, i, &rec);
		strangers += rec.address >= (uintptr_t)known_loop_begin &&
			     rec.address < (uintptr_t)known_loop_end;
	}
	tap(!strangers, "none of them from the child's loop (%llu)", (unsigned long long)strangers);
	lwptest_setup(&after, IRE, 3, 3, 65536);
	known_loop(after.block, 10000);
	lwptest_complete(&after, KNOWN_LOOP(10000), "the parent afterwards");
	return tap_done();
}
