# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# tap.sh - TAP for shell scripts: . "$S5_SOURCE_DIR/tests/harness/tap.sh".
# Ends with tap_done, which prints the plan and exits.

tap_count=0
tap_failed=0

# tap_ok STATUS NAME: one point; passes if STATUS is 0.
tap_ok() {
	tap_count=$((tap_count + 1))
	if test "$1" -eq 0; then
		echo "ok $tap_count - $2"
	else
		echo "not ok $tap_count - $2"
		tap_failed=$((tap_failed + 1))
	fi
}

# tap_is GOT WANT NAME
tap_is() {
	if test "$1" = "$2"; then
		tap_ok 0 "$3"
	else
		tap_ok 1 "$3"
		tap_note "got:  $1"
		tap_note "want: $2"
	fi
}

# tap_run NAME COMMAND...: passes if the command does; shows what it printed
# if not.
tap_run() {
	tap_name=$1
	shift
	if tap_out=$("$@" 2>&1 </dev/null); then
		tap_ok 0 "$tap_name"
	else
		tap_ok 1 "$tap_name"
		tap_note "$tap_out"
	fi
}

# tap_skip NAME REASON
tap_skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# tap_skip_all REASON: the whole script does not apply.
tap_skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# tap_close_kernel: from here on the kernel makes no message queue, semaphore
# set or segment, so whatever works is sysfive's.  False outside an IPC namespace
# of the test's own.
tap_close_kernel() {
	test -n "${S5_HAS_OWN_IPC:-}" &&
		echo 0 2>/dev/null >/proc/sys/kernel/msgmni &&
		echo '32000 1024000000 500 0' 2>/dev/null >/proc/sys/kernel/sem &&
		echo 0 2>/dev/null >/proc/sys/kernel/shmmni
}

tap_note() {
	printf '%s\n' "$1" | sed 's/^/# /'
}

tap_done() {
	echo "1..$tap_count"
	exit $((tap_failed != 0))
}
