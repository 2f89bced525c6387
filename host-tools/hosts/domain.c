// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a libvirt domain says of LWP. Properties come from <cpu><feature/></cpu> and from -cpu and -global of
 * <qemu:commandline>, which libvirt puts after its own arguments and which win.
 */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdlib.h>

#include "domain.h"
#include "lwpctl.h"
#include "memory.h"

#define QEMU_NAMESPACE "http://libvirt.org/schemas/domain/qemu/1.0"

static bool is(const xmlNode *node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && !node->ns &&
	       !strcmp((const char *)node->name, name);
}

static bool is_qemu(const xmlNode *node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && node->ns &&
	       !strcmp((const char *)node->ns->href, QEMU_NAMESPACE) &&
	       !strcmp((const char *)node->name, name);
}

/* What xmlGetProp() and others gave, as memory of our own; NULL stays NULL. */
static char *own(xmlChar *text)
{
	char *copy = text ? copy_string(text, strlen((char *)text)) : NULL;

	xmlFree(text);
	return copy;
}

static char *attribute(xmlNode *node, const char *name)
{
	return own(xmlGetNoNsProp(node, (const xmlChar *)name));
}

static xmlNode *child(xmlNode *parent, const char *name)
{
	for (xmlNode *node = parent->children; node; node = node->next)
		if (is(node, name))
			return node;
	return NULL;
}

static bool wrong(const char *path, const xmlNode *node, const char *text)
{
	return refuse("%s: line %ld: %s", path, xmlGetLineNo(node), text);
}

/* ---- <cpu> ---------------------------------------------------------------------------------- */

static bool switches_on(const char *policy)
{
	return !policy || !strcmp(policy, "require") || !strcmp(policy, "force");
}

static bool read_feature(struct domain *d, const xmlNode *node, const char *path, const char *name,
			 const char *policy)
{
	if (!name)
		return wrong(path, node, "expected an attribute 'name' of this feature");
	if (!strcmp(name, "lwp")) {
		d->settings.lwp = switches_on(policy);
		free(d->policy);
		d->policy = formatted("%s", policy ?: "require");
	}
	return true;
}

/*
 * Features of leaf 8000_001C, which the patched libvirt knows. They become words of -cpu, which QEMU puts above any
 * -global.
 */
static bool read_bit(struct domain *d, const xmlNode *node, const char *path, const char *name,
		     const char *policy)
{
	struct settings scratch = d->settings;
	char why[WHY_SIZE];

	if (!name || strncmp(name, "lwp-", 4))
		return true;
	if (settings_set(&scratch, name, switches_on(policy) ? "on" : "off", why) == SETTING_BAD)
		return wrong(path, node, why);
	if (!policy || strcmp(policy, "optional"))
		d->settings = scratch;
	return true;
}

/* Each feature of a CPU. */
static bool read_cpu(struct domain *d, xmlNode *cpu, const char *path,
		     bool (*read)(struct domain *d, const xmlNode *node, const char *path,
				  const char *name, const char *policy))
{
	bool good = true;

	for (xmlNode *node = cpu->children; node && good; node = node->next) {
		char *name, *policy;

		if (!is(node, "feature"))
			continue;
		name = attribute(node, "name");
		policy = attribute(node, "policy");
		good = read(d, node, path, name, policy);
		free(name);
		free(policy);
	}
	return good;
}

/* ---- <qemu:commandline> --------------------------------------------------------------------- */

static bool set(struct domain *d, const xmlNode *node, const char *path, const char *name,
		const char *value)
{
	char why[WHY_SIZE];

	if (settings_set(&d->settings, name, value, why) != SETTING_BAD)
		return true;
	return wrong(path, node, why);
}

/* "x86_64-cpu.NAME=VALUE", "MODEL-x86_64-cpu.NAME=VALUE" */
static bool read_short_global(struct domain *d, const xmlNode *node, const char *path, char *text)
{
	static const char driver[] = "x86_64-cpu";
	char *dot = strchr(text, '.'), *equals;
	size_t length = dot ? (size_t)(dot - text) : 0;

	if (length < sizeof(driver) - 1 ||
	    strncmp(dot - (sizeof(driver) - 1), driver, sizeof(driver) - 1))
		return true;
	equals = strchr(dot, '=');
	if (!equals)
		return wrong(path, node, "-global: expected DRIVER.PROPERTY=VALUE");
	*equals = '\0';
	return set(d, node, path, dot + 1, equals + 1);
}

/* "driver=x86_64-cpu,property=NAME,value=VALUE" */
static bool read_long_global(struct domain *d, const xmlNode *node, const char *path, char *text)
{
	const char *driver = "", *property = NULL, *value = NULL;
	char *rest = NULL;

	for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		if (!strncmp(part, "driver=", 7))
			driver = part + 7;
		else if (!strncmp(part, "property=", 9))
			property = part + 9;
		else if (!strncmp(part, "value=", 6))
			value = part + 6;
	}
	if (!strstr(driver, "x86_64-cpu"))
		return true;
	if (!property || !value)
		return wrong(path, node, "-global: expected driver=, property= and value=");
	return set(d, node, path, property, value);
}

static bool read_cpu_option(struct domain *d, const xmlNode *node, const char *path, char *text)
{
	char why[WHY_SIZE], *rest = NULL;

	d->own_cpu = true;
	strtok_r(text, ",", &rest); /* the model */
	for (char *word = strtok_r(NULL, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (settings_set_word(&d->settings, word, why) == SETTING_BAD)
			return wrong(path, node, why);
	return true;
}

static bool read_argument(struct domain *d, const xmlNode *node, const char *path,
			  const char *option, char *value)
{
	if (!strcmp(option, "-global") || !strcmp(option, "--global"))
		return strncmp(value, "driver=", 7) ? read_short_global(d, node, path, value) :
						      read_long_global(d, node, path, value);
	if (!strcmp(option, "-cpu") || !strcmp(option, "--cpu"))
		return read_cpu_option(d, node, path, value);
	return true;
}

static bool read_commandline(struct domain *d, xmlNode *list, const char *path)
{
	char *last = NULL;
	bool good = true;

	for (xmlNode *node = list->children; node && good; node = node->next) {
		char *value;

		if (!is_qemu(node, "arg"))
			continue;
		value = attribute(node, "value");
		if (!value) {
			good = wrong(path, node, "expected an attribute 'value' of this argument");
			break;
		}
		if (last) {
			char *word = copy_string(value, strlen(value));

			good = read_argument(d, node, path, last, word);
			free(word);
		}
		free(last);
		last = value;
	}
	free(last);
	return good;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static bool read_domain(struct domain *d, xmlNode *root, const char *path)
{
	xmlNode *node;

	if (!is(root, "domain"))
		return wrong(path, root, "expected the element <domain>");
	node = child(root, "name");
	d->name = node ? own(xmlNodeGetContent(node)) : NULL;
	if (!d->name)
		return wrong(path, root, "expected an element <name> in <domain>");
	for (node = root->children; node; node = node->next) {
		if (is(node, "cpu")) {
			d->check = attribute(node, "check");
			if (!read_cpu(d, node, path, read_feature))
				return false;
		}
		if (is_qemu(node, "commandline") && !read_commandline(d, node, path))
			return false;
		if (!is_qemu(node, "commandline") && node->type == XML_ELEMENT_NODE &&
		    strstr((const char *)node->name, "commandline"))
			return wrong(path, node,
				     "expected xmlns:qemu='" QEMU_NAMESPACE
				     "' on <domain>: without it libvirt drops this element");
	}
	node = child(root, "cpu");
	return !node || d->own_cpu || read_cpu(d, node, path, read_bit);
}

bool domain_parse(struct domain *d, const char *xml, size_t size, const char *path)
{
	xmlParserCtxt *parser = xmlNewParserCtxt();
	bool good = false;
	xmlDoc *doc;

	memset(d, 0, sizeof(*d));
	settings_init(&d->settings);
	must(parser);
	doc = xmlCtxtReadMemory(parser, xml, (int)size, NULL, NULL,
				XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	if (!doc || !xmlDocGetRootElement(doc)) {
		const xmlError *error = xmlCtxtGetLastError(parser);
		const char *text = error && error->message ? error->message : "there is none";

		complain("%s: line %d: expected XML: %.*s", path, error ? error->line : 1,
			 (int)strcspn(text, "\n"), text);
	} else {
		good = read_domain(d, xmlDocGetRootElement(doc), path);
	}
	xmlFreeDoc(doc);
	xmlFreeParserCtxt(parser);
	return good;
}

bool domain_load(struct domain *d, const char *path)
{
	size_t size;
	char *text = read_text(path, 4, &size);
	bool good;

	memset(d, 0, sizeof(*d));
	good = text && domain_parse(d, text, size, path);
	free(text);
	return good;
}

void domain_free(struct domain *d)
{
	free(d->name);
	free(d->check);
	free(d->policy);
	memset(d, 0, sizeof(*d));
}

#define HOST_FILE "/etc/vlwp/host.conf on each host"

const struct manager managers[] = {
	{ "libvirt", "policy='force' needs nothing",
	  "add -global x86_64-cpu.enforce=on to <qemu:commandline>, or install " HOST_FILE,
	  "use <cpu ... check='partial'>", "set it in the domain (lwpctl baseline)" },
	/* It writes neither policy='force' nor check= nor <qemu:commandline>. */
	{ "nova", "Nova has no other policy", "install " HOST_FILE ", with which QEMU refuses it",
	  "let the flavor require the trait of the host (lwpctl caps --format=nova)",
	  "set it in " HOST_FILE " (lwpctl baseline --format=host)" },
	{ 0 },
};

bool domain_trap(const struct domain *d, const struct manager *manager, unsigned int nr,
		 char trap[WHY_SIZE])
{
	const bool required = d->policy && !strcmp(d->policy, "require");
	const bool unchecked = !d->check || !strcmp(d->check, "none");
	const struct {
		bool is;
		const char *what, *advice;
	} traps[] = {
		{ required,
		  "policy='require' needs announce=on in " HOST_FILE
		  ", else libvirt takes it for a host without LWP and refuses to start the domain",
		  manager->require },
		{ d->settings.enforce != 1 && (!required || unchecked),
		  "on a host without LWP it starts without LWP and without a word",
		  manager->enforce },
		{ d->policy && unchecked, "libvirt does not check the CPU", manager->check },
	};

	for (size_t i = 0; d->settings.lwp && i < sizeof(traps) / sizeof(traps[0]); i++)
		if (traps[i].is && !nr--)
			return snprintf(trap, WHY_SIZE, "%s; %s", traps[i].what, traps[i].advice);
	return false;
}
