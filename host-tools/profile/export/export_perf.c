// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf.data of Linux perf, in the form that tools/perf/Documentation/perf.data-file-format.txt describes: one attribute
 * for each event, the mappings, the threads, the samples, and the features that readers ask for. Windows of branches
 * become samples with branch stacks.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "lwpctl_report.h"
#include "calls.h"
#include "export.h"
#include "jitted.h"
#include "lwp_rev.h"
#include "lwpctl.h"
#include "memory.h"
#include "printable.h"

#define MAGIC "PERFILE2"
#define ATTR_SIZE 128 /* PERF_ATTR_SIZE_VER7: what older perfs read too */
#define FIRST_ID 1 /* of events */
#define LBR_DEPTH 32
#define PATH_MAX_PERF 4096

/* perf's own records and features, which no header of the kernel has. */
enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_EVENT_DESC = 12,
	FEATURE_BRANCH_STACK = 15
};

#define SAMPLE_TYPE                                                                     \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

struct section {
	uint64_t offset, size;
};

struct head {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};
_Static_assert(sizeof(struct head) == 104, "the head of perf.data");

struct file_attr {
	uint8_t attr[ATTR_SIZE];
	struct section ids;
};

/* What follows a record that is no sample. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t identifier;
};

/* A record in memory: they are sorted by time before they are written. */
struct record {
	uint64_t time;
	size_t order; /* equal times stay in the order in which they were added */
	size_t at, size; /* in the buffer */
};

struct writer {
	struct export *e;
	struct bytes all; /* records */
	struct record *records;
	size_t nr, record_room;
	uint32_t events[LWPDATA_MAX_EVENTS];
	size_t nr_events;
	uint32_t branches; /* EventId */
	struct jitted jitted;
	bool stacks; /* call stacks of windows instead of branch stacks */
	const struct calls *calls; /* with stacks */
};

/* ---- Records -------------------------------------------------------------------------------- */

static void put(struct writer *w, const void *bytes, size_t size)
{
	add_bytes(&w->all, bytes, size);
}

static void put64(struct writer *w, uint64_t value)
{
	put(w, &value, sizeof(value));
}

static void put_pair(struct writer *w, uint32_t first, uint32_t second)
{
	put(w, &first, sizeof(first));
	put(w, &second, sizeof(second));
}

/* With its zero byte, up to a multiple of 8. */
static void put_name(struct writer *w, const char *name)
{
	static const char zeroes[8];
	size_t length = strnlen(name, PATH_MAX_PERF - 8);

	put(w, name, length);
	put(w, zeroes, 8 - length % 8);
}

static void begin(struct writer *w, uint32_t type, uint16_t misc, uint64_t time)
{
	const struct perf_event_header header = { .type = type, .misc = misc };

	w->records = grow(w->records, w->nr, &w->record_room, sizeof(*w->records));
	w->records[w->nr] = (struct record){ time, w->nr, w->all.size, 0 };
	w->nr++;
	put(w, &header, sizeof(header));
}

static void end(struct writer *w)
{
	struct record *record = &w->records[w->nr - 1];
	struct perf_event_header header;

	record->size = w->all.size - record->at;
	memcpy(&header, w->all.data + record->at, sizeof(header));
	header.size = (uint16_t)record->size;
	memcpy(w->all.data + record->at, &header, sizeof(header));
}

static void put_id(struct writer *w, uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct sample_id id = { pid, tid, time, 0, 0, FIRST_ID };

	put(w, &id, sizeof(id));
}

static void add_comm(struct writer *w, uint32_t pid, uint32_t tid, const char *comm, uint64_t time)
{
	begin(w, PERF_RECORD_COMM, pid == tid ? PERF_RECORD_MISC_COMM_EXEC : 0, time);
	put_pair(w, pid, tid);
	put_name(w, comm);
	put_id(w, pid, tid, time);
	end(w);
}

static void add_fork(struct writer *w, uint32_t pid, uint32_t parent, uint32_t tid, uint64_t time)
{
	begin(w, PERF_RECORD_FORK, 0, time);
	put_pair(w, pid, parent);
	put_pair(w, tid, parent);
	put64(w, time);
	put_id(w, pid, tid, time);
	end(w);
}

/* Did another mapping lie there before? */
static bool replaces(const struct profile *p, const struct profile_map *map)
{
	for (size_t i = 0; i < p->nr_maps; i++) {
		const struct profile_map *other = &p->maps[i];

		if (other->process == map->process && other->from < map->from &&
		    other->start < map->end && map->start < other->end)
			return true;
	}
	return false;
}

/* A library is noticed after it was mapped: its mapping counts from the beginning, if nothing else was there. */
static void add_map(struct writer *w, const struct profile_map *map)
{
	const struct profile *p = &w->e->view->profile;
	const struct profile_process *process = &p->processes[map->process];
	uint64_t time = replaces(p, map) ? map->time : process->time;
	const char *image = w->jitted.paths[map - p->maps];
	const char *name = map->object == LWPDATA_NONE ? "//anon" : p->objects[map->object].path;

	begin(w, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, time);
	put_pair(w, process->pid, process->pid);
	put64(w, map->start);
	put64(w, map->end - map->start);
	put64(w, image ? JITTED_OFFSET : map->offset);
	put_pair(w, 0, 0); /* device */
	put64(w, map->object == LWPDATA_NONE || image ? 0 : (uint64_t)map->object + 1); /* inode */
	put64(w, 0);
	put_pair(w, 5, 2); /* PROT_READ | PROT_EXEC, MAP_PRIVATE */
	put_name(w, image ?: name);
	put_id(w, process->pid, process->pid, time);
	end(w);
}

static uint64_t identifier(const struct writer *w, uint32_t event_id)
{
	return FIRST_ID + view_column(w->events, w->nr_events, event_id);
}

static bool has_event(const struct writer *w, uint32_t event_id)
{
	return identifier(w, event_id) < FIRST_ID + w->nr_events;
}

static bool has_branch_stacks(const struct writer *w)
{
	return !w->stacks && w->e->view->profile.nr_windows;
}

struct taken {
	uint64_t from, to;
	bool predicted, right;
};

static void put_stack(struct writer *w, const struct taken *stack, size_t nr)
{
	put64(w, nr);
	for (size_t i = nr; i-- > 0;) {
		put64(w, stack[i].from);
		put64(w, stack[i].to);
		/* Bits of struct perf_branch_entry: mispred, predicted. */
		put64(w, !stack[i].predicted ? 0 : stack[i].right ? 2 : 1);
	}
}

static void add_sample(struct writer *w, uint32_t thread, uint32_t event_id, uint64_t address,
		       uint64_t time, uint32_t cpu, uint64_t period, const struct taken *stack,
		       size_t nr)
{
	const struct profile *p = &w->e->view->profile;
	const struct profile_thread *t = &p->threads[thread];

	begin(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, time);
	put64(w, identifier(w, event_id));
	put64(w, address);
	put_pair(w, p->processes[t->process].pid, t->tid);
	put64(w, time);
	put_pair(w, cpu, 0);
	put64(w, period);
	/*
	 * perf script prints the form that others fold only for a sample with a stack; perf2bolt reads the branches
	 * only of one without.
	 */
	if (has_branch_stacks(w) && event_id == w->branches) {
		put_stack(w, stack, nr);
	} else {
		put64(w, 2);
		put64(w, (uint64_t)PERF_CONTEXT_USER);
		put64(w, address);
	}
	end(w);
}

static void take(void *to, const struct sample *sample)
{
	struct writer *w = to;
	const struct view *view = w->e->view;

	if (sample->window || !has_event(w, sample->key.event_id) ||
	    !samples_find(&view->samples, &view->tally, &sample->key))
		return;
	add_sample(w, sample->key.thread, sample->key.event_id, sample->record->address,
		   sample->time, sample->record->core_id,
		   report_stands_for(&view->profile, sample->key.event_id), NULL, 0);
}

/* ---- Call stacks ---------------------------------------------------------------------------- */

/* The address of a function in a process; 0: it is not mapped there. */
static uint64_t address_in(const struct profile *p, const struct function *function,
			   uint32_t process)
{
	const struct profile_map *seen;
	uint64_t offset;

	if (function->map == SIZE_MAX)
		return function->seen;
	seen = &p->maps[function->map];
	if (seen->process == process)
		return function->seen;
	offset = function->seen - seen->start + seen->offset;
	for (size_t i = 0; i < p->nr_maps; i++) {
		const struct profile_map *map = &p->maps[i];

		if (map->process == process && map->object == seen->object && !map->data &&
		    map->object != LWPDATA_NONE && offset >= map->offset &&
		    offset - map->offset < map->end - map->start)
			return map->start + offset - map->offset;
	}
	return 0;
}

/* The functions of a chain from the innermost on, as addresses. What is below a window has none. */
static size_t chain_addresses(const struct writer *w, size_t chain, uint32_t process,
			      uint64_t addresses[CHAIN_MAX + 1])
{
	size_t nr = 0;

	for (; chain; chain = w->calls->chains[chain].caller) {
		size_t function = w->calls->chains[chain].function;
		uint64_t address = function == NO_FUNCTION ?
					   0 :
					   address_in(&w->e->view->profile,
						      &w->calls->blocks.functions[function],
						      process);

		if (address)
			addresses[nr++] = address;
	}
	return nr;
}

/* Instructions of a thread in one chain, one step after the other. */
static void add_call_stack(struct writer *w, const struct call_step *step)
{
	const struct profile *p = &w->e->view->profile;
	const struct profile_thread *t = &p->threads[step->thread];
	uint64_t addresses[CHAIN_MAX + 1];
	size_t nr = chain_addresses(w, step->chain, t->process, addresses);

	if (!nr || step->instructions < 0.5)
		return;
	begin(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, step->time);
	put64(w, FIRST_ID);
	put64(w, addresses[0]);
	put_pair(w, p->processes[t->process].pid, t->tid);
	put64(w, step->time);
	put_pair(w, step->core_id, 0);
	put64(w, (uint64_t)(step->instructions + 0.5));
	put64(w, nr + 1);
	put64(w, (uint64_t)PERF_CONTEXT_USER);
	put(w, addresses, nr * sizeof(addresses[0]));
	end(w);
}

struct call_steps {
	struct call_step *list;
	size_t nr, room;
};

/* Runs in the same chain, one after the other, are one sample. */
static void take_step(void *to, const struct call_step *step)
{
	struct call_steps *s = to;
	struct call_step *last = s->nr ? &s->list[s->nr - 1] : NULL;

	if (last && last->thread == step->thread && last->chain == step->chain) {
		last->instructions += step->instructions;
		return;
	}
	*APPEND(s->list, s->nr, s->room) = *step;
}

static void add_call_stacks(struct writer *w)
{
	struct call_steps steps = { 0 };
	struct calls calls;

	calls_make(&calls, &w->e->view->resolver, &w->e->options->filter, take_step, &steps);
	w->calls = &calls;
	for (size_t i = 0; i < steps.nr; i++)
		add_call_stack(w, &steps.list[i]);
	free(steps.list);
	calls_free(&calls);
	w->calls = NULL;
}

/* ---- All records ---------------------------------------------------------------------------- */

/* The taken branches of a window as stacks; each begins with the last branch of the one before. */
static void add_window(struct writer *w, const struct profile_window *window)
{
	struct taken stack[LBR_DEPTH];
	uint32_t taken = 0, stacks, number = 0;
	struct lwp_record record = { 0 };
	size_t nr = 0;

	for (uint32_t i = 0; i < window->count; i++) {
		lwp_record_decode(window->data + (size_t)i * LWP_RECORD_SIZE, &record);
		taken += !!(record.flags & LWP_RECORD_TKN);
	}
	stacks = taken < 2 ? 1 : (taken - 2) / (LBR_DEPTH - 1) + 1;
	for (uint32_t i = 0; i < window->count; i++) {
		bool last = i + 1 == window->count;

		lwp_record_decode(window->data + (size_t)i * LWP_RECORD_SIZE, &record);
		if (record.flags & LWP_RECORD_TKN)
			stack[nr++] = (struct taken){ record.address, record.data2,
						      record.flags & LWP_RECORD_PRV,
						      record.flags & LWP_RECORD_PRD };
		if (nr < LBR_DEPTH && !last)
			continue;
		if (nr > (number ? 1u : 0u)) {
			add_sample(w, window->thread, w->branches, stack[nr - 1].to,
				   window->time + number, record.core_id,
				   window->weight / stacks ?: 1, stack, nr);
			stack[0] = stack[nr - 1];
			nr = 1;
			number++;
		}
	}
}

static void add_all(struct writer *w)
{
	const struct profile *p = &w->e->view->profile;

	for (size_t i = 0; i < p->nr_processes; i++) {
		const struct profile_process *process = &p->processes[i];

		if (process->parent != LWPDATA_NONE)
			add_fork(w, process->pid, p->processes[process->parent].pid, process->pid,
				 process->time);
		add_comm(w, process->pid, process->pid, process->comm, process->time);
	}
	for (size_t i = 0; i < p->nr_maps; i++)
		add_map(w, &p->maps[i]);
	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *thread = &p->threads[i];
		uint32_t pid = p->processes[thread->process].pid;

		if (thread->tid == pid)
			continue;
		add_fork(w, pid, pid, thread->tid, thread->time);
		add_comm(w, pid, thread->tid, thread->comm, thread->time);
	}
	if (w->stacks) {
		add_call_stacks(w);
		return;
	}
	tally_walk(p, &w->e->options->filter, w->e->options->targets, take, w);
	for (size_t i = 0; i < p->nr_windows; i++) {
		const struct profile_batch batch = window_batch(&p->windows[i]);

		if (has_event(w, w->branches) && filter_batch(&w->e->options->filter, p, &batch))
			add_window(w, &p->windows[i]);
	}
}

static int compare(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return ORDER(x->time, y->time) ?: ORDER(x->order, y->order);
}

/* ---- The file ------------------------------------------------------------------------------- */

/* PERF_COUNT_HW_* of a kind of event. */
static uint64_t hardware_event(uint32_t kind)
{
	switch (kind) {
	case LWP_KIND_IRE:
		return PERF_COUNT_HW_INSTRUCTIONS;
	case LWP_KIND_BRE:
		return PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	case LWP_KIND_DME:
		return PERF_COUNT_HW_CACHE_MISSES;
	case LWP_KIND_RNH:
		return PERF_COUNT_HW_REF_CPU_CYCLES;
	default:
		return PERF_COUNT_HW_CPU_CYCLES;
	}
}

static struct file_attr attr_of(const struct writer *w, size_t k, uint64_t ids)
{
	const struct profile *p = &w->e->view->profile;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = ATTR_SIZE,
		.config = hardware_event(w->stacks ? LWP_KIND_IRE : profile_kind(p, w->events[k])),
		.sample_period = w->stacks ? 1 : report_stands_for(p, w->events[k]),
		.sample_type = SAMPLE_TYPE,
		.read_format = PERF_FORMAT_ID,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
	};
	struct file_attr out = { .ids = { ids + k * sizeof(uint64_t), sizeof(uint64_t) } };

	if (has_branch_stacks(w) && w->events[k] == w->branches) {
		/* Of a stack: perf takes branches of period 1 for those of BTS, and reads no stacks. */
		attr.sample_period *= LBR_DEPTH - 1;
		attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	}
	memcpy(out.attr, &attr, sizeof(attr) < ATTR_SIZE ? sizeof(attr) : ATTR_SIZE);
	return out;
}

/* A section of a feature goes where the file ends. */
struct features {
	struct section list[6];
	size_t nr;
	uint64_t bits, at;
	char *bytes;
	size_t size;
	FILE *to;
};

static void begin_feature(struct features *f, unsigned int bit)
{
	fflush(f->to);
	f->bits |= 1ull << bit;
	f->list[f->nr].offset = f->size;
}

static void end_feature(struct features *f)
{
	fflush(f->to);
	f->list[f->nr].size = f->size - f->list[f->nr].offset;
	f->nr++;
}

static void put_string(FILE *to, const char *text)
{
	uint32_t size = (uint32_t)(strlen(text) / 8 + 1) * 8;
	char *padded = must(calloc(1, size));

	memcpy(padded, text, strlen(text));
	fwrite(&size, sizeof(size), 1, to);
	fwrite(padded, size, 1, to);
	free(padded);
}

#define BUILD_ID_MAX 20
#define BUILD_ID_ROOM 24

static bool has_build_ids(const struct profile *p)
{
	for (uint32_t i = 0; i < p->nr_objects; i++)
		if (p->objects[i].build_id.size)
			return true;
	return false;
}

static void put_build_ids(const struct profile *p, FILE *to)
{
	for (uint32_t i = 0; i < p->nr_objects; i++) {
		const struct profile_object *object = &p->objects[i];
		size_t length = strnlen(object->path, PATH_MAX_PERF - 8);
		size_t room = length / 64 * 64 + 64, id_size = object->build_id.size;
		uint8_t id[BUILD_ID_ROOM] = { 0 };
		struct perf_event_header header = {
			.misc = PERF_RECORD_MISC_USER | 1 << 15, /* the size of the id is said */
			.size = (uint16_t)(sizeof(header) + sizeof(int32_t) + sizeof(id) + room),
		};
		int32_t pid = -1;
		char *path;

		if (!id_size)
			continue;
		if (id_size > BUILD_ID_MAX)
			id_size = BUILD_ID_MAX;
		memcpy(id, object->build_id.data, id_size);
		id[BUILD_ID_MAX] = (uint8_t)id_size;
		path = must(calloc(1, room));
		memcpy(path, object->path, length);
		fwrite(&header, sizeof(header), 1, to);
		fwrite(&pid, sizeof(pid), 1, to);
		fwrite(id, sizeof(id), 1, to);
		fwrite(path, room, 1, to);
		free(path);
	}
}

static void put_event_names(const struct writer *w, uint64_t ids, FILE *to)
{
	uint32_t nr = (uint32_t)w->nr_events, size = ATTR_SIZE, one = 1;

	fwrite(&nr, sizeof(nr), 1, to);
	fwrite(&size, sizeof(size), 1, to);
	for (size_t k = 0; k < w->nr_events; k++) {
		const struct file_attr attr = attr_of(w, k, ids);
		uint64_t id = FIRST_ID + k;

		fwrite(attr.attr, ATTR_SIZE, 1, to);
		fwrite(&one, sizeof(one), 1, to);
		put_string(to, w->stacks ? "instructions" :
					   profile_event_name(&w->e->view->profile, w->events[k]));
		fwrite(&id, sizeof(id), 1, to);
	}
}

static void make_features(const struct writer *w, struct features *f, uint64_t ids)
{
	const struct profile *p = &w->e->view->profile;
	char *kernel = printable(p->config.kernel.data, p->config.kernel.size);

	f->to = must(open_memstream(&f->bytes, &f->size));
	/* hotspot warns of a section that is empty. */
	if (has_build_ids(p)) {
		begin_feature(f, FEATURE_BUILD_ID);
		put_build_ids(p, f->to);
		end_feature(f);
	}
	/* Readers tell by its bit in which order the bytes are. */
	begin_feature(f, FEATURE_HOSTNAME);
	put_string(f->to, "guest");
	end_feature(f);
	begin_feature(f, FEATURE_OSRELEASE);
	put_string(f->to, kernel);
	end_feature(f);
	begin_feature(f, FEATURE_ARCH);
	put_string(f->to, "x86_64");
	end_feature(f);
	begin_feature(f, FEATURE_EVENT_DESC);
	put_event_names(w, ids, f->to);
	end_feature(f);
	if (has_branch_stacks(w)) {
		begin_feature(f, FEATURE_BRANCH_STACK);
		end_feature(f);
	}
	if (fclose(f->to))
		must(NULL);
	free(kernel);
}

static void put_file(const struct writer *w)
{
	FILE *out = w->e->out;
	struct head head = { .size = sizeof(head), .attr_size = sizeof(struct file_attr) };
	uint64_t ids = sizeof(head) + w->nr_events * sizeof(struct file_attr), at;
	struct features f = { .nr = 0 };

	make_features(w, &f, ids);
	memcpy(head.magic, MAGIC, sizeof(head.magic));
	head.attrs = (struct section){ sizeof(head), w->nr_events * sizeof(struct file_attr) };
	head.data = (struct section){ ids + w->nr_events * sizeof(uint64_t), w->all.size };
	head.features[0] = f.bits;
	fwrite(&head, sizeof(head), 1, out);
	for (size_t k = 0; k < w->nr_events; k++) {
		const struct file_attr attr = attr_of(w, k, ids);

		fwrite(&attr, sizeof(attr), 1, out);
	}
	for (uint64_t k = 0; k < w->nr_events; k++) {
		uint64_t id = FIRST_ID + k;

		fwrite(&id, sizeof(id), 1, out);
	}
	for (size_t i = 0; i < w->nr; i++)
		fwrite(w->all.data + w->records[i].at, w->records[i].size, 1, out);
	at = head.data.offset + head.data.size + f.nr * sizeof(struct section);
	for (size_t i = 0; i < f.nr; i++) {
		f.list[i].offset += at;
		fwrite(&f.list[i], sizeof(f.list[i]), 1, out);
	}
	if (f.size)
		fwrite(f.bytes, f.size, 1, out);
	free(f.bytes);
}

static bool export_with(struct writer *w)
{
	bool good = jitted_write(&w->jitted, w->e, w->e->output);

	if (good) {
		add_all(w);
		sort_list(w->records, w->nr, sizeof(*w->records), compare);
		put_file(w);
	}
	jitted_free(&w->jitted);
	free(w->records);
	free(w->all.data);
	return good;
}

bool export_perf(struct export *e)
{
	const struct profile *p = &e->view->profile;
	struct writer w = { .e = e,
			    .branches = lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE] };

	w.nr_events = view_events(e->view, e->options->kind, w.events);
	return export_with(&w);
}

bool export_perfcalls(struct export *e)
{
	const struct profile *p = &e->view->profile;
	struct writer w = { .e = e,
			    .stacks = true,
			    .branches = lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE] };

	if (!p->nr_windows)
		return refuse("%s: it has no windows of branches; record with lwprun --windows",
			      p->path);
	w.events[w.nr_events++] = w.branches;
	return export_with(&w);
}
