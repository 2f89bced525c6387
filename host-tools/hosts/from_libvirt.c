// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a running libvirt can give its guests. libvirt knows the bit lwp and nothing of leaf 8000_001C, so its
 * emulator is asked, over the monitor of a domain that is started stopped and destroyed at once. Nothing runs
 * in it and nothing is kept.
 */
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xpath.h>
#include <stdlib.h>
#include <unistd.h>

#include "expansion.h"
#include "lwpctl.h"
#include "memory.h"
#include "source.h"

struct connection {
	virConnectPtr libvirt;
	const char *domain_type; /* "kvm", "qemu" */
	char *emulator;
	virDomainPtr probe; /* has no LWP itself */
	unsigned int started;
};

/* Errors are ours to print. */
static void be_quiet(void *opaque, virErrorPtr error)
{
}

static const char *last_error(void)
{
	const char *text = virGetLastErrorMessage(), *line;

	/* What a QEMU that has ended wrote comes whole; its last line is the reason. */
	for (line = strchr(text, '\n'); line && line[1]; line = strchr(text, '\n'))
		text = line + 1;
	return text;
}

static bool connect_to(struct connection *c, const char *uri, bool read_only, const char *accel)
{
	virSetErrorFunc(NULL, be_quiet);
	c->domain_type = accel && !strcmp(accel, "kvm") ? "kvm" : "qemu";
	c->libvirt = read_only ? virConnectOpenReadOnly(uri) : virConnectOpen(uri);
	if (!c->libvirt)
		complain("%s: %s", uri, last_error());
	return c->libvirt;
}

/* The first node of an XPath in @xml, serialised (or its text); NULL if there is none. */
static char *pick(const char *xml, const char *path, bool text)
{
	xmlDoc *doc = xmlReadMemory(xml, (int)strlen(xml), NULL, NULL,
				    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	xmlXPathContext *context = doc ? xmlXPathNewContext(doc) : NULL;
	xmlXPathObject *found = context ? xmlXPathEvalExpression((const xmlChar *)path, context) :
					  NULL;
	char *result = NULL;

	if (found && found->nodesetval && found->nodesetval->nodeNr) {
		xmlNode *node = found->nodesetval->nodeTab[0];
		xmlBuffer *buffer = must(xmlBufferCreate());

		if (text) {
			xmlChar *content = xmlNodeGetContent(node);

			result = copy_string(content, strlen((char *)content));
			xmlFree(content);
		} else {
			/* What domain capabilities call a mode is a CPU in a domain. */
			xmlNodeSetName(node, (const xmlChar *)"cpu");
			xmlUnsetProp(node, (const xmlChar *)"name");
			xmlUnsetProp(node, (const xmlChar *)"supported");
			xmlSetProp(node, (const xmlChar *)"mode", (const xmlChar *)"custom");
			xmlSetProp(node, (const xmlChar *)"match", (const xmlChar *)"exact");
			xmlNodeDump(buffer, doc, node, 0, 0);
			result = copy_string(xmlBufferContent(buffer),
					     (size_t)xmlBufferLength(buffer));
		}
		xmlBufferFree(buffer);
	}
	xmlXPathFreeObject(found);
	xmlXPathFreeContext(context);
	xmlFreeDoc(doc);
	return result;
}

static void add_global(void *opaque, const char *name, const char *value)
{
	fprintf(opaque, "<qemu:arg value='-global'/><qemu:arg value='x86_64-cpu.%s=%s'/>", name,
		value);
}

/*
 * A CPU that each accelerator has. With @q it has the LWP in question: XSAVE is for lwp-context=os, SVM for lwp-vmcb.
 */
static char *probe_xml(const struct connection *c, const struct question *q)
{
	char *xml = NULL;
	size_t size;
	FILE *f = must(open_memstream(&xml, &size));

	fprintf(f,
		"<domain type='%s' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
		"<name>lwpctl-caps-%d-%u</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>"
		"<os><type arch='x86_64'>hvm</type></os><features><acpi/><apic/></features>"
		"<cpu mode='custom' match='exact' check='none'>"
		"<model fallback='forbid'>qemu64</model>%s%s</cpu>"
		"<devices><emulator>%s</emulator><controller type='usb' model='none'/>"
		"<memballoon model='none'/></devices>",
		c->domain_type, (int)getpid(), c->started,
		q ? "<feature policy='force' name='xsave'/><feature policy='force' name='lwp'/>" :
		    "",
		q && q->vmcb ? "<feature policy='force' name='svm'/>" : "", c->emulator);
	if (q) {
		fputs("<qemu:commandline>", f);
		question_each(q, add_global, f);
		add_global(f, "enforce", "on");
		fputs("</qemu:commandline>", f);
	}
	fputs("</domain>", f);
	if (fclose(f))
		must(NULL);
	return xml;
}

static virDomainPtr start(struct connection *c, const struct question *q, char why[WHY_SIZE])
{
	char *xml = probe_xml(c, q);
	virDomainPtr domain = virDomainCreateXML(
		c->libvirt, xml, VIR_DOMAIN_START_PAUSED | VIR_DOMAIN_START_AUTODESTROY);

	c->started++;
	if (!domain)
		snprintf(why, WHY_SIZE, "%s", last_error());
	free(xml);
	return domain;
}

static void stop(virDomainPtr domain)
{
	if (!domain)
		return;
	virDomainDestroy(domain);
	virDomainFree(domain);
}

static json_object *expand(virDomainPtr domain, const struct question *q, char why[WHY_SIZE])
{
	json_object *answer, *value, *props = NULL, *command = question_command(q);
	char *text = NULL;
	int failed =
		virDomainQemuMonitorCommand(domain, json_object_to_json_string(command), &text, 0);

	json_object_put(command);
	if (failed) {
		snprintf(why, WHY_SIZE, "%s", last_error());
		return NULL;
	}
	answer = json_tokener_parse(text);
	free(text);
	if (json_object_object_get_ex(answer, "return", &value))
		props = question_answer(value, why);
	else if (json_object_object_get_ex(answer, "error", &value) &&
		 json_object_object_get_ex(value, "desc", &value))
		snprintf(why, WHY_SIZE, "%s", json_object_get_string(value));
	else
		snprintf(why, WHY_SIZE, "QEMU gives no answer");
	json_object_put(answer);
	return props;
}

/*
 * Most can be asked in one domain. KVM knows the policy of a VM (revision, contexts, delivery) before its first
 * CPU exists, so that another policy needs another VM.
 */
static json_object *ask(void *opaque, const struct question *q, char why[WHY_SIZE])
{
	struct connection *c = opaque;
	virDomainPtr own;
	json_object *props;

	if (!c->probe)
		c->probe = start(c, NULL, why);
	if (!c->probe)
		return NULL;
	props = expand(c->probe, q, why);
	if (props || strcmp(c->domain_type, "kvm"))
		return props;
	own = start(c, q, why);
	if (own)
		props = expand(own, q, why);
	stop(own);
	return props;
}

static bool describe(struct hostcaps *host, struct connection *c, const char *uri,
		     const char *emulator)
{
	char *xml, *name;

	name = virConnectGetHostname(c->libvirt);
	host->name = copy_string(name ?: uri, strlen(name ?: uri));
	free(name);
	xml = virConnectGetDomainCapabilities(c->libvirt, emulator, "x86_64", NULL, c->domain_type,
					      0);
	if (!xml)
		return refuse("%s: %s", uri, last_error());
	host->host_model = pick(xml, "/domainCapabilities/cpu/mode[@name='host-model']", false);
	c->emulator = pick(xml, "/domainCapabilities/path", true);
	free(xml);
	if (!c->emulator)
		return refuse("%s: its domain capabilities name no emulator", uri);
	host->source = formatted("%s, %s, domain type %s", uri, c->emulator, c->domain_type);
	hostcaps_ask(host, ask, c);
	return true;
}

bool hostcaps_from_libvirt(struct hostcaps *host, const char *uri, const char *emulator,
			   const char *accel)
{
	struct connection c = { 0 };
	bool good;

	memset(host, 0, sizeof(*host));
	if (!connect_to(&c, uri, false, accel))
		return false;
	good = describe(host, &c, uri, emulator);
	stop(c.probe);
	free(c.emulator);
	virConnectClose(c.libvirt);
	return good;
}

char *libvirt_domain_xml(const char *uri, const char *name)
{
	struct connection c = { 0 };
	virDomainPtr domain;
	char *xml = NULL;

	if (!connect_to(&c, uri, true, NULL))
		return NULL;
	domain = virDomainLookupByName(c.libvirt, name);
	if (domain)
		xml = virDomainGetXMLDesc(domain, 0);
	if (!xml)
		complain("%s: %s", uri, last_error());
	if (domain)
		virDomainFree(domain);
	virConnectClose(c.libvirt);
	return xml;
}

char *libvirt_baseline_cpu(const char *uri, const struct how *how, const char *const cpus[],
			   size_t nr)
{
	struct connection c = { 0 };
	char *cpu;

	if (!connect_to(&c, uri, false, how->accel))
		return NULL;
	cpu = virConnectBaselineHypervisorCPU(c.libvirt, how->emulator, "x86_64", NULL,
					      c.domain_type, (const char **)cpus, (unsigned int)nr,
					      0);
	if (!cpu)
		complain("%s: %s", uri, last_error());
	virConnectClose(c.libvirt);
	return cpu;
}
