// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sample_profile [--windows | --complete | --jit | --kept | --stamped | --stacks] FILE: writes a small profile of this very program, in which all numbers are known. Tests
 * of the exports read it through other people's programs.
 *
 * Instructions, interval 99: 30 samples in sample_hot, 10 in sample_cold, 4 in the loop of sample_cold's second thread.
 * Branches, interval 9: sample_hot's conditional jump, 6 taken and 2 not; the call of sample_cold, 5. With --windows
 * there are two windows of 4 branches in place of these, which stand for 100 and 300; with --complete for themselves.
 * With --jit 3 samples of instructions more lie in "first one" and 2 in "second", which a just-in-time compiler made.
 * With --kept each sample of instructions stands for two. With --stamped all records were stored at the start.
 * With --stacks there are three: 20 records in sample_hot, 10 in sample_cold called by it, 10 by it as it calls itself.
 */
#include <string.h>

#include "lwp_cpuid.h"
#include "lwp_record.h"
#include "own_map.h"

#define PID 4242

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)
#ifdef __clang__
#define THIS_FILE "0 "
#else
#define THIS_FILE "1 "
#endif
#define HERE ".loc " THIS_FILE TEXT_OF(__LINE__) "\n" /* what follows is of this line */

/* A loop with a jump back, and a call. The table has the instructions that the records are of. */
static void __attribute__((naked, used)) sample_hot(void)
{
	__asm__(".Lhot: " HERE "xor %eax, %eax\n" /* sample_hot */
		".Lloop: " HERE "inc %eax\n" /* sample_hot goes around */
		"cmp $7, %eax\n"
		".Ljump: " HERE ".byte 0x75, .Lloop - .Ljump - 2\n" /* jne, the short one */
		".Lcall: call sample_cold\n"
		".Lafter: ret\n");
}

static void __attribute__((naked, used)) sample_cold(void)
{
	__asm__(".Lcold: " HERE "nop\n" /* sample_cold begins */
		".Lsecond: " HERE "nop\n"
		".Lreturn: ret\n");
}

__asm__(".pushsection .data.rel.ro.sample, \"aw\", @progbits\n"
	".balign 8\n"
	"sample_table: .quad .Lloop, .Ljump, .Lcall, .Lafter, sample_cold, .Lsecond, .Lreturn\n"
	".popsection\n");
extern const uint64_t sample_table[];
enum { LOOP, JUMP, CALL, AFTER, COLD, SECOND, RETURN };

enum { INSTRUCTIONS = 2, BRANCHES = 3 };

static struct lwpdata_writer *writer;
#define START 1000000000
static uint64_t now = START, stamp;

static void write_map(void)
{
	struct lwpdata_object object = { 0 };
	struct lwpdata_map map = { .time = now };
	char path[4096];

	if (!own_map((const void *)sample_table[LOOP], &map, path))
		return;
	object.path = lwpdata_text(path);
	lwpdata_write_object(writer, &object);
	lwpdata_write_process(writer,
			      &(struct lwpdata_process){ .parent = LWPDATA_NONE,
							 .pid = PID,
							 .time = now,
							 .comm = lwpdata_text("sam;ple \"\x1b[31m"),
							 .exe = object.path });
	lwpdata_write_map(writer, &map);
}

static void encode(uint8_t *to, uint8_t event, int from, int target, bool taken)
{
	const struct lwp_record record = {
		.event_id = event,
		.flags = taken ? LWP_RECORD_TKN : 0,
		.address = sample_table[from],
		.data2 = target < 0 ? 0 : sample_table[target],
		.timestamp = stamp,
	};

	lwp_record_encode(&record, to);
}

static void records(uint32_t thread, unsigned int number, uint8_t event, int from, int target,
		    bool taken)
{
	uint8_t bytes[64 * LWP_RECORD_SIZE];

	now += 1000000;
	for (unsigned int i = 0; i < number; i++)
		encode(bytes + i * LWP_RECORD_SIZE, event, from, target, taken);
	lwpdata_write_records(writer, thread, now, bytes, number * LWP_RECORD_SIZE, NULL, 0);
}

/* The loop back, out of the loop and into the function, back from it. */
static void window(uint64_t weight)
{
	const struct lwpdata_window window = {
		.thread = 0, .count = 4, .time = now, .weight = weight
	};
	uint8_t bytes[4 * LWP_RECORD_SIZE];

	encode(bytes, BRANCHES, JUMP, LOOP, true);
	encode(bytes + LWP_RECORD_SIZE, BRANCHES, JUMP, CALL, false);
	encode(bytes + 2 * LWP_RECORD_SIZE, BRANCHES, CALL, COLD, true);
	encode(bytes + 3 * LWP_RECORD_SIZE, BRANCHES, RETURN, AFTER, true);
	now += 1000000;
	lwpdata_write_window(writer, &window, bytes, sizeof(bytes), NULL, 0);
}

#define JIT 0x70000000ull

static void write_jitted(void)
{
	static const int offsets[] = { 0x10, 0x10, 0x3f, 0x40, 0x50 };
	uint8_t bytes[sizeof(offsets) / sizeof(offsets[0]) * LWP_RECORD_SIZE];

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		const struct lwp_record record = { .event_id = INSTRUCTIONS,
						   .address = JIT + (uint64_t)offsets[i] };

		lwp_record_encode(&record, bytes + i * LWP_RECORD_SIZE);
	}
	lwpdata_write_map(writer, &(struct lwpdata_map){ .object = LWPDATA_NONE,
							 .start = JIT,
							 .end = JIT + 0x1000,
							 .time = now });
	lwpdata_write_records(writer, 0, now, bytes, sizeof(bytes), NULL, 0);
	lwpdata_write_perf_map(writer, &(struct lwpdata_perf_map){
					       .text = lwpdata_text("70000000 80 first of all\n"
								    "70000000 40 first one\n"
								    "70000040 20 second\n"
								    "60000000 20 elsewhere\n") });
}

static void stack(uint32_t weight, unsigned int nr, const int *places)
{
	uint8_t addresses[4 * sizeof(uint64_t)];

	for (unsigned int i = 0; i < nr; i++)
		lwp_put64(addresses + i * sizeof(uint64_t), sample_table[places[i]]);
	lwpdata_write_stack(writer, &(struct lwpdata_stack){
					    .weight = weight,
					    .time = now,
					    .addresses = { addresses, nr * sizeof(uint64_t) } });
}

int main(int argc, char **argv)
{
	bool jit = argc == 3 && !strcmp(argv[1], "--jit");
	bool complete = argc == 3 && !strcmp(argv[1], "--complete");
	bool kept = argc == 3 && !strcmp(argv[1], "--kept");
	bool windows = complete || (argc == 3 && !strcmp(argv[1], "--windows"));
	const struct lwpdata_bytes arguments[] = { lwpdata_text("sample"), lwpdata_text("a\nb") };
	bool stacks = argc == 3 && !strcmp(argv[1], "--stacks");
	bool stamped = argc == 3 && !strcmp(argv[1], "--stamped");
	const struct lwpdata_config config = {
		.flags = stamped ? LWP_F_PTSC : 0,
		.nr_events = 2,
		.events = { { INSTRUCTIONS, 99 }, { BRANCHES, windows ? 0 : 9 } },
		.ring_size = 4096,
		.tool = lwpdata_text("sample"),
		.kernel = lwpdata_text("6.12"),
		.start_monotonic = now,
		.nr_args = 2,
		.args = arguments,
	};

	writer = argc == 2 || windows || jit || kept || stamped || stacks ?
			 lwpdata_create(argv[argc - 1]) :
			 NULL;
	if (!writer)
		return 1;
	stamp = stamped ? START : 0;
	lwpdata_write_config(writer, &config);
	if (kept)
		lwpdata_write_kept(writer, &(struct lwpdata_kept){ INSTRUCTIONS, 1 });
	write_map();
	lwpdata_write_data_map(
		writer,
		&(struct lwpdata_data_map){
			{ .object = LWPDATA_NONE, .start = 0x1000, .end = 0x2000, .time = now },
			lwpdata_text("[heap]") });
	for (uint32_t i = 0; i < 2; i++)
		lwpdata_write_thread(writer,
				     &(struct lwpdata_thread){ .id = i,
							       .tid = PID + i,
							       .time = now,
							       .comm = lwpdata_text("thr\xff"
										    "ead") });
	records(0, 30, INSTRUCTIONS, LOOP, -1, false);
	records(0, 10, INSTRUCTIONS, COLD, -1, false);
	records(1, 4, INSTRUCTIONS, SECOND, -1, false);
	if (windows) {
		window(complete ? 4 : 100);
		window(complete ? 4 : 300);
	} else {
		records(0, 6, BRANCHES, JUMP, LOOP, true);
		records(0, 2, BRANCHES, JUMP, CALL, false);
		records(0, 5, BRANCHES, CALL, COLD, true);
	}
	if (jit)
		write_jitted();
	if (stacks) {
		stack(20, 1, (const int[]){ LOOP });
		stack(10, 2, (const int[]){ COLD, CALL });
		stack(10, 3, (const int[]){ COLD, CALL, CALL });
	}
	return lwpdata_finish(writer) ? 1 : 0;
}
