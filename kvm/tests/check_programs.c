// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of programs.c is complete. KVM_PROGRAMS: the names of the programs that Meson builds, as strings.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>
#include "programs.h"

static const char *const built[] = { KVM_PROGRAMS };
static const size_t built_count = sizeof(built) / sizeof(*built);

static size_t rows_of(const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < kvm_program_count; i++)
		n += !strcmp(kvm_programs[i].name, name);
	return n;
}

Test(programs, each_that_is_built_has_one_row)
{
	for (size_t i = 0; i < built_count; i++)
		cr_expect(eq(sz, rows_of(built[i]), 1), "%s", built[i]);
	cr_expect(eq(sz, kvm_program_count, built_count));
}

Test(programs, the_single_run_is_there)
{
	for (size_t i = 0; i < kvm_program_count; i++)
		cr_expect(lt(u32, kvm_programs[i].single, kvm_run_count(&kvm_programs[i])), "%s",
			  kvm_programs[i].name);
}

Test(programs, one_of_several_runs_has_a_name_of_its_own)
{
	for (size_t i = 0; i < kvm_program_count; i++) {
		const struct kvm_program *p = &kvm_programs[i];
		unsigned int n = kvm_run_count(p);

		if (n == 1)
			cr_expect(zero(ptr, (void *)p->runs[0].name), "%s", p->name);
		for (unsigned int j = 0; n > 1 && j < n; j++) {
			cr_assert(not(zero(ptr, (void *)p->runs[j].name)), "%s", p->name);
			for (unsigned int k = 0; k < j; k++)
				cr_expect(ne(str, (char *)p->runs[j].name, (char *)p->runs[k].name),
					  "%s %s", p->name, p->runs[j].name);
		}
	}
}

Test(programs, names_and_lines_are_whole)
{
	char name[64];

	for (size_t i = 0; i < kvm_program_count; i++) {
		const struct kvm_program *p = &kvm_programs[i];

		cr_expect(zero(int,
			       strncmp(p->name, KVM_PROGRAM_PREFIX, strlen(KVM_PROGRAM_PREFIX))));
		cr_expect(zero(ptr, strpbrk(p->line, "\t\n")), "%s", p->name);
		kvm_run_name(p, &p->runs[0], name, sizeof(name));
		cr_expect(lt(sz, strlen(name), sizeof(name) - 1), "%s", name);
	}
}
