/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lwpctl: the host's tool for LWP. This file finds the command. */
#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "lwpctl.h"

static const struct command *const commands[] = {
	&cmd_report,   &cmd_top,  &cmd_export,	 &cmd_html,  &cmd_diff,	   &cmd_merge,
#ifdef HAVE_CAPSTONE
	&cmd_annotate,
#endif
	&cmd_decode,   &cmd_caps, &cmd_baseline, &cmd_check, &cmd_explain,
};
#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

const char *argp_program_version = "lwpctl (vlwp) " LWPCTL_VERSION;

static void print_help(void)
{
	puts("Usage: lwpctl COMMAND [OPTION...] [ARG...]\n"
	     "What LWP (AMD's Lightweight Profiling) recorded, and what hosts and guests can do.\n");
	for (size_t i = 0; i < NR_COMMANDS; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n`lwpctl COMMAND --help' tells more. Exit status: 0 done, 1 failed, 2 wrong usage.");
}

/* Output that could not be written is a failure too. */
static int finish(int status)
{
	if (fflush(stdout) == EOF || ferror(stdout))
		return complain("cannot write the output: %s", strerror(errno));
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	char name[64];

	snprintf(name, sizeof(name), "lwpctl %s", command->name);
	argv[0] = name;
	return finish(command->run(argc, argv));
}

int main(int argc, char **argv)
{
	argp_err_exit_status = LWPCTL_USAGE;
	setlocale(LC_CTYPE, "");
	if (argc < 2)
		return misused("no command; `lwpctl --help' lists them");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "help")) {
		print_help();
		return finish(LWPCTL_OK);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts(argp_program_version);
		return finish(LWPCTL_OK);
	}
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i]->name))
			return run(commands[i], argc - 1, argv + 1);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (strlen(argv[1]) > 2 && !strncmp(argv[1], commands[i]->name, 3))
			return misused("unknown command '%s'; is it %s? `lwpctl --help' lists them",
				       argv[1], commands[i]->name);
	return misused("unknown command '%s'; `lwpctl --help' lists them", argv[1]);
}
