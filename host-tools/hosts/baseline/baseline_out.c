// SPDX-License-Identifier: GPL-2.0-or-later
/* A baseline as users need it. */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdlib.h>

#include "baseline_out.h"
#include "json_out.h"
#include "lwpctl.h"
#include "memory.h"

static void say_word(void *opaque, const char *name, const char *value)
{
	fprintf(opaque, ",%s=%s", name, value);
}

char *baseline_words(const struct settings *s, const char *model)
{
	char *text = NULL;
	size_t size;
	FILE *to = must(open_memstream(&text, &size));

	fprintf(to, "%s,lwp=on", model);
	settings_each(s, say_word, to);
	if (fclose(to))
		must(NULL);
	return text;
}

/* ---- libvirt -------------------------------------------------------------------------------- */

static void set_attribute(xmlNode *node, const char *name, const char *value)
{
	must(xmlSetProp(node, (const xmlChar *)name, (const xmlChar *)value));
}

static xmlNode *new_child(xmlNode *parent, const char *name, const char *text)
{
	return must(xmlNewTextChild(parent, NULL, (const xmlChar *)name, (const xmlChar *)text));
}

/* One feature of this name and no other. */
static void set_feature(xmlNode *cpu, const char *name, const char *policy)
{
	xmlNode *next, *node;

	for (node = cpu->children; node; node = next) {
		xmlChar *has = xmlGetNoNsProp(node, (const xmlChar *)"name");

		next = node->next;
		if (has && !strcmp((char *)has, name)) {
			xmlUnlinkNode(node);
			xmlFreeNode(node);
		}
		xmlFree(has);
	}
	node = new_child(cpu, "feature", NULL);
	set_attribute(node, "policy", policy);
	set_attribute(node, "name", name);
}

static xmlDoc *cpu_of(const char *model, const char *cpu)
{
	xmlDoc *doc;
	xmlNode *root, *child;

	if (cpu) {
		xmlKeepBlanksDefault(0);
		doc = xmlReadMemory(cpu, (int)strlen(cpu), NULL, NULL,
				    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
					    XML_PARSE_NOBLANKS);
		return doc;
	}
	doc = must(xmlNewDoc((const xmlChar *)"1.0"));
	root = must(xmlNewNode(NULL, (const xmlChar *)"cpu"));
	xmlDocSetRootElement(doc, root);
	set_attribute(root, "mode", "custom");
	set_attribute(root, "match", "exact");
	child = new_child(root, "model", model);
	set_attribute(child, "fallback", "forbid");
	return doc;
}

static void say_global(void *opaque, const char *name, const char *value)
{
	fprintf(opaque, "  <qemu:arg value='-global'/>\n  <qemu:arg value='x86_64-cpu.%s=%s'/>\n",
		name, value);
}

bool baseline_libvirt(const struct settings *s, const char *model, const char *cpu, FILE *to)
{
	xmlDoc *doc = cpu_of(model, cpu);
	xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;
	xmlBuffer *buffer;

	if (!root || strcmp((const char *)root->name, "cpu")) {
		complain("libvirt's baseline: expected an element <cpu>");
		xmlFreeDoc(doc);
		return false;
	}
	set_attribute(root, "check", "partial");
	set_feature(root, "lwp", "force");
	buffer = must(xmlBufferCreate());
	xmlNodeDump(buffer, doc, root, 0, 1);
	fprintf(to, "<!-- in place of the domain's <cpu>: -->\n%s\n", xmlBufferContent(buffer));
	xmlBufferFree(buffer);
	xmlFreeDoc(doc);
	fputs("<!-- at the end of <domain "
	      "xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>: -->\n"
	      "<qemu:commandline>\n",
	      to);
	settings_each(s, say_global, to);
	fputs("</qemu:commandline>\n", to);
	return true;
}

/* ---- The host file -------------------------------------------------------------------------- */

static void say_line(void *opaque, const char *name, const char *value)
{
	if (strcmp(name, "enforce") !=
	    0) /* lwp=on that cannot be had is an error without it, too */
		fprintf(opaque, "%s=%s\n", name, value);
}

void baseline_host(const struct settings *s, const struct hostcaps *hosts, size_t nr, FILE *to)
{
	const char *before = " ";
	int left = HOST_FILE_LINE - fprintf(to, "# LWP that %zu hosts have in common:", nr);

	for (size_t i = 0; i < nr; i++) {
		size_t length = strlen(hostcaps_label(&hosts[i]));

		if (length + strlen(", , ...") > (size_t)left) {
			fprintf(to, "%s...", before);
			break;
		}
		left -= fprintf(to, "%s%s", before, hostcaps_label(&hosts[i]));
		before = ", ";
	}
	fputs("\n# libvirt and its managers see lwp; a guest has it only if it asks for it\n"
	      "announce=on\n",
	      to);
	settings_each(s, say_line, to);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void add_register(json_object *leaf, const char *name, u32 value)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08x", value);
	json_add(leaf, name, (const char *)text);
}

json_object *baseline_json(const struct settings *s, const struct lwp_caps *caps, const char *model,
			   const struct hostcaps *hosts, size_t nr)
{
	json_object *root = json_new(), *names = json_list(), *leaf = json_new();
	struct lwp_leaf regs;
	char *text = baseline_words(s, model);

	for (size_t i = 0; i < nr; i++)
		json_append(names, hostcaps_label(&hosts[i]));
	lwp_leaf_encode(caps, 0, &regs);
	add_register(leaf, "ebx", regs.ebx);
	add_register(leaf, "ecx", regs.ecx);
	add_register(leaf, "edx", regs.edx);
	json_add(root, "lwp_baseline", 1u);
	json_add(root, "hosts", names);
	json_add(root, "cpu", text);
	json_add(root, "properties", settings_json(s));
	json_add(root, "leaf", leaf);
	free(text);
	return root;
}
