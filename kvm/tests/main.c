// SPDX-License-Identifier: GPL-2.0-or-later
/* main() of a program that runs all of its tests. The argument is the margin of the counters, if there is one. */
#include <stdlib.h>
#include "kvm_vm.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		set_margin((unsigned int)atoi(argv[1]));
	run_tests();
	return done();
}
