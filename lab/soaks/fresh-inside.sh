#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In a fresh Debian, in the clone in /home/vlwp: `run` as root, then `run` and `test` as an ordinary user.
# fresh-inside.sh [PART...]: only these parts of the test
set -euo pipefail

cd /home/vlwp
begin=$SECONDS
./vlwp run
echo "vlwp: first profile after $((SECONDS - begin)) s"
useradd --create-home tester
chown -R tester: .
as_tester=(setpriv --reuid=tester --regid=tester --clear-groups --inh-caps=-all env HOME=/home/tester)
"${as_tester[@]}" ./vlwp run -- /usr/bin/perl -e 'my %h; $h{$_ % 99}++ for 1..100000; print scalar keys %h'
"${as_tester[@]}" ./vlwp test "$@"
