// SPDX-License-Identifier: GPL-2.0-or-later
/* Control block, completeness rule and TAP reporter for tests in a Linux guest. */
#include "lwptest.h"

#include <cpuid.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "lwp_cpuid.h"

static unsigned int points, failed;

bool tap(bool cond, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("%s %u - ", cond ? "ok" : "not ok", ++points);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	failed += !cond;
	fflush(stdout);
	return cond;
}

int tap_done(void)
{
	printf("1..%u\n", points);
	return failed != 0;
}

static void set(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		tap_error("cannot write %s", path);
}

/* Without a limit of the time (0) the rate cannot be written. */
void lwptest_any_rate(void)
{
	set("/proc/sys/kernel/perf_cpu_time_max_percent", "25");
	set("/proc/sys/kernel/perf_event_max_sample_rate", "100000");
	set("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
}

void lwptest_stay_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		tap_error("no CPU %u", cpu);
}

void lwptest_need(unsigned int event)
{
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid(LWP_CPUID_PRESENT_LEAF, &eax, &ebx, &ecx, &edx) ||
	    !(ecx & LWP_CPUID_PRESENT_ECX))
		tap_error("this machine has no LWP: CPUID 8000_0001 ECX[15] is 0");
	if (!__get_cpuid(LWP_CPUID_LEAF, &eax, &ebx, &ecx, &edx) || !(eax & LWP_BIT(event)))
		tap_error("LWP does not offer EventId %u: CPUID 8000_001C EAX is %08x", event, eax);
}

static void *fresh(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		tap_error("no memory for %zu bytes", size);
	return memory;
}

void lwptest_setup(struct lwptest *t, unsigned int event, int32_t interval, int32_t counter,
		   uint32_t records)
{
	uint8_t *slot;

	*t = (struct lwptest){ .size = records * LWP_RECORD_SIZE,
			       .event = event,
			       .interval = interval,
			       .counter = counter };
	t->block = fresh(4096);
	t->ring = fresh(t->size);
	lwp_put32(t->block + LWP_CB_FLAGS, LWP_BIT(event));
	lwp_put32(t->block + LWP_CB_SIZE_RANDOM, t->size);
	lwp_put64(t->block + LWP_CB_BASE, (uintptr_t)t->ring);
	slot = t->block + LWP_CB_EVENT_OFFSET + (event - 1) * LWP_CB_SLOT_SIZE;
	lwp_put32(slot + LWP_CB_SLOT_INTERVAL, (uint32_t)interval);
	lwp_put32(slot + LWP_CB_SLOT_COUNTER, (uint32_t)counter);
}

void lwptest_free(struct lwptest *t)
{
	munmap(t->block, 4096);
	munmap(t->ring, t->size);
}

uint64_t lwptest_records(const struct lwptest *t)
{
	return lwp_get32(t->block + LWP_CB_HEAD) / LWP_RECORD_SIZE;
}

uint64_t lwptest_missed(const struct lwptest *t)
{
	return lwp_get64(t->block + LWP_CB_MISSED);
}

void lwptest_record(const struct lwptest *t, uint64_t index, struct lwp_record *rec)
{
	lwp_record_decode(t->ring + index * LWP_RECORD_SIZE, rec);
}

bool lwptest_complete(const struct lwptest *t, uint64_t n, const char *what)
{
	const uint8_t *slot = t->block + LWP_CB_EVENT_OFFSET + (t->event - 1) * LWP_CB_SLOT_SIZE;
	uint64_t start = (uint64_t)(t->interval - t->counter), period = (uint64_t)t->interval + 1;
	uint64_t due = (n + start) / period, have = lwptest_records(t) + lwptest_missed(t);
	int32_t left = lwp_sext26(lwp_get32(slot + LWP_CB_SLOT_COUNTER));
	int32_t expected = (int32_t)(t->interval - (n + start) % period);

	return tap(have == due && left == expected,
		   "%s: %llu events give %llu records + %llu missed = %llu, counter %d left = %d",
		   what, (unsigned long long)n, (unsigned long long)lwptest_records(t),
		   (unsigned long long)lwptest_missed(t), (unsigned long long)due, left, expected);
}

bool lwptest_numbered(const struct lwptest *t, unsigned int n, uint32_t data1, const char *what)
{
	uint64_t records = lwptest_records(t), wrong = 0;
	struct lwp_record rec;

	for (uint64_t i = 0; i < records; i++) {
		lwptest_record(t, i, &rec);
		wrong += rec.data2 != i || rec.data1 != data1;
	}
	return tap(records == n && !lwptest_missed(t) && !wrong,
		   "%s: %u LWPVAL give as many records (%llu), in their order (%llu are not)", what,
		   n, (unsigned long long)records, (unsigned long long)wrong);
}

bool lwptest_inside(const struct lwptest *t, const void *begin, const void *end, const char *what)
{
	uint64_t strangers = 0, first = 0;
	struct lwp_record rec;

	for (uint64_t i = 0; i < lwptest_records(t); i++) {
		lwptest_record(t, i, &rec);
		if (rec.event_id == t->event && rec.address >= (uintptr_t)begin &&
		    rec.address < (uintptr_t)end)
			continue;
		if (!strangers++)
			first = rec.address;
	}
	return tap(!strangers, "%s: every record lies in its own code (%llu do not, first %llx)",
		   what, (unsigned long long)strangers, (unsigned long long)first);
}
