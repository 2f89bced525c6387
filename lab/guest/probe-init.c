// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Init of the conformance image's second entry (lab/start/install_conformance.py): run vlwp-probe, with an option if
 * the kernel's command line has one after --, on the screen and the serial line. Its JSON is for the line only.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "guest-setup.h"

#define JSON "/json"

static int screen = -1, line = -1; /* -1: the machine has none */
static char text[4096];

static void show(const char *what)
{
	dprintf(screen, "%s", what);
	dprintf(line, "%s", what);
}

void trouble(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	show(text);
	show("; AMD-V (SVM) must be on in the firmware's setup: nothing was measured\n# probe: over\n");
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int out[2], status;
	FILE *in;

	mount_early();
	screen = open("/dev/tty0", O_WRONLY | O_CLOEXEC);
	line = open("/dev/ttyS0", O_WRONLY | O_CLOEXEC | O_NOCTTY);
	load_modules("/modules/order");
	show("\nvlwp-probe takes a minute\n");
	if (pipe(out) || !fork()) {
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		execl("/vlwp-probe", "vlwp-probe", "--json=" JSON, argc > 1 ? argv[1] : NULL, NULL);
		_exit(127);
	}
	close(out[1]);
	for (in = fdopen(out[0], "r"); fgets(text, sizeof(text), in);)
		show(text);
	if (wait(&status) > 0 && !status && (in = fopen(JSON, "r"))) {
		dprintf(line, "# probe: json\n");
		while (fgets(text, sizeof(text), in))
			dprintf(line, "%s", text);
	}
	show("# probe: over\n");
	for (;;)
		pause();
}
