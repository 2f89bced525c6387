// SPDX-License-Identifier: GPL-2.0-or-later
/* How far a share may be from the true one: Wilson's interval, Student's t. */
#include <math.h>

#include "intervals.h"

#define NORMAL 30 /* windows, or degrees of freedom, from which on the normal law holds */
#define NORMAL_95 1.96
#define T_MAX 12.7063 /* of Student's t: the 95% of one degree of freedom */

/* Abramowitz and Stegun, 26.7.3 and 26.7.4: exact for whole numbers of degrees. */
static double student_tail(double t, uint64_t freedom)
{
	double angle = atan(t / sqrt((double)freedom));
	double square = cos(angle) * cos(angle);
	double term = freedom % 2 ? cos(angle) : 1, sum = freedom > 1 ? term : 0;

	for (uint64_t i = freedom % 2 ? 3 : 2; i < freedom; i += 2) {
		term *= square * (double)(i - 1) / (double)i;
		sum += term;
	}
	sum *= sin(angle);
	return 1 - (freedom % 2 ? (angle + sum) * M_2_PI : sum);
}

double chance_of(double distance, uint64_t freedom)
{
	return freedom < NORMAL - 1 ? student_tail(distance, freedom) : erfc(distance / M_SQRT2);
}

double deviations(uint64_t windows)
{
	double low = NORMAL_95, high = T_MAX;

	if (!windows || windows >= NORMAL)
		return NORMAL_95;
	while (high - low > 1e-9) {
		double middle = (low + high) / 2;

		if (student_tail(middle, windows - 1) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct interval share_interval(double share, double effective, uint64_t windows)
{
	double z, centre, half;

	if (isinf(effective))
		return (struct interval){ share, share };
	if (windows == 1)
		return (struct interval){ 0, 1 };
	z = deviations(windows);
	centre = (share + z * z / (2 * effective)) / (1 + z * z / effective);
	half = z / (1 + z * z / effective) *
	       sqrt(share * (1 - share) / effective + z * z / (4 * effective * effective));
	return (struct interval){ fmax(centre - half, 0), fmin(centre + half, 1) };
}
