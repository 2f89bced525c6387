// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings for which there is no memory. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <unistd.h>

#include "mappings.h"

static unsigned int left; /* calls that get memory */

void *__real_reallocarray(void *list, size_t nr, size_t size);
void *__wrap_reallocarray(void *list, size_t nr, size_t size);
void *__wrap_reallocarray(void *list, size_t nr, size_t size)
{
	return left && left-- ? __real_reallocarray(list, nr, size) : NULL;
}

/* Of mappings, files, names: each is the first for which there is none. */
Test(mappings, without_memory_the_profile_fails_and_the_program_runs_on)
{
	for (unsigned int calls = 0; calls < 4; calls++) {
		char path[] = "/tmp/test_mappings.XXXXXX";
		struct objects objects = { .profiler = "", .with_data = true };
		struct mappings mappings = { 0 };
		struct lwpdata_writer *writer;

		left = calls < 3 ? calls : 1000;
		close(mkstemp(path));
		writer = lwpdata_create(path);
		mappings_read(&mappings, getpid(), getpid(), 0, &objects, writer);
		cr_expect(eq(int, lwpdata_finish(writer), calls < 3 ? -ENOMEM : 0));
		unlink(path);
		mappings_free(&mappings);
		objects_free(&objects);
	}
}
