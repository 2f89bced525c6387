// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kvmruns --list | --runs: the table of programs.c for those who start the programs. --list: a line for each run, its
 * name, a tab and its description. --runs: a JSON array with an object for each run.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "programs.h"

struct text {
	char name[64], line[160];
};

static struct text describe(const struct kvm_program *p, const struct kvm_run *r)
{
	struct text t;

	kvm_run_name(p, r, t.name, sizeof(t.name));
	snprintf(t.line, sizeof(t.line), "%s%s%s", p->line, r->line ? "; " : "",
		 r->line ? r->line : "");
	return t;
}

static void list(void)
{
	for (size_t i = 0; i < kvm_program_count; i++) {
		const struct kvm_program *p = &kvm_programs[i];

		for (unsigned int j = 0; j < kvm_run_count(p); j++) {
			struct text t = describe(p, &p->runs[j]);

			printf("%s\t%s\n", t.name, t.line);
		}
	}
}

static void add_string(struct json_object *to, const char *key, const char *value)
{
	json_object_object_add(to, key, json_object_new_string(value ? value : ""));
}

static struct json_object *run_json(const struct kvm_program *p, unsigned int index)
{
	const struct kvm_run *r = &p->runs[index];
	struct json_object *o = json_object_new_object(), *args = json_object_new_array();
	struct text t = describe(p, r);

	for (const char *const *arg = r->args; *arg; arg++)
		json_object_array_add(args, json_object_new_string(*arg));
	add_string(o, "program", p->name);
	add_string(o, "name", t.name);
	add_string(o, "line", t.line);
	add_string(o, "since", p->since);
	add_string(o, "result", kvm_result_word(p->result));
	add_string(o, "cpu", r->cpu);
	add_string(o, "kvm_amd", r->kvm_amd);
	json_object_object_add(o, "args", args);
	json_object_object_add(o, "smp", json_object_new_int(r->smp ? (int)r->smp : 1));
	json_object_object_add(o, "limit",
			       json_object_new_int(r->limit ? (int)r->limit : KVM_RUN_LIMIT));
	json_object_object_add(o, "single", json_object_new_boolean(index == p->single));
	return o;
}

static void runs(void)
{
	struct json_object *all = json_object_new_array();

	for (size_t i = 0; i < kvm_program_count; i++)
		for (unsigned int j = 0; j < kvm_run_count(&kvm_programs[i]); j++)
			json_object_array_add(all, run_json(&kvm_programs[i], j));
	puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
							 JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		list();
	} else if (argc == 2 && !strcmp(argv[1], "--runs")) {
		runs();
	} else {
		fprintf(stderr, "kvmruns: use --list or --runs\n");
		return 2;
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "kvmruns: cannot write the standard output\n");
		return 1;
	}
	return 0;
}
