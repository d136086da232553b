#!/bin/sh
# shellcheck disable=SC2016 # for an inner shell or Perl
# SPDX-License-Identifier: MIT
#
# sysfive ls -s: sets, each semaphore, who waits, who holds adjustments.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

# until_is WANT COMMAND...: waits until the command prints that, with blanks
# between words; gives up after some seconds.
until_is() {
	until_want=$1
	shift
	n=0
	while test "$("$@" | xargs)" != "$until_want" && test $n -lt 200; do
		n=$((n + 1))
		sleep 0.05
	done
	tap_is "$("$@" | xargs)" "$until_want" "$* comes to that"
}

cli_status 1 'no namespace' "$S5_CMD" ls -s
cli_has "$err" "^sysfive: ls: there is no namespace in $SYSFIVE_DIR; " 'is told'
"$S5_CMD" limits >/dev/null
cli_status 0 'no set' "$S5_CMD" ls -s
cli_empty "$out" 'prints nothing'
cli_status 0 'no set as JSON' "$S5_CMD" ls -s --json
tap_is "$(cli_json 'scalar @{$_->{sets}}')" 0 'is an empty array'

# Two sets; three who wait at the first, one of whom holds an adjustment.
cat >"$scratch/wait.pl" <<'END'
sub waits(&) { my $do = shift; return if fork; $do->(); exit 1 }
$SIG{TERM} = 'DEFAULT';
$set = semget(0x2a, 3, 01640) // die;
semctl($set, 0, 17, pack('S!*', 0, 5, 2)) or die; # SETALL
semget(0, 1, 01600) // die;
waits { semop($set, pack('s!*', 0, -3, 0)) };
waits { semop($set, pack('s!*', 1, -1, 0, 0, -1, 0)) };
waits {
	semop($set, pack('s!*', 1, -2, 010000)); # SEM_UNDO
	semop($set, pack('s!*', 2, 0, 0));
};
1 while wait > 0;
END
"$S5_CMD" run perl "$scratch/wait.pl" &
waiting=$!
until_is '3 0' "$S5_CMD" ls -sn -o waiters

cli_status 0 'sets' "$S5_CMD" ls -s
cli_has "$out" '^KEY +SEMID OWNER +PERMS NSEMS WAITERS UNDOERS$' 'have headings'
user=$(id -un)
cli_has "$out" "^0x0000002a +0 $user +640 +3 +3 +1$" 'the first'
cli_has "$out" "^0x00000000 +1 $user +600 +1 +0 +0$" 'the second'
tap_is "$(wc -l <"$out")" 3 'and no other'
cli_status 0 'one set' "$S5_CMD" ls --semaphores 1
tap_is "$(wc -l <"$out")" 2 'has one line'
cli_status 1 'a set that is not there' "$S5_CMD" ls -s 0 5
cli_has "$err" 'no semaphore set with id 5' 'is told'
cli_has "$out" '^0x0000002a ' 'the other is shown'
cli_status 0 'sets as JSON' "$S5_CMD" ls -s --json
tap_is "$(cli_json 'join " ", sort keys %{$_->{sets}[0]}')" \
	"cgid cgroup change_time creator cuid gid group held_by key nsems \
op_time owner perms semid uid undoers waiters" 'have all columns'
tap_is "$(cli_json '$_->{sets}[0]{op_time} =~
	/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d{4}$/')" 1 'the last semop'
tap_is "$(cli_json '$_->{sets}[1]{op_time}')" undef 'there was none'
tap_is "$(cli_json 'length $_->{sets}[1]{change_time} > 0')" 1 'when it was made'
tap_is "$(cli_json '$_->{sets}[0]{held_by}')" undef 'nobody holds it'
cli_status 0 'and no queue' "$S5_CMD" ls
cli_empty "$out" 'is there'

cli_status 0 'waiters' "$S5_CMD" ls -sw
cli_has "$out" '^SEMID SEM +PID +TID COMMAND +SINCE +FOR$' 'have headings'
cli_has "$out" '^ +0 +0 .* perl .* take 3$' 'one operation'
cli_has "$out" '^ +0 +0 .* perl .* take 1, in 2 operations$' 'one of two'
cli_has "$out" '^ +0 +2 .* perl .* zero$' 'for zero'
tap_is "$(wc -l <"$out")" 4 'and no other'
cli_status 0 'of another set' "$S5_CMD" ls -sw 1
cli_empty "$out" 'there are none'
cli_status 0 'waiters as JSON' "$S5_CMD" ls -sw --json
tap_is "$(cli_json 'join " ", sort keys %{$_->{waiters}[0]}')" \
	'command for nsops op pid pidns seconds sem semid since state tid user' \
	'have all columns'
tap_is "$(cli_json 'join ",", sort map { "$_->{sem}:$_->{op}:$_->{nsops}" }
	@{$_->{waiters}}')" '0:-1:2,0:-3:1,2:0:1' 'what for'
tap_is "$(cli_json '$_->{waiters}[0]{pidns}')" \
	"$(stat -L -c %i /proc/self/ns/pid)" 'in this pid namespace'
pid=$(cli_json '(grep { $_->{op} == 0 } @{$_->{waiters}})[0]{pid}')
kill -0 "$pid"
tap_ok $? 'and who'

cli_status 0 'each semaphore' "$S5_CMD" ls -se
cli_has "$out" '^SEMID SEM VALUE +PID NCOUNT ZCOUNT$' 'has headings'
cli_has "$out" '^ +0 +0 +0 +[0-9]+ +2 +0$' 'two wait for the first'
cli_has "$out" "^ +0 +1 +3 +$pid +0 +0$" 'the second, changed by semop'
cli_has "$out" '^ +0 +2 +2 +[0-9]+ +0 +1$' 'one waits for zero'
cli_has "$out" '^ +1 +0 +0 +0 +0$' 'and that of the other set'
tap_is "$(wc -l <"$out")" 5 'and no other'
cli_status 0 'each as JSON' "$S5_CMD" ls -se --json 1
tap_is "$(cli_json 'join " ", map { $_ // "null" }
	@{$_->{semaphores}[0]}{qw(semid sem value pid ncount zcount)}')" \
	'1 0 0 null 0 0' 'has all columns'

cli_status 0 'adjustments' "$S5_CMD" ls -su
cli_has "$out" '^SEMID SEM +PID COMMAND ADJUST$' 'have headings'
cli_has "$out" "^ +0 +1 +$pid perl +2$" 'one'
tap_is "$(wc -l <"$out")" 2 'and no other'
cli_status 0 'adjustments as JSON' "$S5_CMD" ls -su --json
tap_is "$(cli_json 'join " ", @{$_->{undo}[0]}{qw(semid sem pid adjust pidns)}')" \
	"0 1 $pid 2 $(stat -L -c %i /proc/self/ns/pid)" 'have all columns'

# Its holder ends: they are done, and gone.
kill -KILL "$pid"
until_is '' "$S5_CMD" ls -sun
until_is '0 5 2' "$S5_CMD" ls -sen -o value 0
until_is '2 0' "$S5_CMD" ls -sn -o waiters

cli_status 2 'queues and sets' "$S5_CMD" ls -qs
cli_status 2 'two views' "$S5_CMD" ls -seu
cli_status 2 'each queue' "$S5_CMD" ls -e
cli_has "$err" 'add -s' 'is told'
cli_status 2 'adjustments of queues' "$S5_CMD" ls -qu
cli_status 2 "a set's column for semaphores" "$S5_CMD" ls -se -o nsems
cli_status 2 'no id' "$S5_CMD" ls -s 1x

"$S5_CMD" rm -s --all
wait $waiting
tap_is "$("$S5_CMD" ls -sw)" '' 'nobody waits in the end'

# Many semaphores in one set.
"$S5_CMD" run perl -e '$s = semget(0, 1000, 01600) // die;
	semctl($s, 0, 17, pack("S!*", 0 .. 999)) or die'
cli_status 0 'a thousand' "$S5_CMD" ls -sen -o sem,value
tap_is "$(awk '$1 == $2' "$out" | wc -l)" 1000 'each with its value'

tap_done
