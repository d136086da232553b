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
	create sem-pair sem-pair-undo sem-zero-1 sem-zero-2 sem-zero-4 \
	sem-zero-16 sem-pingpong-cross sem-pingpong-same sembench-16 \
	sembench-250 sembench-1000 sem-bulk sem-release sem-pass sem-lock-1 \
	sem-lock-8 load memory-idle memory-queue; do
	cli_has "$out" "^$row " "knows $row"
done

cli_has "$out" "^sem-pair +ns +>=8x, <=1.6x glibc's time " 'has two targets'
cli_has "$out" '^sembench-16 .*>=1.3x, <=0.75x system time ' 'of several kinds'
cli_has "$out" '^sem-pass .*<=1.25x that of 10 ' 'or one'

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

# Every semaphore row, and what is noted beside its figure.
rows='sem-pair sem-pair-undo sem-zero-1 sem-zero-16 sem-pingpong-same
	sembench-16 sembench-1000 sem-bulk sem-release sem-pass sem-lock-1
	sem-lock-8'
# shellcheck disable=SC2086 # a list
cli_status 0 'semaphores' "$S5_CMD" bench --json --rounds 1 --seconds 0.02 $rows
for row in $rows; do
	tap_is "$(cli_json "(grep { \$_->{name} eq '$row' }
		@{\$_->{rows}})[0]{kernel}{median} > 0")" 1 "measures $row"
	tap_is "$(cli_json "(grep { \$_->{name} eq '$row' }
		@{\$_->{rows}})[0]{sysfive}{ratio} > 0")" 1 'on both sides'
done
tap_is "$(cli_json '$_->{rows}[0]{sysfive}{no_system_call}')" 1 \
	'P and V on sysfive make no system call'
tap_is "$(cli_json '$_->{rows}[0]{glibc}{median} > 0')" 1 "and glibc's"
tap_is "$(cli_json '$_->{rows}[0]{glibc}{ratio} > 0')" 1 'beside the kernel'
for extra in system_cpus system_us_per_operation context_switches_per_1000; do
	tap_is "$(cli_json "\$_->{rows}[5]{kernel}{$extra} >= 0")" 1 \
		"sembench has $extra"
done
for extra in with_10 with_100; do
	tap_is "$(cli_json "\$_->{rows}[8]{kernel}{$extra} > 0")" 1 \
		"sem-release has $extra"
	tap_is "$(cli_json "\$_->{rows}[9]{kernel}{$extra} > 0")" 1 \
		"sem-pass has $extra"
done

# What an IPC namespace of the kernel's holds after that, and after an interrupt
# while there is a set.
if unshare --ipc true 2>/dev/null; then
	unshare='unshare --ipc'
elif unshare --user --map-root-user --ipc true 2>/dev/null; then
	unshare='unshare --user --map-root-user --ipc'
else
	unshare=
fi
if test -n "$unshare"; then
	export out err
	left=$($unshare sh -c '
		"$S5_CMD" bench -r 1 -s 0.02 sem-pair pair >"$out" 2>"$err"
		ipcs -sq | grep -c ^0x')
	tap_is "$left" 0 "no set or queue is left in the kernel"
	left=$($unshare sh -c '
		"$S5_CMD" bench -r 100 -s 1 sem-lock-1 >"$out" 2>"$err" &
		n=0
		while ! ipcs -s | grep -q ^0x && test $n -lt 200; do
			n=$((n + 1))
			sleep 0.05
		done
		ipcs -s | grep -c ^0x
		kill -TERM $!
		wait $!
		ipcs -s | grep -c ^0x' | tr "\n" " ")
	tap_is "$left" '1 0 ' 'nor after an interrupt'
else
	tap_note 'no IPC namespace of its own: what is left was not looked at'
fi

cli_status 2 'an unknown row' "$S5_CMD" bench no-such-row
cli_status 2 'no rounds' "$S5_CMD" bench --rounds 0 pair
cli_status 2 'too short' "$S5_CMD" bench --seconds 0 pair
cli_status 0 'chosen columns' "$S5_CMD" bench --rounds 1 --seconds 0.02 \
	--columns row,unit pair
cli_has "$out" '^pair +ns$' 'are what is shown'
tap_is "$(grep -c '[{}]' "$out")" 0 'and nothing else'
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
