/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -exec: programs that execve() starts run under the emulator, too.
 */
#ifndef LINUX_USER_EMULATED_EXEC_H
#define LINUX_USER_EMULATED_EXEC_H

/* @argc: of the options of the emulator that @argv begins with */
void emulated_exec_init(int argc, char **argv);

/*
 * The program may be a script: returns the arguments with the program that runs
 * it at argv[@argc], and its argv[0].  Ends the emulator if there is no program.
 */
char **emulated_exec_first(int *argc, char **argv, int at,
                           const char **argv0);

/* Was emulated_exec_init() called? */
bool emulated_exec_wanted(void);

/*
 * What the arguments of execveat() become.  Returns 0 and arguments for
 * /proc/self/exe, to be freed with g_strfreev(), or -errno: what the
 * kernel would refuse has to be refused here.
 */
int emulated_exec(int dirfd, const char *name, char **argv, int flags,
                  char ***result);

#endif
