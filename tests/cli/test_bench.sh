#!/bin/sh
# shellcheck disable=SC2016 # for an inner shell or Perl
# SPDX-License-Identifier: MIT
#
# sysfive bench: the list, the table, the JSON, and what is left behind.  No
# figure is judged.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

cli_status 0 '--list' "$S5_CMD" bench --list
for row in pair stream pingpong-cross pingpong-same pmsg-2 pmsg-64 deep get \
	create load memory-idle memory-queue; do
	cli_has "$out" "^$row " "knows $row"
done

cli_status 0 'two rows' "$S5_CMD" bench --rounds 2 --seconds 0.02 pair get
cli_has "$out" '^ROW +UNIT +KERNEL' 'print a table'
cli_has "$out" '^pair +ns +[0-9.]+ ' 'with the first'
cli_has "$out" '^get +ns +[0-9.]+ ' 'and the second'

cli_status 0 'JSON' "$S5_CMD" bench --json --rounds 2 --seconds 0.02 \
	pair stream pmsg-2 memory-queue
tap_is "$(cli_json 'join " ", map { $_->{name} } @{$_->{rows}}')" \
	'pair stream pmsg-2 memory-queue' 'has the rows'
for member in cpu kernel compiler version commit date; do
	tap_is "$(cli_json "length \$_->{$member} > 0")" 1 "says $member"
done
tap_is "$(cli_json 'scalar @{$_->{rows}[0]{kernel}{rounds}}')" 2 \
	'has every round of the kernel'
tap_is "$(cli_json 'scalar @{$_->{rows}[0]{sysfive}{rounds}}')" 2 \
	'and of sysfive'
tap_is "$(cli_json '$_->{rows}[0]{sysfive}{ratio} > 0')" 1 'has a ratio'
tap_is "$(cli_json '$_->{rows}[0]{sysfive}{no_system_call}')" 1 \
	'a pair on sysfive makes no system call'

cli_status 2 'an unknown row' "$S5_CMD" bench no-such-row
cli_status 2 'no rounds' "$S5_CMD" bench --rounds 0 pair
cli_status 2 'too short' "$S5_CMD" bench --seconds 0 pair
cli_status 2 'an unknown column' "$S5_CMD" bench --columns row,colour pair

# An interrupt leaves nothing.
TMPDIR=$scratch "$S5_CMD" bench --rounds 100 --seconds 1 pair >"$out" 2>"$err" &
bench=$!
n=0
while ! pgrep -P $bench >/dev/null && test $n -lt 100; do
	n=$((n + 1))
	sleep 0.05
done
worker=$(pgrep -P $bench)
dir=$(tr '\0' '\n' <"/proc/$worker/environ" | sed -n 's/^SYSFIVE_DIR=//p')
kill -TERM $bench
wait $bench
tap_is "$?" 143 'SIGTERM ends it'
kill -0 "$worker" 2>/dev/null
tap_is "$?" 1 'and its worker'
test -z "$dir" || test ! -e "$dir"
tap_ok $? 'and its namespace'

tap_done
