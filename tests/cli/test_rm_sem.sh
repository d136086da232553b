#!/bin/sh
# shellcheck disable=SC2016 # for an inner shell or Perl
# SPDX-License-Identifier: MIT
#
# sysfive rm -s: sets by id, by key, all; what is not there, and what is not
# ours; queues stay.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

# make KEY...: a set for each, and a queue.
make() {
	"$S5_CMD" run perl -e 'for (@ARGV) {
		semget($_, 2, 01666) // die;
		msgget($_, 01666) // die }' "$@"
}
# The ids of the sets that are there.
ids() {
	"$S5_CMD" ls -sn -o semid | tr -d ' ' | tr '\n' ' '
}

make 42 43 0 0 44
tap_is "$(ids)" '0 1 2 3 4 ' 'five sets'

cli_status 2 'nothing named' "$S5_CMD" rm -s
cli_has "$err" 'which semaphore sets' 'is told'
cli_status 2 'queues and sets' "$S5_CMD" rm -qs 0
cli_status 2 'no id' "$S5_CMD" rm -s 0 x
tap_is "$(ids)" '0 1 2 3 4 ' 'all are there'

cli_status 0 '--dry-run' "$S5_CMD" rm -s --dry-run 0
cli_has "$out" \
	'^would remove semaphore set 0, key 0x0000002a, of .*: 2 semaphores, 0 w' \
	'names it'
cli_status 0 '--dry-run --all' "$S5_CMD" rm -sna
tap_is "$(wc -l <"$out")" 5 'names all'
tap_is "$(ids)" '0 1 2 3 4 ' 'all are there'

cli_status 0 'an id and a key' "$S5_CMD" rm -s 2 --key 0x2b
cli_empty "$out" 'without a word'
cli_empty "$err" 'at all'
tap_is "$(ids)" '0 3 4 ' 'are gone'
cli_status 1 'an id that is not there' "$S5_CMD" rm -s 3 77
cli_has "$err" "^sysfive: rm: there is no semaphore set with id 77; " 'is told'
tap_is "$(ids)" '0 4 ' 'the other is gone'
cli_status 1 'a key that is not there' "$S5_CMD" rm -s --key 99
cli_has "$err" 'no semaphore set with key 0x00000063' 'is told'
cli_status 0 '--all' "$S5_CMD" rm -s --all
tap_is "$(ids)" '' 'all are gone'
cli_status 0 '--all of none' "$S5_CMD" rm -s --all
tap_is "$("$S5_CMD" ls -qn | wc -l)" 5 'the queues are all there'

# Who waits is told.
"$S5_CMD" run perl -MPOSIX -e '
	semop(semget(7, 1, 01600), pack("s!*", 0, -1, 0));
	exit($! == EIDRM ? 0 : 1)' &
waiting=$!
n=0
while test -z "$("$S5_CMD" ls -swn)" && test $n -lt 200; do
	n=$((n + 1))
	sleep 0.05
done
cli_status 0 'a set with a waiter' "$S5_CMD" rm -s --key 7
wait $waiting
tap_is "$?" 0 'which gets EIDRM'

# What is not ours.
if test "$(id -u)" = 0; then
	nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
	chmod 711 "$scratch"
	mkdir -m 1777 "$scratch/shared"
	export SYSFIVE_DIR="$scratch/shared"
	make 1
	# shellcheck disable=SC2086 # words
	$nobody "$S5_CMD" run perl -e 'semget(3, 1, 01600) // die'
	first=$(ids | cut -d ' ' -f 1)
	# shellcheck disable=SC2086 # words
	cli_status 1 "root's set" $nobody "$S5_CMD" rm -s "$first"
	cli_has "$err" \
		"cannot remove semaphore set $first: it belongs to root; run " \
		'is told'
	# shellcheck disable=SC2086 # words
	cli_status 1 '--all' $nobody "$S5_CMD" rm -s --all
	tap_is "$(ids | wc -w)" 1 'removes what is ours'
	cli_status 0 'root removes all' "$S5_CMD" rm -s --all
	tap_is "$(ids)" '' 'of whomever'
else
	tap_skip 'sets of another user' 'needs root'
fi

tap_done
