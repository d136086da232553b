#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The guard around scripts: status, deadline, leaks, directory.

. "$S5_SOURCE_DIR/tests/harness/tap.sh"

guard=$S5_BUILD_DIR/tests/harness/guard

out=$("$guard" sh -c 'echo "ok 1 - x"; exit 3')
tap_is "$?" 3 'the status of the script'
tap_is "$out" 'ok 1 - x' 'the output of the script'

out=$("$guard" -t 1 sh -c 'while :; do sleep 1; done')
tap_is "$?" 99 'status after the deadline'
case $out in
*'Bail out! timed out'*) tap_ok 0 'bails out at the deadline' ;;
*) tap_ok 1 'bails out at the deadline' ;;
esac

out=$("$guard" sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo "ok 1"; exit 0')
case $out in
*'left behind'*'Bail out! 1 process'*) tap_ok 0 'notices a left process' ;;
*) tap_ok 1 'notices a left process' ;;
esac

# shellcheck disable=SC2016 # expanded by the inner shell
dir=$("$guard" sh -c 'test -d "$SYSFIVE_DIR" && echo "$SYSFIVE_DIR"')
test -n "$dir" && test "$dir" != "$SYSFIVE_DIR"
tap_ok $? 'a directory of its own'
test ! -e "$dir"
tap_ok $? 'which is removed'

tap_done
