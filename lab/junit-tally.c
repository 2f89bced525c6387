// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * junit-tally FILE: sum up a Meson testlog.junit.xml, print "PASSED FAILED SKIPPED".
 *
 * Each <testsuite> element carries the numbers of its test cases as attributes; a TAP suite has one
 * test case for each of the tests in the program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	if (!f || getdelim(&text, &room, '\0', f) < 0) {
		fprintf(stderr, "junit-tally: %s: %s\n", path, errno ? strerror(errno) : "empty");
		exit(1);
	}
	fclose(f);
	return text;
}

/* attribute - the number in NAME="N" of the tag that ends at @end; 0 when it is not there */
static unsigned long attribute(const char *tag, const char *end, const char *name)
{
	char pattern[32];
	const char *found;

	snprintf(pattern, sizeof(pattern), " %s=\"", name);
	found = strstr(tag, pattern);
	return found && found < end ? strtoul(found + strlen(pattern), NULL, 10) : 0;
}

int main(int argc, char **argv)
{
	static const char suite[] = "<testsuite ";
	unsigned long tests = 0, failed = 0, skipped = 0;
	const char *tag, *end;

	if (argc != 2) {
		fprintf(stderr, "usage: junit-tally FILE\n");
		return 2;
	}
	for (tag = read_file(argv[1]); (tag = strstr(tag, suite)); tag = end) {
		end = strchr(tag, '>');
		if (!end)
			break;
		tests += attribute(tag, end, "tests");
		failed += attribute(tag, end, "failures") + attribute(tag, end, "errors");
		skipped += attribute(tag, end, "skipped");
	}
	if (failed + skipped > tests) {
		fprintf(stderr, "junit-tally: %s: more results than tests\n", argv[1]);
		return 1;
	}
	printf("%lu %lu %lu\n", tests - failed - skipped, failed, skipped);
	return 0;
}
