/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The local APIC in xAPIC mode: EOI and interprocessor interrupts. */
#ifndef FLAT_APIC_H
#define FLAT_APIC_H

#include "lwp_types.h"

#define APIC_BASE 0xfee00000ul
#define ICR_NMI 0x400
/* Entries of the local vector table. */
#define LVT_NMI 0x400u
#define LVT_MASKED 0x10000u

void apic_init(void);
/* A register, by its offset. */
u32 apic_read(u32 offset);
void apic_write(u32 offset, u32 value);
void apic_eoi(void);
u8 apic_id(void);
/* Fixed interrupt to the processor with this APIC id (its own: a self-IPI). */
void apic_send(u8 id, u8 vector);
void apic_send_nmi(u8 id);
/* The local vector table's entry of the performance counters. */
void apic_set_lvtpc(u32 value);
u32 apic_lvtpc(void);
/* INIT: the processor waits for a start-up IPI. */
void apic_init_cpu(u8 id);
/* INIT, then a start-up IPI: real mode at page * 4096. */
void apic_start(u8 id, u8 page);

#endif
