#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run_case.sh CASE [root] - runs a case on the kernel, then with the drop-in
# preloaded and, if possible, no room in the kernel for an object.
#
# shellcheck source=tests/harness/tap.sh
. "$S5_SOURCE_DIR/tests/harness/tap.sh"

if test "${2:-}" = root && test "$(id -u)" != 0; then
	tap_skip_all 'becomes another user'
fi
chmod 1777 "$SYSFIVE_DIR"

tap_run kernel "$1"
tap_close_kernel
tap_run sysfive env LD_PRELOAD="$S5_DROPIN" "$1"
tap_run 'sysfive was used' test -s "$SYSFIVE_DIR/arena"
tap_done
