// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest init, first half: load modules and put the file systems together. The root is the host's root, read-only over
 * 9p, under a tmpfs overlay: everything can be written, nothing reaches the host. What has to come back goes through
 * the writable 9p share at SHARE_DIR. A machine that runs the same twice has its files in persistent memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "guest-setup.h"
#include "proto.h"

#define HOST_DIR "/host"
#define OVERLAY_DIR "/overlay"
#define NEW_ROOT "/root"
#define LOWER(dir) "lowerdir=" dir ",upperdir=" OVERLAY_DIR "/upper,workdir=" OVERLAY_DIR "/work"
#define PVPANIC_PORT 0x505
#define PVPANIC_STOPS 1
#define DEVICE_TRIES 10000
#define P9_OPTIONS "trans=virtio,version=9p2000.L,msize=512000"

static void need_mount(const char *source, const char *target, const char *type,
		       unsigned long flags, const char *options)
{
	if (mount(source, target, type, flags, options))
		trouble("cannot mount %s on %s: %s", source, target, strerror(errno));
}

/* load_modules - those that a file of the initramfs names, in its order */
void load_modules(const char *list)
{
	FILE *order = fopen(list, "r");
	char name[256], path[512];
	int fd;

	if (!order)
		trouble("the initramfs has no %s", list);
	while (fscanf(order, "%255s", name) == 1) {
		snprintf(path, sizeof(path), "/modules/%s", name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
			trouble("cannot load module %s: %s", name, strerror(errno));
		close(fd);
	}
	fclose(order);
}

void mount_early(void)
{
	mkdir("/dev", 0755);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	need_mount("dev", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
	need_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	need_mount("sys", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

static int open_device(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	for (int tries = 0; fd < 0 && tries < DEVICE_TRIES;
	     tries++) { /* its driver takes its time */
		usleep(1000);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		trouble("there is no %s: %s", path, strerror(errno));
	return fd;
}

static void drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	sync();
	if (write(fd, "3", 1) != 1)
		trouble("cannot drop caches: %s", strerror(errno));
	close(fd);
}

/* freeze - stop the machine here; it goes on with other content in its persistent memory, and mounts that */
void freeze(void)
{
	int files = open_device("/dev/pmem0"), request = open_device("/dev/pmem1");

	mkdir(FILES, 0755);
	mkdir(REQUEST_DIR, 0755);
	drop_caches();
	if (ioperm(PVPANIC_PORT, 1, 1))
		trouble("cannot stop the machine: %s", strerror(errno));
	outb(PVPANIC_STOPS, PVPANIC_PORT);
	if (ioctl(files, BLKFLSBUF) || ioctl(request, BLKFLSBUF))
		trouble("cannot drop what was read: %s", strerror(errno));
	close(files);
	close(request);
	need_mount("/dev/pmem0", FILES, "erofs", MS_RDONLY, "dax=always");
	need_mount("/dev/pmem1", REQUEST_DIR, "erofs", MS_RDONLY, "dax=always");
}

/* prepare_root - what the new root directory has that does not depend on the files */
void prepare_root(void)
{
	mkdir(OVERLAY_DIR, 0755);
	mkdir(NEW_ROOT, 0755);
	need_mount("overlay", OVERLAY_DIR, "tmpfs", 0, "mode=0755");
	mkdir(OVERLAY_DIR "/upper", 0755);
	mkdir(OVERLAY_DIR "/work", 0755);
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	need_mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		   "mode=0620,gid=5,ptmxmode=0666");
	need_mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	if (symlink("/proc/self/fd", "/dev/fd") || symlink("/proc/self/fd/0", "/dev/stdin") ||
	    symlink("/proc/self/fd/1", "/dev/stdout") || symlink("/proc/self/fd/2", "/dev/stderr"))
		trouble("cannot make the links in /dev: %s", strerror(errno));
	mkdir("/run", 0755);
	need_mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
	mkdir("/run/lock", 01777);
	mkdir(SHARE_DIR, 0755);
	if (sethostname("guest", 5))
		trouble("cannot name the machine: %s", strerror(errno));
}

static void carry_mount(const char *from, const char *to)
{
	mkdir(to, 0755);
	need_mount(from, to, NULL, MS_MOVE, NULL);
}

/* mount_root - build the overlay and make it the root directory; @share: SHARE_DIR is the host's */
void mount_root(bool share)
{
	bool in_ram = !access(FILES, F_OK);

	mkdir(HOST_DIR, 0755);
	if (!in_ram)
		need_mount("host", HOST_DIR, "9p", MS_RDONLY, P9_OPTIONS ",cache=loose");
	need_mount("root", NEW_ROOT, "overlay", 0, in_ram ? LOWER(FILES) : LOWER(HOST_DIR));
	if (!access(TOOLS, F_OK)) {
		mkdir(TOOLS_DIR, 0755);
		need_mount(TOOLS, TOOLS_DIR, NULL, MS_BIND, NULL);
	}
	carry_mount("/dev", NEW_ROOT "/dev");
	carry_mount("/proc", NEW_ROOT "/proc");
	carry_mount("/sys", NEW_ROOT "/sys");
	carry_mount("/run", NEW_ROOT "/run");
	if (chdir(NEW_ROOT) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		trouble("cannot enter the new root: %s", strerror(errno));
	if (share)
		need_mount("share", SHARE_DIR, "9p", 0, P9_OPTIONS ",cache=none");
}

/* mount_modules - show the unpacked modules of this kernel, which lie at @dir on the host */
void mount_modules(const char *dir)
{
	const char *name = strrchr(dir, '/');
	char target[256];

	snprintf(target, sizeof(target), "/usr/lib/modules%s", name ? name : "");
	mkdir("/usr/lib/modules", 0755);
	mkdir(target, 0755);
	if (mount(dir, target, NULL, MS_BIND | MS_RDONLY, NULL))
		fprintf(stderr, "init: no modules at %s: %s\n", dir, strerror(errno));
}
