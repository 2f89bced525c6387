// SPDX-License-Identifier: GPL-2.0-or-later
/* Streams, their damage, and the states that are in them. */
#include "damage.h"
#include "migrate.h"
#include "vm.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lwp_cb.h"
#include "lwp_state.h"

#define MAX_EDITS 3
#define SECTION_FOOTER 0x7e
/* Of the rings with which contained.c begins its pages */
#define PAGE_RING_SIZE (32u * LWP_RECORD_SIZE)
#define MAX_STATES 4

const struct base bases[BASES] = {
	{ "+lwp", "test=contained cpus=1", 2000, "idle" },
	{ "+lwp", "test=contained cpus=1", 2010, "pending" },
	{ "+lwp", "test=contained cpus=1 ring=absent", 1531, "faulting" },
	{ "+lwp,lwp-context=os", "test=contained cpus=1 context=os", 510, "pending" },
	{ "+lwp,lwp-rev=2007", "test=contained cpus=1 rev=2007", 2040, "pending" },
};

const char *const aim_names[AIMS] = { "writable", "read-only", "the kernel's", "absent",
				      "on a border" };

/*
 * Where LWP's parts lie in a stream: behind their name, with the length before it. What lies behind them is not
 * damaged: QEMU believes what others say, as cpu_common of a pending CPU_INTERRUPT_DEBUG.
 */
enum { TERMS, CPU, CONTEXTS, SECTIONS };
static const struct section {
	const char *name;
	size_t length; /* bytes behind the name: version and, of a section, instance; data */
	bool counted; /* a u32 with the number of further bytes ends them */
	unsigned int weight;
} sections[SECTIONS] = {
	[TERMS] = { "\7x86-lwp", 8 + 21, false, 1 },
	[CPU] = { "\7cpu/lwp", 4 + 159, false, 4 },
	[CONTEXTS] = { "\20x86-lwp-contexts", 8 + 4, true, 5 },
};

/* A 128-byte image; its entry in the array of contexts, if that is where it is */
struct image {
	size_t at, entry;
};

static struct save {
	char *bytes;
	size_t size;
	size_t at[SECTIONS], end[SECTIONS]; /* 0: this save has no such section */
	struct image image[MAX_STATES];
	unsigned int images;
	struct territory territory;
} saves[BASES];

/* ---- Saving --------------------------------------------------------------------------------- */

static void find_section(struct save *s, unsigned int which)
{
	const char *name = sections[which].name;
	const char *found = memmem(s->bytes, s->size, name, strlen(name));
	uint32_t counted;

	if (!found)
		return;
	s->at[which] = (size_t)(found - s->bytes) + strlen(name);
	s->end[which] = s->at[which] + sections[which].length;
	if (sections[which].counted) {
		memcpy(&counted, s->bytes + s->end[which] - sizeof(counted), sizeof(counted));
		s->end[which] += be32toh(counted);
	}
	if (s->end[which] >= s->size || s->bytes[s->end[which]] != SECTION_FOOTER)
		broken("'%s' is not as long as this test believes", name + 1);
}

/* LWP is off in the CPU's own image when its context is among the others. */
static void find_images(struct save *s)
{
	size_t entry = s->at[CONTEXTS] + sections[CONTEXTS].length;

	if (!s->at[CONTEXTS])
		s->image[s->images++].at = s->at[CPU] + 4;
	for (; s->at[CONTEXTS] && entry < s->end[CONTEXTS]; entry += LWP_CTX_ENTRY_SIZE) {
		if (s->images == MAX_STATES)
			broken("more contexts than this test believes");
		s->image[s->images++] = (struct image){ entry + LWP_CTX_ENTRY_IMAGE, entry };
	}
}

static void find_parts(struct save *s, const struct base *b)
{
	unsigned int i;

	for (i = 0; i < SECTIONS; i++)
		find_section(s, i);
	if (!s->at[TERMS] || !s->at[CPU])
		broken("no LWP in the stream of '%s'", b->cpu);
	find_images(s);
	if (!s->images)
		broken("no state of LWP in the stream of '%s'", b->cpu);
}

static void run_to(struct vm *vm, const struct base *b)
{
	char *state;

	vm_cpu_set(vm, "x-lwp-stop-at", b->step);
	vm_do(vm, "cont", NULL);
	vm_event(vm, "STOP");
	state = vm_cpu_string(vm, "x-lwp-state");
	if (!strstr(state, b->state))
		broken("'%s' at step %llu is not %s but %s", b->append, (unsigned long long)b->step,
		       b->state, state);
	free(state);
}

void damage_prepare(unsigned int which)
{
	static const char *const extra[] = { "-S", NULL };
	char path[512], output[512], log[512], *text;
	const struct base *b = &bases[which];
	struct save *s = &saves[which];
	int memory = memory_new();
	struct vm vm;

	snprintf(path, sizeof(path), "%s/save", opt.work);
	snprintf(output, sizeof(output), "%s/output", opt.work);
	snprintf(log, sizeof(log), "%s/log", opt.work);
	if (!vm_start(&vm, "source",
		      flat_machine(opt.qemu, b->cpu, b->append, memory_arguments(memory, extra)),
		      output, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	vm_capability(&vm, NULL);
	run_to(&vm, b);
	vm_save(&vm, path);
	vm_kill(&vm);
	s->bytes = read_file(path, &s->size);
	find_parts(s, b);
	text = read_file(output, NULL);
	territory_read(&s->territory, text, memory);
	free(text);
	close(memory);
}

const struct territory *damage_territory(unsigned int which)
{
	return &saves[which].territory;
}

/* ---- At random ------------------------------------------------------------------------------ */

/* A byte of LWP's parts; *room bytes from there belong to the same part. */
static size_t place(const struct save *s, size_t *room)
{
	unsigned int weight;
	size_t i, at;

	do {
		weight = (unsigned int)draw(10);
		for (i = 0; weight >= sections[i].weight; i++)
			weight -= sections[i].weight;
	} while (!s->at[i]);
	at = s->at[i] + draw(s->end[i] - s->at[i]);
	*room = s->end[i] - at;
	return at;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A ring of another size, and a head near its end: before, at, or behind it. */
static void edit_ring(const struct save *s, char *bytes)
{
	uint8_t *image = (uint8_t *)bytes + s->image[draw(s->images)].at;
	uint32_t size = LWP_RECORD_SIZE * (1 + (uint32_t)draw(128));

	lwp_put32(image + LWP_IMAGE_SIZE_RANDOM, size);
	lwp_put32(image + LWP_IMAGE_HEAD, size - LWP_RECORD_SIZE * (1 - (uint32_t)draw(3)));
}

static void edit(const struct save *s, char *bytes)
{
	static const uint64_t extremes[] = { 0, UINT64_MAX, 1ull << 63, 1ull << 47, 0xfff, 1 };
	size_t room, other, at = place(s, &room), from;

	switch (draw(5)) {
	case 0:
		bytes[at] = (char)(bytes[at] ^ (1 << draw(8)));
		break;
	case 1:
		bytes[at] = (char)draw(256);
		break;
	case 2:
		memcpy(bytes + at, &extremes[draw(6)], least(room, 1ull << draw(4)));
		break;
	case 3:
		edit_ring(s, bytes);
		break;
	default:
		from = place(s, &other);
		memmove(bytes + at, bytes + from, least(least(room, other), 1 + draw(8)));
	}
}

/* ---- Aimed ---------------------------------------------------------------------------------- */

/* An address in one of the places with these rights, on a multiple of a record's size. */
static uint64_t inside(const struct territory *t, unsigned int rights)
{
	const struct place *p;

	do {
		p = &t->place[draw(t->places)];
	} while (p->rights != rights);
	return p->at + LWP_RECORD_SIZE * draw(p->size / LWP_RECORD_SIZE);
}

/* The end of a writable place behind which there is one that is not. */
static uint64_t border(const struct territory *t)
{
	const struct place *p;

	do {
		p = &t->place[draw(t->places - 1)];
	} while (p->rights != WRITABLE || p[1].at != p->at + p->size);
	return p->at + p->size;
}

/* Where a record goes first, so that it, or one soon behind it, is what is aimed at. */
static uint64_t aim_record(const struct territory *t, unsigned int aim)
{
	if (aim != ACROSS)
		return inside(t, aim);
	return border(t) - LWP_RECORD_SIZE * draw(4) - (draw(2) ? LWP_RECORD_SIZE / 2 : 0);
}

/* Where a block is: one that contained.c has made, if it lies in one place. */
static uint64_t aim_block(const struct territory *t, unsigned int aim)
{
	if (aim != ACROSS)
		return inside(t, aim) & ~0xfffull;
	return border(t) - 16 * (1 + draw(3));
}

static void redirect_ring(const struct territory *t, unsigned int aim, uint8_t *image)
{
	uint32_t head = lwp_get32(image + LWP_IMAGE_HEAD);

	lwp_put64(image + LWP_IMAGE_BASE, aim_record(t, aim) - head);
}

static void redirect_block(const struct territory *t, unsigned int aim, uint8_t *image)
{
	lwp_put64(image + LWP_IMAGE_CBADDR, aim_block(t, aim));
	lwp_put32(image + LWP_IMAGE_HEAD, 0);
	lwp_put32(image + LWP_IMAGE_SIZE_RANDOM, PAGE_RING_SIZE);
}

/* The block is taken over when CPL 3 runs next; its ring is what it says then. */
static void defer(const struct territory *t, unsigned int aim, uint8_t *image)
{
	redirect_block(t, aim, image);
	memset(image + LWP_IMAGE_FLAGS, 0, LWP_IMAGE_XSAVE_SIZE - LWP_IMAGE_FLAGS);
	lwp_put64(image + LWP_IMAGE_RETRY_RIP, 0);
}

static void aim_at(const struct save *s, char *bytes, unsigned int aim)
{
	const struct image *where = &s->image[draw(s->images)];
	uint8_t *image = (uint8_t *)bytes + where->at;
	const struct territory *t = &s->territory;
	uint8_t *entry = (uint8_t *)bytes + where->entry;
	uint64_t how = draw(4);

	switch (how) {
	case 0:
		redirect_ring(t, aim, image);
		break;
	case 1:
		redirect_block(t, aim, image);
		break;
	case 2:
		redirect_block(t, aim, image);
		redirect_ring(t, aim, image);
		break;
	default:
		defer(t, aim, image);
	}
	/* As of a context that came without anything to compare: else it would not be found. */
	if (where->entry && (how == 3 || draw(4)))
		memset(entry + LWP_CTX_ENTRY_HASH, 0, LWP_CTX_ENTRY_IMAGE - LWP_CTX_ENTRY_HASH);
}

struct damage damage_none(unsigned int which)
{
	const struct save *s = &saves[which];
	struct damage d = { .aim = NOT_AIMED, .bytes = malloc(s->size), .size = s->size };

	if (!d.bytes)
		broken("no memory");
	memcpy(d.bytes, s->bytes, s->size);
	return d;
}

struct damage damage_draw(unsigned int which)
{
	const struct save *s = &saves[which];
	struct damage d = damage_none(which);
	uint64_t edits = 1 + draw(MAX_EDITS);
	size_t room;

	if (draw(2)) {
		d.aim = (unsigned int)draw(AIMS);
		aim_at(s, d.bytes, d.aim);
		edits = !draw(4);
	}
	while (edits--)
		edit(s, d.bytes);
	if (d.aim == NOT_AIMED && !draw(50))
		d.size = place(s, &room);
	return d;
}

/* ---- The states of a stream ------------------------------------------------------------------ */

/* A block that is yet to be taken over says itself where its ring is. */
static struct span ring_in_memory(const struct territory *t, uint64_t block)
{
	struct span ring = { 0 };
	uint64_t at;

	if (territory_writable(t, block, &at) && at + LWP_CB_MAX_SIZE <= GUEST_MEMORY) {
		ring.at = lwp_get64(t->memory + at + LWP_CB_BASE);
		ring.size = lwp_field_get(LWP_CB_BUFFER_SIZE,
					  lwp_get32(t->memory + at + LWP_CB_SIZE_RANDOM));
	}
	return ring;
}

unsigned int damage_spans(unsigned int which, const struct damage *d, struct span *span)
{
	const struct save *s = &saves[which];
	const struct territory *t = &s->territory;
	unsigned int i, n = 0;

	for (i = 0; i < s->images; i++) {
		const uint8_t *image = (const uint8_t *)d->bytes + s->image[i].at;
		uint64_t block = lwp_get64(image + LWP_IMAGE_CBADDR);

		span[n++] = (struct span){ block, t->block_size };
		span[n] = (struct span){
			lwp_get64(image + LWP_IMAGE_BASE),
			lwp_field_get(LWP_CB_BUFFER_SIZE, lwp_get32(image + LWP_IMAGE_SIZE_RANDOM)),
		};
		if (!span[n].size)
			span[n] = ring_in_memory(t, block);
		n++;
	}
	return n;
}
