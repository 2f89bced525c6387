// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Eight threads whose flags must outlive what interrupts them: page faults between CMP and Jcc, between an addition and
 * ADC, in the middle of REP with DF set, and signals that the threads send each other. It prints how many were lost.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 8
#define ROUNDS 50
#define PAGE 4096

static pthread_t threads[THREADS];
static pthread_barrier_t all;
static unsigned long lost[THREADS], caught;

static void on_signal(int number)
{
	__atomic_fetch_add(&caught, (unsigned long)number, __ATOMIC_RELAXED);
}

/* Below, equal and above each take another way, behind a load that faults. */
static int compare(const volatile char *absent, unsigned long a, unsigned long b)
{
	int way;

	__asm__ volatile("mov $2, %0\n\t"
			 "cmp %3, %2\n\t"
			 "mov (%1), %%al\n\t"
			 "ja 1f\n\t"
			 "mov $0, %0\n\t"
			 "jb 1f\n\t"
			 "mov $1, %0\n"
			 "1:"
			 : "=&r"(way)
			 : "r"(absent), "r"(a), "r"(b)
			 : "rax", "cc", "memory");
	return way;
}

/* A carry goes through a load that faults. */
static unsigned long carry(const volatile char *absent, unsigned long low)
{
	unsigned long high;

	__asm__ volatile("mov $1, %0\n\t"
			 "add %1, %1\n\t"
			 "mov (%2), %%al\n\t"
			 "adc $0, %0"
			 : "=&r"(high), "+r"(low)
			 : "r"(absent)
			 : "rax", "cc", "memory");
	return high;
}

/* Copy downwards; the page that is written faults in the middle, and DF and CF stay. */
static int downwards(char *to, const char *from, unsigned long size)
{
	unsigned long flags;

	to += size - 1;
	from += size - 1;
	__asm__ volatile("std\n\t"
			 "stc\n\t"
			 "rep movsb\n\t"
			 "pushfq\n\t"
			 "pop %0\n\t"
			 "cld"
			 : "=&r"(flags), "+D"(to), "+S"(from), "+c"(size)
			 :
			 : "cc", "memory");
	return (flags & 0x401) == 0x401;
}

static void *work(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	char from[PAGE + 256], *page;

	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 7 + i / 256);
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_wait(&all);
	for (unsigned long i = 0; i < ROUNDS; i++) {
		madvise(page, 2 * PAGE, MADV_DONTNEED);
		lost[me] += compare(page, i % 3, 1) != (int)(i % 3);
		lost[me] += carry(page + PAGE, i << 63 | i) != 1 + i % 2;
		madvise(page, 2 * PAGE, MADV_DONTNEED);
		if (i % 16 == 0)
			pthread_kill(threads[(me + 1) % THREADS], SIGUSR1);
		lost[me] += !downwards(page + 128, from, sizeof(from));
		lost[me] += memcmp(page + 128, from, sizeof(from)) != 0;
	}
	pthread_barrier_wait(&all);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	unsigned long sum = 0;

	sigaction(SIGUSR1, &action, NULL);
	pthread_barrier_init(&all, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += lost[i];
	}
	printf("%lu lost\n", sum);
	return !caught || sum;
}
