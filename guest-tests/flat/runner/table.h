/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of runs: which test, on which virtual processor, and what the host must offer for it. */
#ifndef FLATRUN_TABLE_H
#define FLATRUN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* What a run needs from the accelerator it runs on; offers() in table.c says who offers what. */
enum need {
	NEED_TCG = 1 << 0,
	NEED_KVM = 1 << 1,
	NEED_OS_CONTEXT = 1 << 2, /* XCR0[62] and XSAVE component 62 */
	NEED_CLOCKS = 1 << 3, /* events 5 and 6 */
	NEED_DCACHE = 1 << 4, /* event 4 */
	NEED_THRESHOLD_INT = 1 << 5,
	NEED_VMCB_AREA = 1 << 6,
	NEED_SPEED = 1 << 7, /* millions of profiled instructions in a few seconds */
	NEED_IO_BREAK = 1 << 8, /* breakpoints on I/O, also where the hypervisor completes it */
};

struct run {
	const char *name; /* unique; the word for --only and the name of a dump */
	const char *test; /* FLAT_TEST() in the image; NULL: the same as name */
	const char *cpu; /* QEMU CPU properties behind the model, NULL: none */
	const char *args; /* more words for the test, NULL: none */
	const char *model; /* NULL: cpu_model */
	unsigned int cpus; /* 0: one */
	bool resets; /* the test resets the machine */
	bool hold; /* accesses of the guest are held: kernel/hold.h */
	unsigned int needs; /* enum need */
	unsigned int timeout; /* seconds, 0: DEFAULT_TIMEOUT */
	/* The suite without the lab (manifest.h): */
	const char *lab; /* why the row is not in it, NULL: it is */
	bool absence; /* it is about processors without LWP */
	bool hidden; /* it is about state of LWP that the guest's system does not switch */
};

#define DEFAULT_TIMEOUT 90

extern const struct run runs[];
extern const size_t run_count;

/* The CPU model of a run that names none. */
extern const char cpu_model[];

/* Bits of enum need that the accelerator "tcg" or "kvm" offers; 0 for any other name. */
unsigned int offers(const char *accel);
/* Word for the lowest bit of a set of needs that is not empty. */
const char *need_name(unsigned int needs);

#endif
