/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far a share that samples tell may be from the true one. */
#ifndef LWPCTL_INTERVALS_H
#define LWPCTL_INTERVALS_H

#include <stdint.h>

struct interval {
	double low, high; /* 0..1 */
};

/*
 * Wilson's interval, in which the true share lies in 95 of 100 profiles. `effective`: of how many samples that fall
 * independently of each other the share would be as exact; INFINITY: it is exact. `windows`: in how many windows the
 * samples are, 0: none are.
 */
struct interval share_interval(double share, double effective, uint64_t windows);

/* 95% lie within so many standard deviations, by Student's t below 30 windows. `windows` is 0 or at least 2. */
double deviations(uint64_t windows);

/* How likely it is to lie `distance` standard deviations away, or more, with so many degrees of freedom. */
double chance_of(double distance, uint64_t freedom);

#endif
