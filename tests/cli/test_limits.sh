#!/bin/sh
# shellcheck disable=SC2016 # for an inner shell or Perl
# SPDX-License-Identifier: MIT
#
# sysfive limits: shown, set, refused; table and JSON.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

# value NAME: the limit's value by way of JSON.
value() {
	"$S5_CMD" limits --json "$1" >"$out" || return
	cli_json '$_->{limits}[0]{value}'
}

cli_status 0 'the table' "$S5_CMD" limits
cli_has "$out" '^NAME +VALUE' 'has headings'
for name in msgmax msgmnb msgmni semmsl semmns semopm semmni shmmax shmall \
	shmmni; do
	cli_has "$out" "^$name +[0-9]+ " "has $name"
done
tap_is "$(value msgmax)" 8192 'msgmax is 8192 at first'
tap_is "$(value msgmnb)" 16384 'msgmnb is 16384 at first'
tap_is "$(value msgmni)" 32000 'msgmni is 32000 at first'

cli_status 0 'setting one' "$S5_CMD" limits msgmnb=67108864
cli_empty "$out" 'prints nothing'
tap_is "$(value msgmnb)" 67108864 'and it is set'
tap_is "$(value msgmax)" 8192 'and no other'
cli_status 0 'setting two' "$S5_CMD" limits msgmax=64K msgmnb=1M
tap_is "$(value msgmax)" 65536 'the first, with K'
tap_is "$(value msgmnb)" 1048576 'the second, with M'

cli_status 2 'an unknown limit' "$S5_CMD" limits msgmnx=1
cli_has "$err" 'no limit .msgmnx.' 'is told'
cli_status 2 'no number' "$S5_CMD" limits msgmax=12x
cli_status 2 'an empty number' "$S5_CMD" limits msgmax=
cli_status 2 'a negative number' "$S5_CMD" limits msgmax=-1
cli_status 2 'a number too long' \
	"$S5_CMD" limits msgmax=99999999999999999999999
cli_status 1 'a number too large' "$S5_CMD" limits msgmax=1G msgmax=16G
cli_has "$err" 'cannot set msgmax' 'is told'
cli_status 2 'setting and showing at once' "$S5_CMD" limits msgmax=1K msgmni
cli_status 2 'a bad word beside a good one' "$S5_CMD" limits msgmni=7 bad=1
tap_is "$(value msgmni)" 32000 'sets neither'

cli_status 0 'columns by name' "$S5_CMD" limits --columns value,name msgmni
tap_is "$(sed -n 2p "$out" | tr -s ' ' | sed 's/^ //')" '32000 msgmni' \
	'in the order named'
cli_status 2 'an unknown column' "$S5_CMD" limits --columns name,colour
cli_has "$err" "no column 'colour'" 'is told'

cli_status 0 'another namespace' "$S5_CMD" limits --dir "$scratch/other" --json
tap_is "$(cli_json 'scalar @{$_->{limits}}')" 10 'has all limits'
tap_is "$(cli_json '$_->{limits}[0]{value}')" 8192 'of its own'

# Who uses the namespace sees them.
"$S5_CMD" limits msgmnb=100000
got=$("$S5_CMD" run perl -MIPC::Msg -MIPC::SysV=IPC_PRIVATE -e '
	$q = IPC::Msg->new(IPC_PRIVATE, 0600) or die;
	print $q->stat->qbytes;
	$q->remove' 2>&1)
tap_is "$got" 100000 'a new queue has the msgmnb that was set'

tap_done
