#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Start libvirtd on this node, whose QEMU is that of /usr/lib/vlwp, and nova-compute. compute.sh stop: end nova-compute.
set -euxo pipefail

pid=/run/nova-compute.pid
if [[ ${1:-} == stop ]]; then
	kill "$(<$pid)"
	tail --pid="$(<$pid)" -f /dev/null
	exit
fi
if [[ ! -e $pid ]]; then
	cat >/etc/libvirt/libvirtd.conf <<-END
		host_uuid = "$(</proc/sys/kernel/random/uuid)"
		listen_tls = 0
		listen_tcp = 1
		auth_tcp = "none"
		auth_unix_rw = "none"
		unix_sock_group = "libvirt"
		unix_sock_rw_perms = "0770"
	END
	cat >/etc/libvirt/qemu.conf <<-END
		security_driver = "none"
		namespaces = []
		cgroup_controllers = []
		stdio_handler = "file"
	END
	PATH=/usr/lib/vlwp/bin:$PATH libvirtd -d -l
	sed "s/@SERVICE@/nova/; s/@ADDRESS@/$(hostname -i)/" /shared/openstack.conf >/etc/nova/nova.conf
fi
setsid setpriv --reuid=nova --regid=nova --init-groups env HOME=/var/lib/nova \
	nova-compute --log-file /var/log/nova/nova-compute.log </dev/null >>/var/log/compute.log 2>&1 &
echo $! >$pid
