// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vlwp-probe: how the performance counters of this processor count KVM's guests. This file finds out where it runs and
 * says what is missing.
 */
#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lwpctl.h"
#include "probe.h"

#define FREEZE 4 /* 8000_0022 EAX: LBR and counters can freeze at the interrupt */

static struct machine machine;
static struct result result;

/* The first line of a file that begins with `key`: the rest. "": there is none. */
static const char *read_line(const char *file, const char *key)
{
	static char line[512];
	FILE *in = fopen(file, "r");
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in))
		found = !strncmp(line, key, strlen(key));
	if (in)
		fclose(in);
	line[found ? strcspn(line, "\n") : 0] = 0;
	return found ? line + strlen(key) : line;
}

static void identify(struct result *r)
{
	u32 a, b, c, d, *brand = (u32 *)r->brand;
	struct utsname name;

	__cpuid(0, a, b, c, d);
	memcpy(r->vendor, (u32[]){ b, d, c }, 12);
	__cpuid(1, a, b, c, d);
	r->family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
	r->model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
	r->stepping = a & 0xf;
	r->hypervisor = c >> 31;
	for (u32 i = 0; i < 3; i++, brand += 4)
		__cpuid(0x80000002 + i, brand[0], brand[1], brand[2], brand[3]);
	r->freezes = __get_cpuid(0x80000022, &a, &b, &c, &d) && (a & FREEZE);
	uname(&name);
	snprintf(r->kernel, sizeof(r->kernel), "%s", name.release);
	snprintf(r->microcode, sizeof(r->microcode), "%s",
		 read_line("/proc/cpuinfo", "microcode\t: "));
	getloadavg(&r->load, 1);
}

/* The CPU that shares a core with this one, else any other; -1: there is only one. */
static int other_cpu(int cpu, bool *sibling)
{
	int first, second;
	char path[96];
	cpu_set_t all;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		 cpu);
	*sibling = sscanf(read_line(path, ""), "%d%*[,-]%d", &first, &second) == 2;
	if (*sibling)
		return first == cpu ? second : first;
	sched_getaffinity(0, sizeof(all), &all);
	for (int other = 0; other < CPU_SETSIZE; other++)
		if (other != cpu && CPU_ISSET(other, &all))
			return other;
	return -1;
}

/* Ticks of a CPU so far that were not idle. */
static unsigned long busy(int cpu)
{
	unsigned long user = 0, nice = 0, system = 0;
	char key[16];

	snprintf(key, sizeof(key), "cpu%d ", cpu);
	sscanf(read_line("/proc/stat", key), "%lu %lu %lu", &user, &nice, &system);
	return user + nice + system;
}

static int missing(const char *what)
{
	int error = errno;

	return complain(
		"%s: %s: %s; nothing was measured", what, strerror(error),
		geteuid()	    ? "run it as root" :
		error == ENOENT	    ? "load kvm_amd; SVM and counters must be on in the firmware" :
		error == EOPNOTSUPP ? "VMs with mediated vPMUs must end" :
		error == EBUSY ? "kernel.nmi_watchdog=0 or the end of another perf frees counters" :
				 "see dmesg");
}

/* The lateness, after the counts. */
static void measure_late(int cpu, int other, bool sibling)
{
	unsigned long before = busy(other), own = busy(cpu);
	const char *wrong = measure_lateness(&machine, &result, false);
	static u32 word;

	if (wrong)
		complain("%s; only what the counters add was measured", wrong);
	else if (sibling && busy(other) - before > (busy(cpu) - own) / 10)
		complain("CPU %d shares a core with CPU %d and was busy: idle means loaded here; "
			 "taskset -c N measures on another CPU",
			 other, cpu);
	if (!wrong && beside_start(other, &word)) {
		measure_lateness(&machine, &result, true);
		beside_stop();
	}
}

int main(int argc, char **argv)
{
	int status, cpu, other;
	const char *wrong, *file;
	FILE *json = NULL;
	cpu_set_t set;
	bool sibling;

	complain_as = "vlwp-probe";
	status = options_read(argc, argv, &file, &result.turns);
	if (status >= 0)
		return status;
	identify(&result);
	if (strcmp(result.vendor, "AuthenticAMD") && strcmp(result.vendor, "HygonGenuine"))
		return complain("%s has no SVM, as AMD has; nothing was measured", result.vendor);
	cpu = sched_getcpu();
	other = other_cpu(cpu, &sibling);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (other < 0)
		complain("there is one CPU: contended locks and loaded lateness are not measured");
	if (*read_line("/proc/sys/kernel/nmi_watchdog", "") == '1')
		complain(
			"the NMI watchdog has a counter, which kernel.nmi_watchdog=0 frees; going on");
	if (file && !(json = fopen(file, "w")))
		return complain("%s: %s", file, strerror(errno));
	wrong = machine_new(&machine);
	if (!wrong)
		wrong = count_places(&machine, &result, other);
	if (wrong)
		return missing(wrong);
	measure_ibs(&machine, &result); /* before signals of counters end KVM_RUN */
	if (result.ibs_throttled)
		complain(
			"perf throttled the samples of IBS, from which kernel.perf_cpu_time_max_percent=0 and a larger "
			"kernel.perf_event_max_sample_rate keep it; IBS is not measured");
	measure_late(cpu, other, sibling);
	if (json)
		report_json(&result, json);
	if (json && fclose(json))
		return complain("%s: %s", file, strerror(errno));
	report_text(&result, stdout);
	return fflush(stdout) ? complain("cannot write: %s", strerror(errno)) : LWPCTL_OK;
}
