// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that is linked statically, to be refused.
 */
int main(void)
{
	return 0;
}
