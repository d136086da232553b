#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_stress.sh - stress-ng's message-queue stressor, which verifies what it
# receives.
#
# shellcheck disable=SC2317 # verified() is called through tap_run
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
real_needs stress-ng

# Its exit status is 0 even if messages were wrong.
verified() {
	out=$(stress-ng --temp-path "$SYSFIVE_DIR" --timeout 60 --verify "$@" 2>&1)
	status=$?
	printf '%s\n' "$out"
	case $out in
	*'stress-ng: fail:'*) return 1 ;;
	*'successful run completed'*) return "$status" ;;
	*) return 1 ;;
	esac
}

stress() {
	name=$1
	shift
	# A function cannot be run by env.
	LD_PRELOAD=$S5_DROPIN
	export LD_PRELOAD
	tap_run "$name" verified "$@"
	unset LD_PRELOAD
}

stress 'one pair' --msg 1 --msg-ops 1000000
stress 'types' --msg 2 --msg-types 20 --msg-ops 500000
stress 'large messages' --msg 1 --msg-bytes 8192 --msg-ops 200000
stress 'pairs' --msg 6 --msg-ops 500000
real_done
