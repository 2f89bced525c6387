# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two hosts with libvirt on one machine, for test-libvirt: each libvirtd has its own directories, UUID, host name and
# /etc/libvirt, in name spaces that end with the test. No root is needed: they are libvirts of a user
# (qemu:///session).
#
# Both run $WORK/emulator, which is the QEMU and the arguments that its host's /etc/libvirt/emulator says: so a host gets
# an LWP of its own.

# libvirt_name_spaces SCRIPT ARG...: go on with SCRIPT as process 1 of name spaces of its own, or say what is missing
libvirt_name_spaces()
{
	local program

	for program in libvirtd virsh; do
		PATH=$PATH:/usr/sbin type -P "$program" >/dev/null ||
			skip "test libvirt needs $program: run './vlwp deps'"
	done
	[[ -d /etc/libvirt ]] || skip "test libvirt needs the directory /etc/libvirt of Debian's package libvirt0"
	unshare -rmupf --mount-proc true 2>/dev/null ||
		skip "test libvirt needs user name spaces, or root with the right to mount /proc"
	exec unshare -rmupf --propagation private --mount-proc --kill-child "$@"
}

# host_uri NAME
host_uri()
{
	echo "qemu+unix:///session?socket=$WORK/$1/run/libvirt/libvirt-sock"
}

# host_up NAME NUMBER: start its libvirtd and wait until it answers
host_up()
{
	local dir=$WORK/$1

	mkdir -p "$dir/etc/hooks" "$dir/config/libvirt" "$dir/cache" "$dir/data" "$dir/home"
	mkdir -m 700 "$dir/run"
	cat >"$dir/libvirtd.conf" <<-END
		host_uuid = "11111111-aaaa-4aaa-8aaa-00000000000$2"
		auth_unix_ro = "none"
		auth_unix_rw = "none"
		log_level = 3
		log_outputs = "3:file:$dir/libvirtd.log"
	END
	cat >"$dir/config/libvirt/qemu.conf" <<-END
		security_driver = "none"
		namespaces = []
		cgroup_controllers = []
		stdio_handler = "file"
	END
	# It comes back when the daemon is ready.
	unshare -mu bash -euc '
		hostname "$1"
		mount --bind "$2/etc" /etc/libvirt
		[[ ! -d $2/cpu_map ]] || mount --bind "$2/cpu_map" /usr/share/libvirt/cpu_map
		export HOME=$2/home XDG_CONFIG_HOME=$2/config XDG_RUNTIME_DIR=$2/run XDG_CACHE_HOME=$2/cache \
			XDG_DATA_HOME=$2/data PATH=$PATH:/usr/sbin
		exec unshare -U --map-user=1000 --map-group=1000 libvirtd -d -f "$2/libvirtd.conf" -p "$2/pid"
	' - "$1" "$dir" >"$dir/start.log" 2>&1 </dev/null ||
		die "the libvirtd of host $1 does not start: $(tail -n 1 "$dir/start.log" "$dir/libvirtd.log")"
}

# host_cpu_map NAME: before it is up: its CPU map knows the bits of LWP, as docs/libvirt.md says how
host_cpu_map()
{
	local dir=$WORK/$1/cpu_map

	mkdir -p "$dir"
	cp /usr/share/libvirt/cpu_map/* "$TOP/host-tools/libvirt/x86_lwp.xml" "$dir"
	sed -i "/<include filename='x86_features.xml'\/>/a <include filename='x86_lwp.xml'/>" "$dir/index.xml"
	[[ $(grep -c x86_lwp.xml "$dir/index.xml") == 1 ]]
}

# on HOST ARG...: virsh
on()
{
	local host=$1
	shift

	virsh -q -c "$(host_uri "$host")" "$@"
}

# wait_line FILE PATTERN: until the file, which may still have to be made, has such a line, or the patience ends
wait_line()
{
	timeout "$PATIENCE" grep -q -m 1 -e "$2" <(exec tail -q -n +1 -F "$1" 2>/dev/null)
}

# write_emulator: the program that both hosts take for QEMU
write_emulator()
{
	cat >"$WORK/emulator" <<-END
		#!/bin/bash
		read -r -a qemu </etc/libvirt/emulator
		exec "\${qemu[0]}" -L "$FIRMWARE" "\${qemu[@]:1}" "\$@"
	END
	chmod 755 "$WORK/emulator"
}

# host_lwp HOST NAME=VALUE...: from now on, what the QEMUs of a host make of lwp when nothing is said
host_lwp()
{
	local file=$WORK/$1/etc/emulator
	shift

	echo "${VLWP_QEMU:-$BUILD/qemu/qemu-system-x86_64} ${*/#/-global x86_64-cpu.}" >"$file"
}

# host_unpatched HOST: from now on it has stock QEMU of the same version
host_unpatched()
{
	echo "$BUILD/qemu-base/qemu-system-x86_64" >"$WORK/$1/etc/emulator"
}
