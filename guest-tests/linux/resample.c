// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resample: the profile that lwprun --windows=N:EVERY would have made of a program whose complete trace there is.
 *
 *	resample TRACE N EVERY SEED OUTPUT
 *
 * Windows are chosen as lwprun chooses them (chooser.h).
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "chooser.h"
#include "lwp_record.h"
#include "lwpdata.h"

struct thread {
	struct chooser chooser;
	bool broken; /* something lies between the last window and the next */
	uint64_t records, left_out;
};

static struct lwpdata_writer *writer;
static struct lwpdata_config config;
static struct thread *threads;
static uint32_t window_size, every;
static uint64_t seed;

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "resample: %s: %s\n", what, why);
	exit(1);
}

static void copy_config(const struct lwpdata_config *from)
{
	static struct lwpdata_bytes args[LWPDATA_MAX_ARGS];

	config = *from;
	for (uint32_t i = 0; i < config.nr_args; i++)
		args[i] = lwpdata_arg(from, i);
	config.args = args;
	lwpdata_write_config(writer, &config);
}

static void begin_thread(const struct lwpdata_thread *from)
{
	threads = realloc(threads, (from->id + 1) * sizeof(*threads));
	if (!threads)
		die("threads", "no memory");
	threads[from->id] = (struct thread){ .broken = true };
	chooser_begin(&threads[from->id].chooser, window_size, every, seed, from->id);
	lwpdata_write_thread(writer, from);
}

static void end_thread(struct lwpdata_thread_end end)
{
	end.records = threads[end.thread].records;
	end.missed = threads[end.thread].left_out;
	lwpdata_write_thread_end(writer, &end);
}

static void sample(const struct lwpdata_window *from)
{
	struct thread *t = &threads[from->thread];
	const uint8_t *bytes = from->data;

	if (from->weight != from->count)
		die("the trace", "branches are missing");
	for (uint64_t left = from->count, pass, taken; left; left -= pass + taken) {
		struct lwpdata_window window = { .thread = from->thread, .time = from->time };

		chooser_step(&t->chooser, left, &pass, &taken);
		bytes += pass * LWP_RECORD_SIZE;
		window.flags = t->broken || pass ? 0 : LWPDATA_WINDOW_CONTINUES;
		window.weight = chooser_weight(&t->chooser, taken);
		if (taken)
			lwpdata_write_window(writer, &window, bytes,
					     (uint32_t)taken * LWP_RECORD_SIZE, NULL, 0);
		t->broken = !taken;
		t->left_out += pass;
		t->records += taken;
		bytes += taken * LWP_RECORD_SIZE;
	}
}

static void copy(const struct lwpdata_section *s)
{
	switch (s->type) {
	case LWPDATA_CONFIG:
		copy_config(&s->config);
		break;
	case LWPDATA_OBJECT:
		lwpdata_write_object(writer, &s->object);
		break;
	case LWPDATA_PROCESS:
		lwpdata_write_process(writer, &s->process);
		break;
	case LWPDATA_MAP:
		lwpdata_write_map(writer, &s->map);
		break;
	case LWPDATA_UNMAP:
		lwpdata_write_unmap(writer, &s->unmap);
		break;
	case LWPDATA_THREAD:
		begin_thread(&s->thread);
		break;
	case LWPDATA_WINDOW:
		sample(&s->window);
		break;
	case LWPDATA_THREAD_END:
		end_thread(s->thread_end);
		break;
	case LWPDATA_PROCESS_END:
		lwpdata_write_process_end(writer, &s->process_end);
		break;
	case LWPDATA_PERF_MAP:
		lwpdata_write_perf_map(writer, &s->perf_map);
		break;
	case LWPDATA_IMAGE:
		lwpdata_write_image(writer, &s->image);
		break;
	case LWPDATA_STATS:
		lwpdata_write_stats(writer, &s->stats);
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	int fd = argc == 6 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, more;
	struct lwpdata_section section;
	struct lwpdata_reader reader;
	struct lwpdata_error error;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st))
		die(argc == 6 ? argv[1] : "usage", "TRACE N EVERY SEED OUTPUT");
	window_size = (uint32_t)strtoul(argv[2], NULL, 10);
	every = (uint32_t)strtoul(argv[3], NULL, 10);
	seed = strtoull(argv[4], NULL, 10);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	writer = lwpdata_create(argv[5]);
	if (data == MAP_FAILED || !writer || !window_size || every < window_size)
		die(argv[5], "cannot be made");
	more = lwpdata_open(&reader, data, (uint64_t)st.st_size, &error) ? 1 : -1;
	while (more > 0 && (more = lwpdata_next(&reader, &section, &error)) > 0)
		copy(&section);
	if (more < 0)
		die(argv[1], error.text);
	if (lwpdata_finish(writer))
		die(argv[5], "cannot be written");
	free(threads);
	return 0;
}
