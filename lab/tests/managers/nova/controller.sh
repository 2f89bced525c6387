#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Start on this node the database, the broker, keystone, placement, glance, and of Nova all but nova-compute. Neutron is a
# folder with empty lists.
set -euxo pipefail

conf=/shared/openstack.conf
export OS_API_DATABASE__CONNECTION=mysql+pymysql://root@127.0.0.1/nova_api
export OS_PLACEMENT_DATABASE__CONNECTION=mysql+pymysql://root@127.0.0.1/placement

as() {
	setpriv --reuid="$1" --regid="$1" --init-groups env HOME="/var/lib/$1" "${@:2}"
}
stays() {
	setsid "$@" </dev/null >>/var/log/controller.log 2>&1 &
}
# serve PORT INI: as the package does it, with fewer processes. uwsgi closes each connection, which clients must be told.
serve() {
	sed -i '/^apparmor/d; s/,apparmor//; s/^processes = .*/processes = 2/; s/^threads = 32/threads = 4/' "$2"
	stays uwsgi_python3 --http-socket ":$1" --add-header "Connection: close" --ini "$2"
}
answers() {
	for port; do
		curl -s -o /dev/null --retry 100 --retry-delay 1 --retry-connrefused "http://a:$port/"
	done
}

mkdir -p /run/mysqld /srv/v2.0
chown mysql /run/mysqld
stays mariadbd --user=mysql --bind-address=127.0.0.1 --skip-grant-tables --innodb-flush-log-at-trx-commit=0
echo "loopback_users = none" >/etc/rabbitmq/rabbitmq.conf
stays rabbitmq-server
mysqladmin --wait=60 ping
for name in keystone placement glance nova nova_api nova_cell0; do
	mysql -e "CREATE DATABASE $name"
done
for file in keystone/keystone placement/placement glance/glance-api nova/nova; do
	sed "s/@SERVICE@/${file%/*}/; s/@ADDRESS@/$(hostname -i)/" "$conf" >"/etc/$file.conf"
done

as keystone keystone-manage db_sync
keystone-manage fernet_setup --keystone-user keystone --keystone-group keystone
as keystone keystone-manage bootstrap --bootstrap-password lwp --bootstrap-region-id RegionOne \
	--bootstrap-{public,internal,admin}-url=http://a:5000/v3
serve 5000 /etc/keystone/keystone-uwsgi.ini
as placement placement-manage db sync
as glance glance-manage db_sync
as nova nova-manage api_db sync
as nova nova-manage cell_v2 map_cell0
as nova nova-manage cell_v2 create_cell --name=one
as nova nova-manage db sync

mapfile -t operator </shared/operator
answers 5000
for service in placement,8778 image,9292 compute,8774/v2.1 network,9696; do
	echo "service create --name ${service%,*} ${service%,*}"
	echo "endpoint create ${service%,*} public http://a:${service#*,}"
done | env "${operator[@]}" openstack
for name in ports networks extensions; do
	echo "{\"$name\": []}" >"/srv/v2.0/$name"
done
stays python3 -m http.server --directory /srv 9696
serve 8778 /etc/placement/placement-api-uwsgi.ini
serve 9292 /etc/glance/glance-api-uwsgi.ini
serve 8774 /etc/nova/nova-api-uwsgi.ini
rabbitmqctl await_startup --timeout 60
for name in conductor scheduler; do
	stays setpriv --reuid=nova --regid=nova --init-groups "nova-$name" --log-file "/var/log/nova/nova-$name.log"
done
answers 8778 9292 8774
