// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libvirt's hook "qemu" (libvirt.org/hooks.html): refuses a domain whose LWP this host cannot give, before QEMU is
 * started, with a sentence that virsh shows. docs/libvirt.md says how to install it.
 *
 *	qemu NAME OPERATION SUB-OPERATION EXTRA		with the domain's XML on standard input
 *
 * The domain's emulator is asked what it can give. Nothing is written to standard output, which libvirt takes for a
 * new XML, and libvirt is not called, which waits for us. Operations in which a failure would end a running guest are
 * not looked at.
 */
#include <stdio.h>
#include <stdlib.h>

#include "domain.h"
#include "lwpctl.h"
#include "memory.h"
#include "host_set.h"

#define XML_MAX (4 * 1024 * 1024)

/* Operations at whose beginning a failure of the hook only prevents the operation. */
static bool looks_at(const char *operation, const char *sub)
{
	static const char *const operations[] = { "migrate", "restore", "prepare" };

	if (strcmp(sub, "begin"))
		return false;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operation, operations[i]))
			return true;
	return false;
}

static char *read_all(size_t *size)
{
	char *text = must(malloc(XML_MAX));

	*size = fread(text, 1, XML_MAX, stdin);
	return text;
}

static bool allows(const struct domain *domain, const char *operation)
{
	const char *accel = domain->type && !strcmp(domain->type, "kvm") ? "kvm" : "tcg";
	struct hostcaps host;
	struct lwp_caps caps;
	char why[WHY_SIZE];
	bool good;

	if (!domain->settings.lwp)
		return true;
	if (!domain->emulator)
		return refuse("%s: expected an <emulator>, as libvirt writes it", domain->name);
	good = hostcaps_from_qemu(&host, domain->emulator, accel);
	if (good && !settings_apply(&domain->settings, &host, &caps, why))
		good = refuse("refusing to %s %s here: %s", operation, domain->name, why);
	hostcaps_free(&host);
	return good;
}

int main(int argc, char **argv)
{
	const char *operation = argc > 2 ? argv[2] : "";
	struct domain domain;
	size_t size;
	char *xml;
	bool good;

	complain_as = "lwp";
	if (argc < 4)
		return misused(
			"expected to be called by libvirt: NAME OPERATION SUB-OPERATION EXTRA");
	if (!looks_at(operation, argv[3]))
		return LWPCTL_OK;
	xml = read_all(&size);
	good = domain_parse(&domain, xml, size, argv[1]) &&
	       allows(&domain, strcmp(operation, "prepare") ? operation : "start");
	domain_free(&domain);
	free(xml);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}
