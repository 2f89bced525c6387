// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data of KVM that does not come by ioctl: statistics and the parameters of kvm_amd.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
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
	return open(path, flags);
}

bool parameter_is(const char *name, const char *value)
{
	int fd = open_parameter(name, O_RDONLY);
	char text[128] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return false;
	close(fd);
	text[strcspn(text, "\n")] = 0;
	return !strcmp(text, value);
}

static bool write_parameter(const char *name, const char *value)
{
	int fd = open_parameter(name, O_WRONLY);
	bool done = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);

	close(fd);
	return done;
}

/* Those that are set, as they were. */
static struct {
	char name[32], value[128];
} before[4];
static size_t n_set;

static void put_back(void)
{
	while (n_set--)
		write_parameter(before[n_set].name, before[n_set].value);
}

static void remember(const char *name)
{
	size_t i = 0;
	int fd;

	while (i < n_set && strcmp(before[i].name, name))
		i++;
	if (i < n_set || (fd = open_parameter(name, O_RDONLY)) < 0)
		return;
	if (!n_set)
		atexit(put_back);
	if (i < sizeof(before) / sizeof(*before) &&
	    read(fd, before[i].value, sizeof(before[i].value) - 1) > 0)
		snprintf(before[n_set++].name, sizeof(before[i].name), "%s", name);
	close(fd);
}

void set_parameter(const char *name, const char *value)
{
	remember(name);
	if (!write_parameter(name, value))
		skip_all("cannot set %s of kvm_amd", name);
}
