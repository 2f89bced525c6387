// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ways WAY N: N turns of a loop of two instructions, in a thread or process that ends in one way. Everything else
 * that it executes is the same for every N of as many digits. For lab/tests/linux/test_count.py.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MORE_THAN_A_PIPE (1 << 21)

static unsigned long turns;
static int ready[2];

static void work(void)
{
	unsigned long n = turns;

	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
}

/*
 * Work, tell, and do not end: one system call tells and never returns, as nobody empties the pipe. Whatever came
 * after it would be executed or not, as the scheduler likes.
 */
static void *stay(void *unused)
{
	static const char bytes[MORE_THAN_A_PIPE];

	work();
	if (write(ready[1], bytes, sizeof(bytes)))
		abort();
	return NULL;
}

/* Two of them have worked. */
static void two_threads(void)
{
	pthread_t thread;
	char byte[1];

	for (int i = 0; i < 2; i++) {
		if (pipe(ready))
			abort();
		pthread_create(&thread, NULL, stay, NULL);
		if (read(ready[0], byte, 1) != 1)
			abort();
	}
}

static void *leave(void *unused)
{
	work();
	return NULL;
}

static int end(const char *way, char *self)
{
	pthread_t thread;

	if (!strcmp(way, "joined")) {
		pthread_create(&thread, NULL, leave, NULL);
		pthread_join(thread, NULL);
		return 5;
	}
	two_threads();
	if (!strcmp(way, "daemon"))
		return 5;
	if (!strcmp(way, "exec"))
		execl(self, self, "none", "1", NULL);
	if (!strcmp(way, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(way, "fault"))
		*(volatile int *)NULL = 1;
	return 0;
}

/* Each way in a process of its own, one after the other. */
static int all(char *self)
{
	static const char *const ways[] = { "joined", "daemon", "exec", "kill", "fault" };
	static const int wanted[] = { 5 << 8, 5 << 8, 6 << 8, SIGKILL, SIGSEGV };
	int status;

	for (int i = 0; i < 5; i++) {
		if (!fork())
			exit(end(ways[i], self));
		wait(&status);
		if ((status & ~0x80) != wanted[i])
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	turns = strtoul(argv[2], NULL, 10);
	if (!strcmp(argv[1], "none"))
		return 6;
	return strcmp(argv[1], "all") ? end(argv[1], argv[0]) : all(argv[0]);
}
