// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that is linked statically, to be refused. With an argument it takes its time. */
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 1)
		usleep(200 * 1000);
	return 0;
}
