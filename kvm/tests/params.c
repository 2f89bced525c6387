// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data of KVM that does not come by ioctl: statistics, the parameters of kvm_amd, files in debugfs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>
#include "kvm_vm.h"

u64 vm_stat(struct vcpu *v, const char *name)
{
	int fd = ioctl(v->fd, KVM_GET_STATS_FD, NULL);
	struct kvm_stats_desc *desc;
	struct kvm_stats_header h;
	u64 value = ~(u64)0;
	size_t size;
	u32 i;

	if (fd < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h))
		return value;
	size = sizeof(*desc) + h.name_size;
	desc = malloc(size);
	for (i = 0; i < h.num_desc; i++) {
		if (pread(fd, desc, size, h.desc_offset + i * (off_t)size) != (ssize_t)size)
			break;
		if (!strcmp(desc->name, name)) {
			if (pread(fd, &value, sizeof(value), h.data_offset + desc->offset) !=
			    sizeof(value))
				value = ~(u64)0;
			break;
		}
	}
	free(desc);
	close(fd);
	return value;
}

static int open_parameter(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/kvm_amd/parameters/%s", name);
	if (access(path, F_OK))
		snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	if (access(path, F_OK)) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/kvm/lwp/%s", name);
		if (access("/sys/kernel/debug/kvm", F_OK))
			mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	}
	return open(path, flags);
}

static void read_lines(const char *name, char *to, size_t size)
{
	int fd = open_parameter(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);

	close(fd);
	to[n < 0 ? 0 : n] = 0;
}

void read_parameter(const char *name, char *to, size_t size)
{
	read_lines(name, to, size);
	to[strcspn(to, "\n")] = 0;
}

bool says(const char *name, const char *line)
{
	char text[4096] = "\n", wanted[2048];

	read_lines(name, text + 1, sizeof(text) - 1);
	snprintf(wanted, sizeof(wanted), "\n%s", line);
	return strstr(text, wanted);
}

bool parameter_is(const char *name, const char *value)
{
	char text[1024];

	read_parameter(name, text, sizeof(text));
	return !strcmp(text, value);
}

void need_source(const char *source)
{
	if (!parameter_is("lwp_source", source))
		skip_all("kvm-amd is not loaded with lwp_source=%s", source);
}

bool write_parameter(const char *name, const char *value)
{
	int fd = open_parameter(name, O_WRONLY);
	const char *text = *value ? value : "\n"; /* nothing would not be written */
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return done;
}

/* Those that are set, as they were. */
static struct {
	char name[32], value[1024];
} before[4];
static size_t n_set;

static void put_back(void)
{
	/* perf's percentage before its rate: set_sample_rate() */
	for (size_t i = 0; i < n_set; i++)
		write_parameter(before[i].name, before[i].value);
}

static void remember(const char *name)
{
	size_t i = 0;

	while (i < n_set && strcmp(before[i].name, name))
		i++;
	if (i < n_set || i == sizeof(before) / sizeof(*before))
		return;
	if (!n_set++)
		atexit(put_back);
	snprintf(before[i].name, sizeof(before[i].name), "%s", name);
	read_parameter(name, before[i].value, sizeof(before[i].value));
}

void set_parameter(const char *name, const char *value)
{
	remember(name);
	if (!write_parameter(name, value))
		skip_all("cannot set %s", name);
}

void set_margin(unsigned int margin)
{
	unsigned int late = margin ? margin - 2 : 0;
	unsigned int p99 = margin ? late : 4094, worst = margin ? late : 32766;
	char text[1024] = "", row[1200] = "", *item, *rest = text;
	int used;

	read_parameter("lwp_row", text, sizeof(text));
	used = snprintf(row, sizeof(row), "late=%u/%u/%u/%u/%u/%u,rate=1000", late, late, p99, p99,
			p99, worst);
	while ((item = strsep(&rest, ",")))
		if (*item && strncmp(item, "late=", 5) && strncmp(item, "rate=", 5))
			used += snprintf(row + used, sizeof(row) - used, ",%s", item);
	set_parameter("lwp_row", row);
}

void set_sample_rate(const char *rate)
{
	set_parameter("perf_cpu_time_max_percent", "25");
	set_parameter("perf_event_max_sample_rate", rate);
	set_parameter("perf_cpu_time_max_percent", "0");
}
