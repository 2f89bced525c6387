// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program that test_lwprun profiles: the first argument says what it does. A mode's records are
 * stored through fake_lwp.h and so are known exactly.
 */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_lwp.h"

#define THREADS 8

static char *self;

static void must(int good, const char *what)
{
	if (!good) {
		perror(what);
		_exit(99);
	}
}

static void records(unsigned int n)
{
	if (fake_lwp_records)
		fake_lwp_records(n);
}

/* A child's exit status becomes ours. */
static int reap(pid_t pid)
{
	int status = 0;

	must(pid > 0 && waitpid(pid, &status, 0) == pid, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* argv[0] of them, and an end: a status, or a word. */
static int do_records(char **argv)
{
	const char *end = argv[1] ?: "0";

	records((unsigned int)atoi(argv[0]));
	if (!strcmp(end, "quick-exit"))
		quick_exit(5);
	if (!strcmp(end, "exit-at-once"))
		_exit(5);
	if (!strcmp(end, "crash")) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	return atoi(end);
}

/* Size of the file PATTERN; 0: it is not there yet. */
static off_t size_of(const char *pattern)
{
	struct stat st = { 0 };
	glob_t found;

	if (!glob(pattern, 0, NULL, &found))
		stat(found.gl_pathv[0], &st);
	globfree(&found);
	return st.st_size;
}

/* Waits until that is more than `size`. False if it takes longer than 20 s. */
static bool wait_for_more(const char *pattern, off_t size)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < 20000; i++) {
		if (size_of(pattern) > size)
			return true;
		nanosleep(&moment, NULL);
	}
	return false;
}

/* 10 records. Then waits until a file PATH.* has them: 1 if that takes too long. */
static int do_live(char **argv)
{
	char pattern[256];

	snprintf(pattern, sizeof(pattern), "%s.*", argv[0]);
	records(10);
	return !wait_for_more(pattern, 10 * 32);
}

/* A block of the program's own. */
static int do_own(char **argv)
{
	static _Alignas(64) char block[2048];

	__asm__ volatile(".byte 0x8f, 0xe9, 0xf8, 0x12, 0xc0" : : "a"(block) : "memory");
	return 0;
}

static void *takes_name(void *ready)
{
	prctl(PR_SET_NAME, "late");
	pthread_barrier_wait(ready);
	pause();
	return NULL;
}

static int do_late_name(char **argv)
{
	pthread_barrier_t ready;
	pthread_t thread;

	pthread_barrier_init(&ready, NULL, 2);
	must(pthread_create(&thread, NULL, takes_name, &ready) == 0, "pthread_create");
	pthread_barrier_wait(&ready);
	return 0;
}

/* Thread i stores 100 * (i + 1) records; half of them end by pthread_exit. */
static void *thread(void *arg)
{
	unsigned int i = *(unsigned int *)arg;
	char name[16];

	snprintf(name, sizeof(name), "thread-%u", i);
	prctl(PR_SET_NAME, name);
	records(100 * (i + 1));
	if (i % 2)
		pthread_exit(NULL);
	return NULL;
}

static int do_threads(char **argv)
{
	pthread_t threads[THREADS];
	unsigned int numbers[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		must(pthread_create(&threads[i], NULL, thread, &numbers[i]) == 0, "pthread_create");
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void *late_thread(void *arg)
{
	records(50);
	usleep(200 * 1000);
	records(50);
	return NULL;
}

/* The first thread ends before the others. */
static int do_leaderless(char **argv)
{
	pthread_t other;

	must(pthread_create(&other, NULL, late_thread, NULL) == 0, "pthread_create");
	records(50);
	pthread_exit(NULL);
}

/* Threads that come one after the other, argv[0] of them. */
static int do_many(char **argv)
{
	unsigned int number = 0;

	for (int i = 0; i < atoi(argv[0]); i++) {
		pthread_t one;

		must(pthread_create(&one, NULL, thread, &number) == 0, "pthread_create");
		pthread_join(one, NULL);
	}
	return 0;
}

/* The heap grows by a MiB right before the end, or before an exec. */
static int do_grow(char **argv)
{
	must(sbrk(1 << 20) != (void *)-1, "sbrk");
	if (argv[0])
		execlp(self, "victim", "records", "1", (char *)NULL);
	return 0;
}

static int do_fork(char **argv)
{
	pid_t pid;

	records(10);
	pid = fork();
	if (pid == 0) {
		records(20);
		exit(3);
	}
	return reap(pid);
}

static int clone_child(void *arg)
{
	records(*(unsigned int *)arg);
	return 6;
}

static int do_clone(char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	unsigned int n = 40;

	return reap(clone(clone_child, stack + sizeof(stack), SIGCHLD, &n));
}

/* As a just-in-time compiler: names for code that it wrote. */
static int do_jit(char **argv)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	must(map != NULL, path);
	fputs("1000 10 compiled\n", map);
	fclose(map);
	records(1);
	return 0;
}

/* A grandchild that outlives its parents, which end when it has started. */
static int do_orphan(char **argv)
{
	int alive[2];
	char byte;

	must(pipe(alive) == 0, "pipe");
	if (fork() == 0) {
		if (fork() == 0) {
			must(write(alive[1], "x", 1) == 1, "write");
			usleep(200 * 1000);
			records(77);
		}
		_exit(0);
	}
	must(read(alive[0], &byte, 1) == 1, "read");
	wait(NULL);
	return 0;
}

static int do_exec(char **argv)
{
	records(5);
	execl("/nonexistent", "x", (char *)NULL);
	must(errno == ENOENT, "execl");
	records(6);
	execlp(self, "victim", "records", argv[0], (char *)NULL);
	return 98;
}

static int do_exec_clean(char **argv)
{
	char *const args[] = { self, strdup("records"), argv[0], NULL };
	char *const env[] = { strdup("ONLY=this"), NULL };

	execve(self, args, env);
	return 98;
}

static int do_vfork(char **argv)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	must(reap(pid) == 0, "vfork");
	pid = vfork();
	if (pid == 0) {
		execl(self, "victim", "records", argv[0], (char *)NULL);
		_exit(98);
	}
	records(7);
	return reap(pid);
}

/* In an empty environment and waited for; with a second argument in ours and left alone. */
static int do_spawn(char **argv)
{
	char *const args[] = { self, strdup("records"), argv[0], NULL };
	char *const env[] = { NULL };
	pid_t pid;

	must(posix_spawn(&pid, self, NULL, NULL, args, argv[1] ? environ : env) == 0,
	     "posix_spawn");
	return argv[1] ? 0 : reap(pid);
}

static int do_system(char **argv)
{
	char *command;
	int status;

	must(asprintf(&command, "%s records %s; exit 4", self, argv[0]) > 0, "asprintf");
	status = system(command);
	return WEXITSTATUS(status);
}

static int do_static(char **argv)
{
	records(9);
	execl(argv[0], argv[0], argv[1], (char *)NULL);
	return 98;
}

static int do_evict(char **argv)
{
	records(3);
	if (fake_lwp_evict)
		fake_lwp_evict();
	return 0;
}

/* Load argv[0], have it store records, unload it, and then argv[1], maybe to the same address. */
static int do_dlopen(char **argv)
{
	for (; *argv; argv++) {
		void *library = dlopen(*argv, RTLD_NOW);
		void (*work)(void);

		must(library != NULL, dlerror() ?: "dlopen");
		*(void **)&work = dlsym(library, "work");
		must(work != NULL, "dlsym");
		work();
		dlclose(library);
	}
	return 0;
}

/* Is a descriptor of lwprun's open here? */
static int has_pool_open(void)
{
	char path[64], target[64];

	for (int fd = 0; fd < 1024; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strstr(target, "memfd:lwprun"))
			return 1;
	}
	return 0;
}

/* errno, the signal mask and the descriptors must be as the program left them. */
static int do_untouched(char **argv)
{
	sigset_t before, after;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR1);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = 77;
	dlclose(dlopen(NULL, RTLD_NOW));
	sigprocmask(SIG_SETMASK, NULL, &after);
	must(errno == 77, "errno");
	must(sigismember(&after, SIGUSR1) && !sigismember(&after, SIGUSR2), "signal mask");
	must(!has_pool_open(), "descriptors");
	return 0;
}

static volatile sig_atomic_t signalled;

static void on_signal(int sig)
{
	signalled = sig;
}

static int do_signal(char **argv)
{
	signal(SIGTERM, on_signal);
	must(kill(getppid(), SIGTERM) == 0, "kill");
	while (!signalled)
		pause();
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} modes[] = {
	{ "records", do_records },
	{ "live", do_live },
	{ "threads", do_threads },
	{ "many", do_many },
	{ "fork", do_fork },
	{ "grow", do_grow },
	{ "orphan", do_orphan },
	{ "exec", do_exec },
	{ "exec-clean", do_exec_clean },
	{ "vfork", do_vfork },
	{ "spawn", do_spawn },
	{ "system", do_system },
	{ "static", do_static },
	{ "evict", do_evict },
	{ "own", do_own },
	{ "late-name", do_late_name },
	{ "dlopen", do_dlopen },
	{ "untouched", do_untouched },
	{ "signal", do_signal },
	{ "clone", do_clone },
	{ "jit", do_jit },
	{ "leaderless", do_leaderless },
};

int main(int argc, char **argv)
{
	self = realpath("/proc/self/exe", NULL);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run(argv + 2);
	return 97;
}
