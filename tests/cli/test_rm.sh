#!/bin/sh
# shellcheck disable=SC2016 # for an inner shell or Perl
# SPDX-License-Identifier: MIT
#
# sysfive rm: by id, by key, all; what is not there, and what is not ours.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

# make KEY...: a queue for each, with a message.
make() {
	"$S5_CMD" run perl -e 'for (@ARGV) {
		$q = msgget(/^0x/ ? oct : $_, 01666) // die;
		msgsnd($q, pack("l! a*", 1, "text"), 0) or die }' "$@"
}
# The ids that are there.
ids() {
	"$S5_CMD" ls --noheadings --columns msqid | tr -d ' ' | tr '\n' ' '
}

cli_status 1 'no namespace' "$S5_CMD" rm --all
cli_has "$err" "^sysfive: rm: there is no namespace in $SYSFIVE_DIR; " 'is told'
test ! -e "$SYSFIVE_DIR/arena"
tap_ok $? 'and none is made'

make 0x2a 0x2b -5 0 0 0x30
tap_is "$(ids)" '0 1 2 3 4 5 ' 'six queues'

# A wrong command line removes nothing.
cli_status 2 'nothing named' "$S5_CMD" rm
cli_has "$err" 'which message queues' 'is told'
for word in x 1x '' -1 0x1 99999999999; do
	cli_status 2 "id '$word'" "$S5_CMD" rm -- 0 "$word"
done
for word in x 0x 0xg '' 4294967296; do
	cli_status 2 "key '$word'" "$S5_CMD" rm 0 --key "$word"
done
cli_status 2 'the key of private queues' "$S5_CMD" rm --key 0
cli_has "$err" 'IPC_PRIVATE' 'is told'
cli_status 2 '--all and an id' "$S5_CMD" rm --all 0
cli_status 2 '--all and a key' "$S5_CMD" rm --all --key 42
tap_is "$(ids)" '0 1 2 3 4 5 ' 'all are there'

cli_status 0 '--dry-run' "$S5_CMD" rm --dry-run 0 --key 43
cli_has "$out" '^would remove queue 0, key 0x0000002a, of .*: 1 messages' \
	'names one'
cli_has "$out" '^would remove queue 1, key 0x0000002b, ' 'and the other'
cli_status 0 '--dry-run --all' "$S5_CMD" rm --dry-run --all
tap_is "$(wc -l <"$out")" 6 'names all'
cli_status 1 '--dry-run, not there' "$S5_CMD" rm --dry-run 77
tap_is "$(ids)" '0 1 2 3 4 5 ' 'all are there'

cli_status 0 'two ids' "$S5_CMD" rm 3 0
cli_empty "$out" 'without a word'
cli_empty "$err" 'at all'
tap_is "$(ids)" '1 2 4 5 ' 'are gone'
cli_status 0 'keys and an id' "$S5_CMD" rm --key 0x2B 4 --key 0xfffffffb
tap_is "$(ids)" '5 ' 'are gone'
cli_status 1 'an id that is not there' "$S5_CMD" rm 5 77
cli_has "$err" "^sysfive: rm: there is no message queue with id 77; " 'is told'
tap_is "$(ids)" '' 'the other is gone'
cli_status 1 'a key that is not there' "$S5_CMD" rm --key 99
cli_has "$err" 'no message queue with key 0x00000063' 'is told'
cli_status 0 '--all of none' "$S5_CMD" rm --all
make 1 2 3
cli_status 0 '--all' "$S5_CMD" rm --all
tap_is "$(ids)" '' 'all are gone'

# Another namespace.
make 1
SYSFIVE_DIR=$scratch/other make 5
cli_status 0 '--dir' "$S5_CMD" rm --dir "$scratch/other" --all
tap_is "$(SYSFIVE_DIR=$scratch/other ids)" '' 'its queues are gone'
test -n "$(ids)"
tap_ok $? 'and no others'
"$S5_CMD" rm --all

# Who waits is told.
"$S5_CMD" run perl -MPOSIX -e '
	msgrcv(msgget(7, 01600), $b, 1, 0, 0);
	exit($! == EIDRM ? 0 : 1)' &
waiting=$!
n=0
while test -z "$("$S5_CMD" ls -w -n)" && test $n -lt 200; do
	n=$((n + 1))
	sleep 0.05
done
cli_status 0 'a queue with a waiter' "$S5_CMD" rm --key 7
wait $waiting
tap_is "$?" 0 'which gets EIDRM'

# What is not ours.
if test "$(id -u)" = 0; then
	nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
	chmod 711 "$scratch"
	mkdir -m 1777 "$scratch/shared"
	export SYSFIVE_DIR="$scratch/shared"
	make 1 2
	# shellcheck disable=SC2086 # words
	SYSFIVE_DIR=$scratch/shared $nobody "$S5_CMD" run \
		perl -e 'msgget(3, 01600) // die'
	first=$(ids | cut -d ' ' -f 1)
	# shellcheck disable=SC2086 # words
	cli_status 1 "root's queue" $nobody "$S5_CMD" rm "$first"
	cli_has "$err" "cannot remove queue $first: it belongs to root; run " \
		'is told'
	# shellcheck disable=SC2086 # words
	cli_status 1 '--dry-run' $nobody "$S5_CMD" rm --dry-run --all
	tap_is "$(grep -c 'belongs to root' "$err")" 2 'tells what is not ours'
	tap_is "$(grep -c 'would remove' "$out")" 1 'and what is'
	# shellcheck disable=SC2086 # words
	cli_status 1 '--all' $nobody "$S5_CMD" rm --all
	tap_is "$(ids | wc -w)" 2 'removes what is ours'
	"$S5_CMD" run perl -MIPC::Msg -e '
		IPC::Msg->new(1, 0)->set(uid => 1)'
	# shellcheck disable=SC2086 # words
	cli_status 1 'given away' $nobody "$S5_CMD" rm --key 1
	cli_has "$err" 'it belongs to .*, and root made it; run this as one' \
		'is told'
	cli_status 0 'root removes all' "$S5_CMD" rm --all
else
	tap_skip 'queues of another user' 'needs root'
fi

tap_done
