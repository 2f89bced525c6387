// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a command writes to. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lwpctl.h"
#include "output.h"

FILE *output_open(const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;

	if (!out)
		complain("%s: %s", path, strerror(errno));
	return out;
}

bool output_close(FILE *out, const char *path, bool good)
{
	struct stat st;
	bool regular, lost;

	/* lwpctl.c looks after the standard output. */
	if (out == stdout)
		return good;
	regular = !fstat(fileno(out), &st) && S_ISREG(st.st_mode);
	/* What failed before the last bytes has set errno long ago. */
	errno = 0;
	lost = ferror(out);
	if ((fclose(out) || lost) && good)
		good = refuse("%s: %s", path, errno ? strerror(errno) : "cannot write this file");
	if (!good && regular)
		unlink(path);
	return good;
}

void put_json(json_object *root)
{
	puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(root);
}
