// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two programs at disjoint fixed link addresses run at once on one CPU, each giving it away thousands of
 * times: each profile is complete, and no record of one lies in the ring of the other (43724-821,
 * 43724-902).
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lwptest.h"

#define PROGRAMS 2

struct child {
	pid_t pid;
	char output[32]; /* file of its TAP */
};

static void start(struct child *c, const char *dir, int number, int gate)
{
	char path[4096], name[32];

	snprintf(path, sizeof(path), "%s/fixed%d", dir, number + 1);
	snprintf(name, sizeof(name), "program %d", number + 1);
	strcpy(c->output, "/tmp/two.XXXXXX");
	int out = mkstemp(c->output);

	c->pid = fork();
	if (c->pid)
		return;
	dup2(gate, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	execl(path, path, name, NULL);
	_exit(127);
}

/* Every "ok"/"not ok" line of the child is a test point of ours. */
static void collect(struct child *c)
{
	char line[512];
	int status, lines = 0;
	FILE *in;

	if (waitpid(c->pid, &status, 0) != c->pid)
		tap_error("lost a child");
	in = fopen(c->output, "re");
	while (in && fgets(line, sizeof(line), in)) {
		const char *text = strstr(line, " - ");

		line[strcspn(line, "\n")] = 0;
		if (!text)
			continue;
		lines++;
		tap(!strncmp(line, "ok", 2), "%s", text + 3);
	}
	if (in)
		fclose(in);
	unlink(c->output);
	tap(WIFEXITED(status) && !WEXITSTATUS(status) && lines == 8, "the program ended well");
}

int main(int argc, char **argv)
{
	struct child child[PROGRAMS];
	char *dir = dirname(strdup(argv[0]));
	int gate[2];

	if (pipe2(gate, O_CLOEXEC))
		tap_error("no pipe");
	for (int i = 0; i < PROGRAMS; i++)
		start(&child[i], dir, i, gate[0]);
	close(gate[0]);
	close(gate[1]);
	for (int i = 0; i < PROGRAMS; i++)
		collect(&child[i]);
	return tap_done();
}
