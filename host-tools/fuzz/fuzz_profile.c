// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All commands that read a profile, on arbitrary files. The first byte says whether checksums are made right (bit 0),
 * and which command reads the file; the rest is the file. Nothing may crash, hang or leak, what merge writes can be read,
 * and what is written to the standard output goes to /dev/null.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "lwpctl.h"
#include "sign.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* No file of this machine is looked into. */
#define NOWHERE "--sysroot=/proc/tty" /* it is there, and has no files of guests */
#define WORDS_MAX 5

static char merged[] = "/tmp/fuzz_profile.XXXXXX"; /* what merge writes, which is a profile again */

static const struct {
	const struct command *command;
	const char *words[WORDS_MAX];
} runs[] = {
	{ &cmd_report, { "--limit=0", "--inline" } },
	{ &cmd_report, { "--json", "--by=thread,address,target" } },
	{ &cmd_report, { "--thread=1*", "--until=1", "--symbol=*" } },
	{ &cmd_report, { "--exact", "--calls", "--loops" } },
	{ &cmd_report, { "--calls", "--loops", "--json" } },
	{ &cmd_html, { "--source", "--inline" } },
	{ &cmd_diff, { "--all", "FILE" } },
	{ &cmd_annotate, { "*" } },
#define EXPORT_FORMAT(name, text) { &cmd_export, { "--format=" #name } },
#include "../profile/export/formats.h"
	{ &cmd_report, { "--by=symbol,variable,data" } },
	{ &cmd_decode, { NULL } },
	{ &cmd_merge, { "FILE" } },
};
#define NR_RUNS (sizeof(runs) / sizeof(runs[0]))

static void remove_merged(void)
{
	unlink(merged);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	complain_as = NULL;
	atexit(remove_merged);
	return mkstemp(merged) >= 0 && freopen("/dev/null", "w", stdout) ? 0 : 1;
}

static int run(size_t n, const char *path)
{
	char *words[WORDS_MAX + 5], name[] = "fuzz";
	int nr = 0, status;

	words[nr++] = name;
	if (runs[n].command == &cmd_merge) {
		words[nr++] = strdup("-o");
		words[nr++] = strdup(merged);
	} else {
		words[nr++] = strdup(NOWHERE);
	}
	for (size_t i = 0; i < WORDS_MAX && runs[n].words[i]; i++)
		words[nr++] = strdup(strcmp(runs[n].words[i], "FILE") ? runs[n].words[i] : path);
	words[nr++] = strdup(path);
	words[nr] = NULL;
	status = runs[n].command->run(nr, words);
	/* argp may have put them into another order. */
	for (int i = 0; i < nr; i++)
		if (words[i] != name)
			free(words[i]);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	uint8_t *file;
	size_t n;
	int fd;

	if (size < 2)
		return 0;
	file = malloc(size - 1);
	fd = memfd_create("profile", MFD_CLOEXEC);
	CHECK(file && fd >= 0);
	memcpy(file, data + 1, size - 1);
	if (data[0] & 1)
		make_right(file, size - 1);
	CHECK(write(fd, file, size - 1) == (ssize_t)(size - 1));
	free(file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = (size_t)(data[0] >> 1) % NR_RUNS;
	if (run(n, path) == LWPCTL_OK && runs[n].command == &cmd_merge)
		CHECK(run(0, merged) == LWPCTL_OK);
	close(fd);
	return 0;
}
