// SPDX-License-Identifier: GPL-2.0-or-later
/* Running lwprun with the fake processor and the victim, and reading the profile. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lwprun_run.h"

struct run run;
char data_path[128];
char directory[64];

void copy_text(char *to, size_t size, struct lwpdata_bytes text)
{
	snprintf(to, size, "%.*s", (int)text.size, (const char *)text.data);
}

/* ---- Reading what came out ------------------------------------------------------------------ */

static bool is_text(struct lwpdata_bytes bytes, const char *text)
{
	return bytes.size == strlen(text) && !memcmp(bytes.data, text, bytes.size);
}

static void take_data_map(const struct lwpdata_data_map *m)
{
	run.data_maps++;
	run.heaps += is_text(m->name, "[heap]");
	run.stacks += is_text(m->name, "[stack]");
	run.program_data += m->map.object == run.program_object;
	cr_expect(m->map.object == LWPDATA_NONE || !m->name.size);
}

static void add_stack(const struct lwpdata_stack *stack)
{
	uint64_t nr = stack->addresses.size / sizeof(uint64_t),
		 *least = &run.threads[stack->thread].least;

	if (!run.threads[stack->thread].stacks++ || nr < *least)
		*least = nr;
	run.threads[stack->thread].weight += stack->weight;
}

static void take_section(const struct lwpdata_section *s)
{
	switch (s->type) {
	case LWPDATA_PROCESS:
		cr_assert(lt(u32, run.nr_processes, MAX));
		copy_text(run.processes[s->process.id].comm, 32, s->process.comm);
		copy_text(run.processes[s->process.id].exe, 512, s->process.exe);
		run.processes[s->process.id].pid = s->process.pid;
		run.processes[s->process.id].parent = s->process.parent;
		run.processes[s->process.id].origin = s->process.origin;
		run.nr_processes++;
		break;
	case LWPDATA_PROCESS_END:
		run.processes[s->process_end.process].how = s->process_end.how;
		break;
	case LWPDATA_THREAD:
		cr_assert(lt(u32, run.nr_threads, MAX));
		run.threads[s->thread.id].process = s->thread.process;
		run.nr_threads++;
		break;
	case LWPDATA_RECORDS:
		run.records += s->records.count;
		run.threads[s->records.thread].records += s->records.count;
		run.processes[run.threads[s->records.thread].process].records += s->records.count;
		break;
	case LWPDATA_STACK:
		add_stack(&s->stack);
		break;
	case LWPDATA_THREAD_END:
		copy_text(run.threads[s->thread_end.thread].comm, 32, s->thread_end.comm);
		run.threads[s->thread_end.thread].flags = s->thread_end.flags;
		run.threads[s->thread_end.thread].missed = s->thread_end.missed;
		run.threads[s->thread_end.thread].end_records = s->thread_end.records;
		run.missed += s->thread_end.missed;
		break;
	case LWPDATA_KEPT:
		run.kept_bits = s->kept.bits;
		break;
	case LWPDATA_STATS:
		run.stats = s->stats;
		break;
	case LWPDATA_OBJECT:
		if (is_text(s->object.path, getenv("VICTIM")))
			run.program_object = s->object.id;
		break;
	case LWPDATA_DATA_MAP:
		take_data_map(&s->data_map);
		break;
	case LWPDATA_DATA_UNMAP:
		run.data_unmaps++;
		break;
	default:
		break;
	}
}

static void *read_file(size_t *size)
{
	FILE *file = fopen(data_path, "r");
	void *bytes = malloc(64 << 20);

	if (!file)
		return NULL;
	*size = fread(bytes, 1, 64 << 20, file);
	fclose(file);
	return bytes;
}

void for_sections(void (*each)(const struct lwpdata_section *))
{
	struct lwpdata_error error = { 0 };
	struct lwpdata_section section;
	struct lwpdata_reader reader;
	size_t size;
	void *bytes = read_file(&size);
	int more;

	cr_assert(bytes != NULL);
	cr_assert(lwpdata_open(&reader, bytes, size, &error));
	while ((more = lwpdata_next(&reader, &section, &error)) > 0)
		each(&section);
	cr_assert(eq(int, more, 0), "%s", error.text);
	free(bytes);
}

/* ---- Running -------------------------------------------------------------------------------- */

void set_up(void)
{
	snprintf(directory, sizeof(directory), "/tmp/test_lwprun.XXXXXX");
	cr_assert(mkdtemp(directory) != NULL);
	snprintf(data_path, sizeof(data_path), "%s/lwp.data", directory);
	setenv("LD_PRELOAD", getenv("FAKE_LWP"), 1);
}

void tear_down(void)
{
	unlink(data_path);
	rmdir(directory);
}

void run_program(const char *const argv[])
{
	int pipes[2], status;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	memset(&run, 0, sizeof(run));
	run.program_object = LWPDATA_NONE - 1;
	cr_assert(eq(int, pipe(pipes), 0));
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		execv(argv[0], (char **)argv);
		_exit(96);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], run.errors + used, sizeof(run.errors) - 1 - used)) > 0)
		used += (size_t)n;
	close(pipes[0]);
	waitpid(pid, &status, 0);
	run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void lwprun(const char *first, ...)
{
	const char *argv[32] = { getenv("LWPRUN"), "-o", data_path };
	va_list args;
	int argc = 3;

	va_start(args, first);
	for (const char *arg = first; arg; arg = va_arg(args, const char *))
		argv[argc++] = arg;
	va_end(args);
	run_program(argv);
	run.have_file = access(data_path, F_OK) == 0;
	if (run.have_file)
		for_sections(take_section);
}

uint32_t lines(const char *text)
{
	uint32_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}
