// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Init of the conformance image's second entry (lab/start/install_conformance.py): run vlwp-probe, with an option if
 * the kernel's command line has one after --, on the screen and the serial line. Its JSON is for the line only.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "guest-setup.h"

#define JSON "/json"

static int screen = -1, line = -1; /* -1: the machine has none */

static void show(const char *text, size_t length)
{
	dprintf(screen, "%.*s", (int)length, text);
	dprintf(line, "%.*s", (int)length, text);
}

static _Noreturn void end(const char *text)
{
	show(text, strlen(text));
	for (;;)
		pause();
}

void trouble(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	show(text, strlen(text));
	end("; AMD-V (SVM) must be on in the firmware's setup: nothing was measured\n# probe: over\n");
}

/* What the probe writes, as it comes. */
static int run(const char *option)
{
	char text[4096];
	int out[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(out) || (pid = fork()) < 0)
		return -1;
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		execl("/vlwp-probe", "vlwp-probe", "--json=" JSON, option, NULL);
		_exit(127);
	}
	close(out[1]);
	while ((n = read(out[0], text, sizeof(text))) > 0)
		show(text, (size_t)n);
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

int main(int argc, char **argv)
{
	char text[4096];
	FILE *json;

	mount_early();
	screen = open("/dev/tty0", O_WRONLY | O_CLOEXEC);
	line = open("/dev/ttyS0", O_WRONLY | O_CLOEXEC | O_NOCTTY);
	load_modules();
	show("\nvlwp-probe takes a minute\n", 27);
	if (run(argc > 1 ? argv[1] : NULL) || !(json = fopen(JSON, "r")))
		end("# probe: over, nothing was measured\n");
	dprintf(line, "# probe: json\n");
	while (fgets(text, sizeof(text), json))
		dprintf(line, "%s", text);
	end("# probe: over\n");
}
