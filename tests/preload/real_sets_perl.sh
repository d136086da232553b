#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_sets_perl.sh - Perl's own IPC::Semaphore between makers and takers.
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
perl -MIPC::Semaphore -e 1 2>/dev/null || tap_skip_all 'no IPC::Semaphore'

real_run 'makers and takers' \
	perl "$S5_SOURCE_DIR/tests/preload/real_sets_perl.pl"
real_done
