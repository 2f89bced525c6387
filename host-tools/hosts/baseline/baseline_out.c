// SPDX-License-Identifier: GPL-2.0-or-later
/* A baseline as users need it. */
#include <stdlib.h>

#include "baseline_out.h"
#include "json_out.h"
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

static void say_global(void *opaque, const char *name, const char *value)
{
	fprintf(opaque, "  <qemu:arg value='-global'/>\n  <qemu:arg value='x86_64-cpu.%s=%s'/>\n",
		name, value);
}

void baseline_libvirt(const struct settings *s, const char *model, FILE *to)
{
	fprintf(to,
		"<!-- in place of the domain's <cpu>: -->\n"
		"<cpu mode='custom' match='exact' check='partial'>\n"
		"  <model fallback='forbid'>%s</model>\n"
		"  <feature policy='force' name='lwp'/>\n"
		"</cpu>\n"
		"<!-- at the end of <domain "
		"xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>: -->\n"
		"<qemu:commandline>\n",
		model);
	settings_each(s, say_global, to);
	fputs("</qemu:commandline>\n", to);
}

/* ---- The host file -------------------------------------------------------------------------- */

static void say_line(void *opaque, const char *name, const char *value)
{
	/* lwp=on that cannot be had is an error without it, too. */
	if (strcmp(name, "enforce"))
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
