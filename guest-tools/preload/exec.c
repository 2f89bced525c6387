// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwprun.so: exec and posix_spawn. The counters are flushed before this program is replaced, and
 * the next one gets the two environment variables that make it start profiled, also when the caller
 * passes an environment of its own. Callers may be vfork children: only the stack is used.
 */
#include <alloca.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload.h"

#define PRELOAD_NAME "LD_PRELOAD="

static struct {
	__typeof__(execve) *execve;
	__typeof__(execvpe) *execvpe;
	__typeof__(fexecve) *fexecve;
	__typeof__(execveat) *execveat;
	__typeof__(posix_spawn) *posix_spawn;
	__typeof__(posix_spawnp) *posix_spawnp;
} real;

void preload_exec_init(void)
{
	real.execve = preload_next("execve");
	real.execvpe = preload_next("execvpe");
	real.fexecve = preload_next("fexecve");
	real.execveat = preload_next("execveat");
	real.posix_spawn = preload_next("posix_spawn");
	real.posix_spawnp = preload_next("posix_spawnp");
}

/* ---- The environment of the next program ---------------------------------------------------- */

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

char **preload_find_env(char *const *envp, const char *assignment)
{
	size_t length = (size_t)(strchr(assignment, '=') - assignment) + 1;

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, assignment, length))
			return (char **)envp;
	return NULL;
}

/* Room that complete_env() needs for pointers, and for text. */
static size_t env_slots(char *const *envp)
{
	return count(envp) + 3;
}

static size_t env_text(char *const *envp)
{
	char **old = preload_find_env(envp, PRELOAD_NAME);

	return (old ? strlen(*old) : 0) + strlen(PRELOAD_NAME) + strlen(preload_library) + 2;
}

/* envp as the caller meant it, plus ours, in `out` (env_slots() pointers) and `text` (env_text() bytes). */
static char *const *complete_env(char *const *envp, char **out, char *text)
{
	size_t n = count(envp);
	char **old;

	if (!preload_pool_env)
		return envp;
	memcpy(out, envp ?: (char *const[]){ NULL }, n * sizeof(*out));
	out[n] = NULL;
	if (!preload_find_env(out, preload_pool_env)) {
		out[n++] = (char *)preload_pool_env;
		out[n] = NULL;
	}
	old = preload_find_env(out, PRELOAD_NAME);
	if (old && strstr(*old, preload_library))
		return out;
	strcpy(text, old ? *old : PRELOAD_NAME);
	if (text[strlen(PRELOAD_NAME)])
		strcat(text, ":");
	strcat(text, preload_library);
	if (old) {
		*old = text;
	} else {
		out[n++] = text;
		out[n] = NULL;
	}
	return out;
}

/* A caller's environment completed, on the caller's stack. */
#define COMPLETE(envp)                                                                     \
	(preload_pool_env ? complete_env((envp), alloca(env_slots(envp) * sizeof(char *)), \
					 alloca(env_text(envp))) :                         \
			    (envp))

/* ---- exec ----------------------------------------------------------------------------------- */

/*
 * Everything that execs goes through here: flush, try with the completed environment, `env`, and resume profiling if it
 * failed.
 */
#define EXEC(envp, call)                              \
	({                                            \
		char *const *env = COMPLETE(envp);    \
		bool was_on, marked;                  \
		int result;                           \
                                                      \
		preload_init();                       \
		marked = preload_exec_begin(&was_on); \
		result = (call);                      \
		if (marked)                           \
			preload_exec_failed(was_on);  \
		result;                               \
	})

INTERPOSED int execve(const char *path, char *const argv[], char *const envp[])
{
	return EXEC(envp, real.execve(path, argv, env));
}

INTERPOSED int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return EXEC(envp, real.execvpe(file, argv, env));
}

INTERPOSED int fexecve(int fd, char *const argv[], char *const envp[])
{
	return EXEC(envp, real.fexecve(fd, argv, env));
}

INTERPOSED int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return EXEC(envp, real.execveat(fd, path, argv, env, flags));
}

INTERPOSED int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

INTERPOSED int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/* Arguments up to and with the NULL that ends them, the first one included. */
static size_t count_args(const char *first, va_list args)
{
	size_t n = 1;

	for (const char *arg = first; arg; n++)
		arg = va_arg(args, const char *);
	return n;
}

static void collect_args(char **argv, const char *first, va_list args)
{
	argv[0] = (char *)first;
	for (size_t i = 0; argv[i]; i++)
		argv[i + 1] = va_arg(args, char *);
}

/* Declares `argv` from a function's variable arguments and leaves `args` behind the NULL. */
#define ARGV(first)                                              \
	va_list args;                                            \
	char **argv;                                             \
                                                                 \
	va_start(args, first);                                   \
	argv = alloca(count_args(first, args) * sizeof(char *)); \
	va_end(args);                                            \
	va_start(args, first);                                   \
	collect_args(argv, first, args)

INTERPOSED int execl(const char *path, const char *first, ...)
{
	ARGV(first);
	va_end(args);
	return execve(path, argv, environ);
}

INTERPOSED int execlp(const char *file, const char *first, ...)
{
	ARGV(first);
	va_end(args);
	return execvpe(file, argv, environ);
}

INTERPOSED int execle(const char *path, const char *first, ...)
{
	char *const *envp;

	ARGV(first);
	envp = va_arg(args, char *const *);
	va_end(args);
	return execve(path, argv, envp);
}

/* ---- posix_spawn: this program stays -------------------------------------------------------- */

INTERPOSED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	preload_init();
	return real.posix_spawn(pid, path, actions, attr, argv, COMPLETE(envp));
}

INTERPOSED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			    const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	preload_init();
	return real.posix_spawnp(pid, file, actions, attr, argv, COMPLETE(envp));
}
