/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control block and record as programs for silicon spelt them out (AMD publication 43724; Microsoft's page on __llwpcb). */
#ifndef LWPCB_H
#define LWPCB_H

struct lwpcb {
	unsigned int flags;
	unsigned int buffer_size : 28, random : 4;
	unsigned long long buffer_base;
	unsigned int buffer_head_offset, reserved_1;
	unsigned long long missed_events;
	unsigned int threshold, filters;
	unsigned long long base_ip, limit_ip, reserved_2;
	unsigned int buffer_tail_offset, reserved_3;
	unsigned long long reserved_4[7];
	struct event {
		unsigned int interval : 26, reserved_1 : 6, counter : 26, reserved_2 : 6;
	} events[6];
};

struct event_record {
	unsigned char id, core;
	unsigned short flags;
	unsigned int data1;
	unsigned long long address, data2, reserved;
};

#endif
