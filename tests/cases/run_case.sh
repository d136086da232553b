#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run_case.sh CASE [root] [sets] - runs a case on the kernel, then with the
# drop-in preloaded and, if possible, no room in the kernel for a message queue
# or, with sets, for a semaphore set.
#
# shellcheck source=tests/harness/tap.sh
. "$S5_SOURCE_DIR/tests/harness/tap.sh"

case=$1
shift
sets=
for word; do
	if test "$word" = root && test "$(id -u)" != 0; then
		tap_skip_all 'becomes another user'
	fi
	test "$word" = sets && sets=sets
done
chmod 1777 "$SYSFIVE_DIR"

tap_run kernel "$case"
tap_close_kernel "$sets"
tap_run sysfive env LD_PRELOAD="$S5_DROPIN" "$case"
tap_run 'sysfive was used' test -s "$SYSFIVE_DIR/arena"
tap_done
