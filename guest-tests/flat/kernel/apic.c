// SPDX-License-Identifier: GPL-2.0-or-later
/* The local APIC in xAPIC mode. */
#include "apic.h"
#include "x86.h"

#define APIC_ID 0x20
#define APIC_EOI 0xb0
#define APIC_SVR 0xf0
#define APIC_ICR_LOW 0x300
#define APIC_ICR_HIGH 0x310
#define APIC_LVTPC 0x340

#define SVR_ENABLE 0x100
#define SPURIOUS_VECTOR 0xff
#define ICR_INIT 0x500
#define ICR_STARTUP 0x600
#define ICR_ASSERT 0x4000
#define ICR_PENDING 0x1000
#define APIC_BASE_ENABLE (1u << 11)

static volatile u32 *apic_reg(u32 offset)
{
	return (volatile u32 *)(APIC_BASE + offset);
}

static void send(u8 id, u32 command)
{
	*apic_reg(APIC_ICR_HIGH) = (u32)id << 24;
	*apic_reg(APIC_ICR_LOW) = command | ICR_ASSERT;
	while (*apic_reg(APIC_ICR_LOW) & ICR_PENDING)
		pause();
}

void apic_init(void)
{
	wrmsr(MSR_APIC_BASE, rdmsr(MSR_APIC_BASE) | APIC_BASE_ENABLE);
	*apic_reg(APIC_SVR) = SVR_ENABLE | SPURIOUS_VECTOR;
}

u32 apic_read(u32 offset)
{
	return *apic_reg(offset);
}

void apic_write(u32 offset, u32 value)
{
	*apic_reg(offset) = value;
}

void apic_eoi(void)
{
	*apic_reg(APIC_EOI) = 0;
}

u8 apic_id(void)
{
	return (u8)(*apic_reg(APIC_ID) >> 24);
}

void apic_send(u8 id, u8 vector)
{
	send(id, vector);
}

void apic_set_lvtpc(u32 value)
{
	*apic_reg(APIC_LVTPC) = value;
}

u32 apic_lvtpc(void)
{
	return *apic_reg(APIC_LVTPC);
}

void apic_send_nmi(u8 id)
{
	send(id, ICR_NMI);
}

void apic_init_cpu(u8 id)
{
	send(id, ICR_INIT);
}

void apic_start(u8 id, u8 page)
{
	apic_init_cpu(id);
	send(id, ICR_STARTUP | page);
	send(id, ICR_STARTUP | page);
}
