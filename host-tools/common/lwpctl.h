/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lwpctl: its commands. Each is one file NAME/cmd_NAME.c and one row in lwpctl.c. */
#ifndef LWPCTL_H
#define LWPCTL_H

/* Exit statuses. */
enum { LWPCTL_OK = 0, LWPCTL_FAILED = 1, LWPCTL_USAGE = 2 };

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is "lwpctl NAME"; returns the exit status */
	const char *summary; /* one line */
};

extern const struct command cmd_annotate, cmd_baseline, cmd_caps, cmd_check, cmd_decode, cmd_diff,
	cmd_explain, cmd_export, cmd_html, cmd_merge, cmd_report, cmd_top;

/* Who complains: "lwpctl" unless a program says otherwise. NULL: nobody, and nothing is said. */
extern const char *complain_as;
/* One line on standard error, with that and ": " before it. Returns LWPCTL_FAILED. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and false. */
#define refuse(...) (complain(__VA_ARGS__), false)
/* The same, and LWPCTL_USAGE. */
#define misused(...) (complain(__VA_ARGS__), LWPCTL_USAGE)
/* The same of an argp parser, which ends the program. */
#define bad_usage(state, ...) argp_failure(state, LWPCTL_USAGE, 0, __VA_ARGS__)
/* What such a parser says of other keys. If the command has a child, its arguments begin with the child's input. */
#define other_key(key, state) \
	((key) == ARGP_KEY_INIT ? ((state)->child_inputs[0] = (state)->input, 0) : ARGP_ERR_UNKNOWN)

#endif
