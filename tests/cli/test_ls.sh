#!/bin/sh
# shellcheck disable=SC2016 # for an inner shell or Perl
# SPDX-License-Identifier: MIT
#
# sysfive ls: queues and waiters, as table and JSON; a queue that a stopped
# process keeps locked.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

cli_status 1 'no namespace' "$S5_CMD" ls
cli_has "$err" "^sysfive: ls: there is no namespace in $SYSFIVE_DIR; " 'is told'
test ! -e "$SYSFIVE_DIR/arena"
tap_ok $? 'and none is made'

"$S5_CMD" limits >/dev/null
cli_status 0 'no queue' "$S5_CMD" ls
cli_empty "$out" 'prints nothing'
cli_status 0 'no queue as JSON' "$S5_CMD" ls --json
tap_is "$(cli_json 'scalar @{$_->{queues}}')" 0 'is an empty array'

# Two queues: one with messages, a full one; five who wait.
cat >"$scratch/wait.pl" <<'END'
sub waits(&) { my $do = shift; return if fork; $do->(); exit }
$SIG{TERM} = 'DEFAULT';
$q = msgget(0x2a, 01640) // die;
msgsnd($q, pack('l! a*', 3, 'hello'), 0) or die;
msgsnd($q, pack('l! a*', 4, 'you'), 0) or die;
$full = msgget(0, 01600) // die;
while (msgsnd($full, pack('l! a*', 1, 'x' x 8000), 04000)) {}
waits { msgsnd($full, pack('l! a*', 9, 'y' x 7000), 0) };
waits { msgrcv($q, my $b, 100, 77, 0) };
waits { msgrcv($q, my $b, 101, -2, 0) };
waits { msgrcv(msgget(0x2b, 01600), my $b, 102, 0, 0) };
waits { msgrcv(msgget(0x2b, 01600), my $b, 103, 8, 030000) };
1 while wait > 0;
END
"$S5_CMD" run perl "$scratch/wait.pl" &
waiting=$!
n=0
while test "$("$S5_CMD" ls --waiters --noheadings | wc -l)" -lt 5 &&
	test $n -lt 200; do
	n=$((n + 1))
	sleep 0.05
done

cli_status 0 'queues' "$S5_CMD" ls
cli_has "$out" \
	'^KEY +MSQID OWNER +PERMS USED_BYTES MESSAGES SENDERS RECEIVERS$' \
	'have headings'
user=$(id -un)
cli_has "$out" "^0x0000002a +0 $user +640 +8 +2 +0 +2$" 'the first'
cli_has "$out" "^0x00000000 +1 $user +600 +16000 +2 +1 +0$" 'the second'
cli_has "$out" "^0x0000002b +2 $user +600 +0 +0 +0 +2$" 'the third'
tap_is "$(wc -l <"$out")" 4 'and no other'
cli_status 0 'without headings' "$S5_CMD" ls --noheadings --columns msqid
tap_is "$(tr -d ' ' <"$out" | tr '\n' ' ')" '0 1 2 ' 'and one column'
cli_status 0 'one queue' "$S5_CMD" ls 1
tap_is "$(wc -l <"$out")" 2 'has one line'
cli_status 1 'a queue that is not there' "$S5_CMD" ls 0 5
cli_has "$err" 'no message queue with id 5' 'is told'
cli_has "$out" '^0x0000002a ' 'the other is shown'

cli_status 0 'JSON' "$S5_CMD" ls --json
tap_is "$(cli_json 'join " ", sort keys %{$_->{queues}[0]}')" \
	"cgid cgroup change_time creator cuid gid group held_by key messages \
msqid owner perms qbytes receivers recv_pid recv_time send_pid send_time \
senders uid used_bytes" 'has all columns'
tap_is "$(cli_json '$_->{queues}[0]{uid}')" "$(id -u)" 'the owner'
tap_is "$(cli_json '$_->{queues}[0]{cuid}')" "$(id -u)" 'and the creator'
tap_is "$(cli_json '$_->{queues}[0]{qbytes}')" 16384 'the most bytes'
tap_is "$(cli_json '$_->{queues}[0]{send_pid} > 0')" 1 'who sent'
tap_is "$(cli_json '$_->{queues}[0]{recv_pid}')" undef 'nobody received'
tap_is "$(cli_json '$_->{queues}[0]{recv_time}')" undef 'at no time'
tap_is "$(cli_json '$_->{queues}[0]{send_time} =~
	/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d{4}$/')" 1 'times by ISO 8601'
tap_is "$(cli_json '$_->{queues}[0]{held_by}')" undef 'nobody holds it'

cli_status 0 'waiters' "$S5_CMD" ls --waiters
cli_has "$out" '^MSQID +PID +TID COMMAND +SINCE +FOR$' 'have headings'
cli_has "$out" '^ +0 .* perl .* receive type 77, at most 100 bytes$' 'one type'
cli_has "$out" '^ +0 .* perl .* receive types up to 2, at most 101 bytes$' \
	'the lowest'
cli_has "$out" '^ +1 .* perl .* send 7000 bytes of type 9$' 'a sender'
cli_has "$out" '^ +2 .* perl .* receive any, at most 102 bytes$' 'any'
cli_has "$out" '^ +2 .* perl .* receive any but type 8, of any length$' \
	'any but one'
tap_is "$(sed 1d "$out" | sort -s -c -n -k 1,1 2>&1)" '' 'are sorted by queue'
cli_status 0 'of one queue' "$S5_CMD" ls --waiters 1
tap_is "$(wc -l <"$out")" 2 'one line'
cli_status 0 'waiters as JSON' "$S5_CMD" ls --waiters --json 1
tap_is "$(cli_json 'join " ", sort keys %{$_->{waiters}[0]}')" \
	'bytes command for msqid pid pidns seconds since state tid type user wait' \
	'have all columns'
tap_is "$(cli_json 'join " ", @{$_->{waiters}[0]}{qw(wait type bytes)}')" \
	'send 9 7000' 'what for'
pid=$(cli_json '$_->{waiters}[0]{pid}')
kill -0 "$pid"
tap_ok $? 'and who'
tap_is "$(cli_json '$_->{waiters}[0]{pidns}')" \
	"$(stat -L -c %i /proc/self/ns/pid)" 'in this pid namespace'

cli_status 2 'an unknown column' "$S5_CMD" ls --columns msqid,colour
cli_has "$err" "no column 'colour'" 'is told'
cli_status 2 "a queue's column for waiters" \
	"$S5_CMD" ls --waiters --columns perms
cli_status 2 'no id' "$S5_CMD" ls 1x
cli_status 2 'a negative id' "$S5_CMD" ls -- -1
cli_status 2 'an id too large' "$S5_CMD" ls 2147483648

# A sender that is stopped with the lock of queue 2: as if it had been stopped
# there, the words that say so are written into the file.
kill -STOP "$pid"
n=0
while test "$("$S5_CMD" ls -w -n -o state 1)" != T && test $n -lt 200; do
	n=$((n + 1))
	sleep 0.05
done
tap_is "$("$S5_CMD" ls -w -n -o state 1)" T 'a stopped waiter is shown as such'
perl -e '
	open $f, "+<", "$ENV{SYSFIVE_DIR}/arena" or die;
	sub word { my $b; seek $f, $_[0], 0; read $f, $b, 4; unpack "L", $b }
	sub put { seek $f, shift, 0; print $f pack shift, shift }
	$queue = word(6 * 4096) * 4096 + 2 * 512;
	$slots = word(2 * 4096) * 4096;
	($at) = grep { word($slots + $_ * 2048 + 4) == $ARGV[0] } 1 .. 7 or die;
	put($slots + $at * 2048 + 64, "Q", $queue); # holding
	$gen = word($slots + $at * 2048 + 8) >> 2; # of the state
	put($queue, "L", ($at | $gen << 15) & 0xffffffff);
	close $f or die' "$pid"
cli_status 0 'a queue whose lock a stopped process has' \
	"$S5_CMD" ls --noheadings --columns msqid,held_by
tap_is "$(tr -s ' ' <"$out" | sed -n 3p | sed 's/^ //')" "2 $pid" 'says who'
cli_has "$err" "warning: queue 2 is kept locked by process $pid" 'and warns'
cli_has "$err" "kill -CONT $pid" 'and what to do'
cli_status 0 'its waiters' "$S5_CMD" ls --waiters --noheadings 2
tap_is "$(wc -l <"$out")" 2 'are shown'
"$S5_CMD" rm 2 >"$out" 2>"$err" &
rm=$!
n=0
while ! grep -q 'kept locked' "$err" && test $n -lt 200; do
	n=$((n + 1))
	sleep 0.05
done
cli_has "$err" "warning: queue 2 is kept locked by process $pid" \
	'rm says what it waits for'
kill -KILL "$pid"
wait $rm
tap_is "$?" 0 'and is done when that is killed'
n=0
while test "$("$S5_CMD" ls -n -o senders 1 | tr -d ' ')" != 0 &&
	test $n -lt 200; do
	n=$((n + 1))
	sleep 0.05
done
tap_is "$("$S5_CMD" ls -n -o senders 1 | tr -d ' ')" 0 \
	'who was killed waits no more'

"$S5_CMD" rm --all
wait $waiting
tap_is "$("$S5_CMD" ls --waiters)" '' 'nobody waits in the end'

# Another pid namespace: its numbers mean somebody else here.
if test "$(id -u)" = 0 && unshare --pid --fork true 2>/dev/null; then
	unshare --pid --fork --kill-child "$S5_CMD" run \
		perl -e 'msgrcv(msgget(1, 01600), $b, 1, 0, 0)' &
	waiting=$!
	n=0
	while test -z "$("$S5_CMD" ls -w -n)" && test $n -lt 200; do
		n=$((n + 1))
		sleep 0.05
	done
	cli_status 0 'a waiter of another pid namespace' \
		"$S5_CMD" ls --waiters --json
	tap_is "$(cli_json '$_->{waiters}[0]{command}')" undef 'has no name here'
	tap_is "$(cli_json '$_->{waiters}[0]{wait}')" any 'and is shown'
	"$S5_CMD" rm --all
	wait $waiting
else
	tap_skip 'a waiter of another pid namespace' 'needs root'
fi

tap_done
