// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * followed [ROUNDS]: a program for lwprun to follow from outside: a thread, a forked child, one of vfork that execs
 * this program again, and a signal that is caught, each with work of a function's name. Its last line says that all
 * was as it should be. With 0 rounds it works until it gets SIGTERM.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 3000000ul

extern char **environ;
static volatile sig_atomic_t signals, ends;

/* The name in the code keeps the compiler from making one function of all of them. */
#define WORK(name)                                                                     \
	static __attribute__((noinline)) void name(unsigned long n)                    \
	{                                                                              \
		__asm__ volatile("# " #name "\n1: dec %0; jnz 1b" : "+r"(n) : : "cc"); \
	}
WORK(work_main)
WORK(work_thread)
WORK(work_child)
WORK(work_exec)

static void *thread(void *arg)
{
	work_thread(TURNS);
	return arg;
}

static void caught(int sig)
{
	signals++;
	ends = sig == SIGTERM;
}

static int status_of(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static pid_t forked(void)
{
	pid_t pid = fork();

	if (!pid) {
		work_child(TURNS);
		_exit(3);
	}
	return pid;
}

static pid_t spawned(const char *self)
{
	char *argv[] = { (char *)self, (char *)"exec", NULL };
	pid_t pid = -1;

	return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) ? -1 : pid;
}

static int run_all(const char *self)
{
	pthread_t t;
	int child, exec;

	pthread_create(&t, NULL, thread, NULL);
	work_main(TURNS);
	raise(SIGUSR1);
	pthread_join(t, NULL);
	child = status_of(forked());
	exec = status_of(spawned(self));
	printf("signals %d, child %d, exec %d\n", (int)signals, child, exec);
	return signals == 1 && child == 3 && exec == 4 ? 5 : 1;
}

static void *until_told(void *arg)
{
	while (!ends)
		work_thread(TURNS / 100);
	return arg;
}

static int run_long(void)
{
	pthread_t t;

	pthread_create(&t, NULL, until_told, NULL);
	puts("ready");
	fflush(stdout);
	while (!ends) {
		work_main(TURNS / 100);
		usleep(1000);
	}
	pthread_join(t, NULL);
	puts("told to end");
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = caught };

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (argc > 1 && !strcmp(argv[1], "exec")) {
		work_exec(TURNS);
		return 4;
	}
	return argc > 1 && !strcmp(argv[1], "0") ? run_long() : run_all(argv[0]);
}
