#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_perl.sh - Perl's own IPC::Msg between a server and its clients.
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
perl -MIPC::Msg -e 1 2>/dev/null || tap_skip_all 'no IPC::Msg'

real_run 'a server with clients' \
	perl "$S5_SOURCE_DIR/tests/preload/real_perl.pl"
real_done
