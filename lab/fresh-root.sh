# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A minimal Debian in a directory, and running commands in it as in a machine of its own.

# make_root DIR SUITE PACKAGE...: the minimal system with main and security only, and the proxy settings of this
# machine's apt if it has any. The addresses are those of this machine's own suite.
make_root()
{
	local dir=$1 suite=$2 own main security options=() line
	shift 2

	own=$(debian_codename)
	main=$(archive_address "$own")
	security=$(archive_address "$own-security")

	while read -r line; do
		options+=(--aptopt="$line")
	done < <(apt-config dump | grep -iE '^Acquire::(http|https)::Proxy[: ]')
	[[ $main != https:* ]] || options+=(--include=ca-certificates)
	mmdebstrap --variant=minbase --include="$(IFS=,; echo "$*")" "${options[@]}" "$suite" "$dir" \
		"deb $main $suite main" "deb $security $suite-security main" &&
		cp --remove-destination /etc/resolv.conf "$dir/etc/resolv.conf"
}

# enter DIR COMMAND: run COMMAND in DIR as the whole world
enter()
{
	unshare --mount --pid --ipc --uts --fork --kill-child bash -euc '
		root=$1
		mount --make-rprivate /
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount -t sysfs -o ro sys "$root/sys"
		mount -t tmpfs -o mode=0755 dev "$root/dev"
		for node in null zero full random urandom tty; do
			: >"$root/dev/$node"
			mount --bind "/dev/$node" "$root/dev/$node"
		done
		mkdir "$root/dev/pts" "$root/dev/shm"
		mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 pts "$root/dev/pts"
		mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
		ln -s pts/ptmx "$root/dev/ptmx"
		ln -s /proc/self/fd "$root/dev/fd"
		cd "$root"
		mkdir -p .outside
		pivot_root . .outside
		umount -l /.outside
		cd /
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root TERM=dumb LC_ALL=C.UTF-8 bash -euc "$2"
	' - "$1" "$2"
}
