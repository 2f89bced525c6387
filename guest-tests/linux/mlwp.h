/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Block and record as programs of the time declared them (AMD publication 43724). */
#ifndef MLWP_H
#define MLWP_H

struct lwpcb {
	unsigned int flags;
	unsigned int buffer_size : 28, random : 4;
	unsigned long long buffer_base;
	unsigned int buffer_head_offset, reserved_1;
	unsigned long long missed_events;
	unsigned int threshold, filters;
	unsigned long long base_ip, limit_ip, reserved_2;
	unsigned int buffer_tail_offset, reserved_3;
	unsigned long long software[2], reserved_4[5];
	struct {
		int interval, counter;
	} event[6];
};

struct event_record {
	unsigned char id, core;
	unsigned short flags;
	unsigned int data1;
	unsigned long long address, data2, reserved;
};

#endif
