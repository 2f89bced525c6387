// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unvmlinuz VMLINUZ >VMLINUX: the ELF kernel inside a bzImage, for booting through its PVH entry,
 * which spares the guest the decompression.
 *
 * The x86 boot protocol (Documentation/arch/x86/boot.rst, 2.08 and later) says where the payload
 * lies: payload_offset counts from the protected-mode code, which begins after the setup sectors.
 * The last four bytes of the payload are the length of the decompressed kernel.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETUP_SECTS 0x1f1
#define HEADER_MAGIC 0x202
#define PROTOCOL_VERSION 0x206
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_LENGTH 0x24c
#define HEADER_END 0x250
#define SECTOR 512u
#define LENGTH_TAIL 4u

static const struct {
	const char *magic;
	size_t length;
	const char *const argv[4];
} formats[] = {
	{ "\x28\xb5\x2f\xfd", 4, { "zstd", "-dcq" } },
	{ "\xfd"
	  "7zXZ",
	  5,
	  { "xz", "-dc", "--single-stream" } },
	{ "\x1f\x8b\x08", 3, { "gzip", "-dc" } },
};

static const char *path;

static void die(const char *what)
{
	fprintf(stderr, "unvmlinuz: %s: %s\n", path, what);
	exit(1);
}

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint8_t *read_all(size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	long end;

	end = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
	if (end < 0)
		die(strerror(errno));
	rewind(f);
	data = malloc((size_t)end + 1);
	if (!data || fread(data, 1, (size_t)end, f) != (size_t)end)
		die("cannot read it whole");
	fclose(f);
	*size = (size_t)end;
	return data;
}

/* payload - find the compressed kernel in a bzImage; sets its length */
static const uint8_t *payload(const uint8_t *image, size_t size, size_t *length)
{
	size_t setup, offset;

	if (size < HEADER_END || memcmp(image + HEADER_MAGIC, "HdrS", 4))
		die("not a Linux bzImage");
	if ((image[PROTOCOL_VERSION] | image[PROTOCOL_VERSION + 1] << 8) < 0x208)
		die("boot protocol older than 2.08");
	setup = (image[SETUP_SECTS] ? image[SETUP_SECTS] : 4) + 1u;
	offset = setup * SECTOR + le32(image + PAYLOAD_OFFSET);
	*length = le32(image + PAYLOAD_LENGTH);
	if (offset > size || *length > size - offset || *length <= LENGTH_TAIL)
		die("its payload lies outside the file");
	*length -= LENGTH_TAIL;
	return image + offset;
}

static void decompress(const char *const *argv, const uint8_t *data, size_t length)
{
	int fds[2], status;
	pid_t pid;
	ssize_t n;

	pid = pipe(fds) ? -1 : fork();
	if (pid < 0)
		die(strerror(errno));
	if (!pid) {
		dup2(fds[0], STDIN_FILENO);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], (char *const *)argv);
		die(strerror(errno));
	}
	close(fds[0]);
	for (; length; data += n, length -= (size_t)n) {
		n = write(fds[1], data, length);
		if (n < 0)
			break;
	}
	close(fds[1]);
	if (waitpid(pid, &status, 0) < 0 || status)
		die("cannot decompress it");
}

int main(int argc, char **argv)
{
	const uint8_t *image, *data;
	size_t size, length, i;

	if (argc != 2) {
		fprintf(stderr, "usage: unvmlinuz VMLINUZ >VMLINUX\n");
		return 2;
	}
	path = argv[1];
	image = read_all(&size);
	data = payload(image, size, &length);
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (length > formats[i].length &&
		    !memcmp(data, formats[i].magic, formats[i].length)) {
			decompress(formats[i].argv, data, length);
			return 0;
		}
	}
	die("its compression is none of zstd, xz, gzip");
}
