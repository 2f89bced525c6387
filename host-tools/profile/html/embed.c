// SPDX-License-Identifier: GPL-2.0-or-later
/* embed FILE: print a file as an array of C. Meson puts the page of lwpctl html into the program with it. */
#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	int byte;

	if (!file) {
		fprintf(stderr, "embed: expected a file, got '%s'\n", argc == 2 ? argv[1] : "");
		return 1;
	}
	puts("#include \"page.h\"\nconst char page[] = {");
	while ((byte = getc(file)) != EOF)
		printf("%d,", byte > 127 ? byte - 256 : byte);
	puts("0};");
	fclose(file);
	return fflush(stdout) ? 1 : 0;
}
