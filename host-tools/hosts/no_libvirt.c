// SPDX-License-Identifier: GPL-2.0-or-later
/* In place of from_libvirt.c where lwpctl is built without libvirt. */
#include "lwpctl.h"
#include "source.h"

static void refuse(const char *uri)
{
	complain("%s: this lwpctl is built without libvirt", uri);
}

bool hostcaps_from_libvirt(struct hostcaps *host, const char *uri, const char *emulator,
			   const char *accel)
{
	memset(host, 0, sizeof(*host));
	refuse(uri);
	return false;
}

char *libvirt_domain_xml(const char *uri, const char *name)
{
	refuse(uri);
	return NULL;
}

char *libvirt_baseline_cpu(const char *uri, const struct how *how, const char *const cpus[],
			   size_t nr)
{
	refuse(uri);
	return NULL;
}
