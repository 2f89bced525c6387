// SPDX-License-Identifier: GPL-2.0-or-later
/* See lwp_margin.h. */
#include "lwp_margin.h"

static u32 clamp_margin(const struct lwp_margin *m, u64 wanted)
{
	if (wanted < m->least)
		return m->least;
	return wanted > m->most ? m->most : (u32)wanted;
}

void lwp_margin_init(struct lwp_margin *m, u32 start, u32 least, u32 most)
{
	m->now = start;
	m->least = least;
	m->most = most;
	m->worst = 0;
	m->seen = 0;
	m->proven = start;
	m->stepped = 0;
}

/* A margin for interrupts that come `late` events late: a quarter more than that. */
static u64 enough(u64 late)
{
	return late + late / 4 + 1;
}

void lwp_margin_seen(struct lwp_margin *m, u64 late)
{
	u64 twice = 2 * (u64)m->now;
	u64 three_quarters = 3 * (u64)m->now / 4;
	u64 wanted;

	if (late >= m->now) {
		wanted = enough(late < twice ? late : twice);
		m->now = clamp_margin(m, wanted < twice ? wanted : twice);
	} else {
		if (late > m->worst)
			m->worst = (u32)late;
		if (++m->seen < LWP_MARGIN_WINDOW)
			return;
		wanted = enough(m->worst);
		m->now = clamp_margin(m, wanted < three_quarters ? three_quarters : wanted);
		m->proven = m->now;
	}
	m->worst = 0;
	m->seen = 0;
	m->stepped = 0;
}

void lwp_margin_stepped(struct lwp_margin *m)
{
	u32 three_quarters = m->now - m->now / 4;

	if (m->now <= m->proven || ++m->stepped < LWP_MARGIN_WINDOW)
		return;
	m->stepped = 0;
	m->now = three_quarters < m->proven ? m->proven : three_quarters;
}
