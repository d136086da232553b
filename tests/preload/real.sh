# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# real.sh - what the tests of real programs share: the kernel takes no queue
# and no semaphore set, and real_done looks whether sysfive was used.
#
# shellcheck source=tests/harness/tap.sh
. "$S5_SOURCE_DIR/tests/harness/tap.sh"

# real_needs COMMAND: skips everything where the program is not installed.
real_needs() {
	command -v "$1" >/dev/null || tap_skip_all "$1 is not installed"
}

# real_run NAME COMMAND...: passes if the command does, preloaded.
real_run() {
	real_name=$1
	shift
	tap_run "$real_name" env LD_PRELOAD="$S5_DROPIN" "$@"
}

# stress-ng's exit status is 0 even if what it verified was wrong.
#
# shellcheck disable=SC2317 # it is called through tap_run
real_verified() {
	out=$(stress-ng --temp-path "$SYSFIVE_DIR" --timeout 60 --verify "$@" 2>&1)
	status=$?
	printf '%s\n' "$out"
	case $out in
	*'stress-ng: fail:'*) return 1 ;;
	*'successful run completed'*) return "$status" ;;
	*) return 1 ;;
	esac
}

# real_stress NAME OPTION...: passes if stress-ng found nothing wrong.
real_stress() {
	name=$1
	shift
	# A function cannot be run by env.
	LD_PRELOAD=$S5_DROPIN
	export LD_PRELOAD
	tap_run "$name" real_verified "$@"
	unset LD_PRELOAD
}

real_done() {
	tap_run 'sysfive was used' test -s "$SYSFIVE_DIR/arena"
	if test "$real_is_closed" -eq 0; then
		tap_is "$(sed -s 1d /proc/sysvipc/msg /proc/sysvipc/sem)" '' \
			'the kernel made no object'
	else
		tap_skip 'the kernel made no object' \
			'its objects are not ours alone'
	fi
	tap_done
}

chmod 1777 "$SYSFIVE_DIR"
tap_close_kernel
real_is_closed=$?
