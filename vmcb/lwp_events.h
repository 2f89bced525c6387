/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of the events. Everything that lists events comes from it: enum lwp_kind, the
 * revisions, QEMU's CPU properties, lwprun's events, lwpctl, man pages, completion, libvirt's CPU
 * map. A file that includes this one defines LWP_EVENT() before, which gets one row at a time, by
 * ascending EventId:
 *
 *	LWP_EVENT(name, id, event, interval, property, records, counted)
 *
 * name: LWP_KIND_name; the specifications call its bit LwpNAME (43724) or LWPNAME (2007)
 * id: EventId of 43724, and its bit in Flags, LWP_CFG, EAX and EDX; 2007's is in lwp_rev.c
 * event: the event's name on lwprun's command line and in reports
 * interval: with which lwprun begins; it then keeps some 10,000 of the records. Instructions,
 *	clocks: a program of 100 million has 5,000. Branches: as one in five instructions is one.
 *	Misses: as one in a hundred instructions, and no burst of them fills a ring before lwprun
 *	looks. Each LWPVAL has a record.
 * property: QEMU's CPU property
 * records, counted: its records and what it counts, in words
 *
 * An EventId that 43724 leaves open has a row LWP_NO_EVENT(id), which only enum lwp_kind needs.
 */
#ifndef LWP_NO_EVENT
#define LWP_NO_EVENT(...)
#endif
/* clang-format off */
LWP_EVENT(VAL, 1, "values", 0, "lwp-val", "LWPVAL records", "LWPVAL records")
LWP_EVENT(IRE, 2, "instructions", 20011, "lwp-ire", "instruction records", "instructions retired")
LWP_EVENT(BRE, 3, "branches", 4001, "lwp-bre", "branch records", "branches retired")
LWP_EVENT(DME, 4, "dcache-misses", 251, "lwp-dme", "data cache miss records", "data cache misses")
LWP_EVENT(CNH, 5, "cycles", 20011, "lwp-cnh", "core clock records", "core clocks not halted")
LWP_EVENT(RNH, 6, "ref-cycles", 20011, "lwp-rnh", "reference clock records",
	  "reference clocks not halted")
/* clang-format on */
#undef LWP_EVENT
#undef LWP_NO_EVENT
