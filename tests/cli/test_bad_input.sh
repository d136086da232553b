#!/bin/sh
# shellcheck disable=SC2016 # for an inner shell or Perl
# SPDX-License-Identifier: MIT
#
# Every verb and what it cannot work with: the right status, a sentence, and
# nothing written.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

ns=$scratch/ns
export SYSFIVE_DIR="$ns"

# A new namespace with a queue.
fresh() {
	rm -rf "$ns"
	"$S5_CMD" run perl -e 'msgsnd(msgget(1, 01600), pack("l! a*", 1, "x"), 0)'
}

# What the file is and what is in it, as far as it is not sparse.
print_of() {
	stat -L -c '%F %s %a %i' "$1"
	test ! -f "$1" || head -c 2097152 "$1" | sha256sum
}

# refused PATTERN NAME [FILE]: all verbs but bench say so, and leave the file
# as it is.
refused() {
	before=$(print_of "${3:-$ns/arena}")
	for verb in 'ls --waiters' 'rm --all' 'limits msgmax=1' 'run true'; do
		# shellcheck disable=SC2086 # words
		cli_status 1 "$2: $verb" "$S5_CMD" $verb
		cli_has "$err" \
			"^sysfive: ${verb%% *}: cannot use the namespace in $ns: $1[^;]*; .{20,}$" \
			'is told, and what to do'
		tap_is "$(wc -l <"$err")" 1 'in one line'
		cli_empty "$out" 'and nothing else'
	done
	tap_is "$(print_of "${3:-$ns/arena}")" "$before" 'nothing was written'
}

# overwrite OFFSET FORMAT VALUE
overwrite() {
	perl -e 'open $f, "+<", "$ENV{SYSFIVE_DIR}/arena" or die;
		seek $f, $ARGV[0], 0; print $f pack $ARGV[1], $ARGV[2]' "$@"
}

damaged="the file 'arena' in it, of [0-9]+ bytes, is damaged, cut short"
fresh
overwrite 0 a8 garbage
refused "$damaged" 'another magic'
fresh
overwrite 8 L 77
refused 'another version of sysfive made it \(its format is 77, ours [0-9]+\)' \
	'another format'
fresh
overwrite 16 L 256
refused 'another version of sysfive made it' 'other sizes'
fresh
overwrite 132 L 4294967295
refused "$damaged" 'a reserved part that is larger than the file'
for size in 0 100 4096 1048576; do
	fresh
	truncate -s $size "$ns/arena"
	refused "$damaged" "cut to $size bytes"
done
rm "$ns/arena"
mkfifo "$ns/arena"
refused "the file 'arena' in it is a fifo" 'a fifo'
rm "$ns/arena"
mkdir "$ns/arena"
refused "the file 'arena' in it is a directory" 'a directory'
rmdir "$ns/arena"
: >"$scratch/target"
ln -s "$scratch/target" "$ns/arena"
refused "the file 'arena' in it is a symbolic link" 'a symbolic link' \
	"$scratch/target"
rm -rf "$ns"
echo text >"$ns"
refused 'a regular file has that name' 'a file in place of the directory' "$ns"
fresh
chmod 777 "$ns"
refused 'its mode, 0777, lets others replace the files in it' 'too open'

# bench has a namespace of its own, whatever the other is.
fresh
overwrite 0 a8 garbage
before=$(print_of "$ns/arena")
cli_status 0 'bench beside a damaged namespace' \
	"$S5_CMD" bench --rounds 1 --seconds 0.01 get
tap_is "$(print_of "$ns/arena")" "$before" 'which stays as it is'

# A program in such a namespace does not fall through to the kernel.
got=$(LD_PRELOAD=$S5_DROPIN perl -MPOSIX -e '
	print defined msgget(1, 01600) ? "made" : 0 + $!, " ";
	print msgrcv(0, $b, 1, 0, 0) ? "got" : 0 + $!')
tap_is "$got" '13 22' 'calls get EACCES and EINVAL'

# No access, for those who have no rights anyway.
if test "$(id -u)" = 0; then
	nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
else
	nobody=
fi
chmod 711 "$scratch"
fresh
if test -n "$nobody"; then
	# shellcheck disable=SC2086 # words
	cli_status 1 "another's directory" $nobody "$S5_CMD" ls
	cli_has "$err" 'permission denied: it belongs to root, its mode is 0700' \
		'is told'
	chmod 755 "$ns"
	# shellcheck disable=SC2086 # words
	cli_status 1 "another's file" $nobody "$S5_CMD" rm --all
	cli_has "$err" "the file 'arena' in it belongs to root, its mode is 0600" \
		'is told'
	# A child that becomes another user stays with this namespace.
	chmod 700 "$ns"
	# shellcheck disable=SC2086 # words
	got=$("$S5_CMD" run $nobody perl -e '
		print defined msgget(1, 01600) ? "made" : 0 + $!')
	tap_is "$got" 13 'a child of another user gets EACCES'
	test ! -e /dev/shm/sysfive-65534
	tap_ok $? 'and makes no namespace of its own'
else
	tap_skip "another's directory" 'needs root'
fi
chmod 0 "$ns"
if test "$(id -u)" != 0; then
	cli_status 1 'a closed directory' "$S5_CMD" ls
	cli_has "$err" 'permission denied' 'is told'
fi
chmod 700 "$ns"

# Names of directories.
rm -rf "$ns"
cli_status 1 'a directory in none' "$S5_CMD" run --dir "$ns/a/b" true
cli_has "$err" 'it is not there' 'is told'
long=$scratch/$(printf '%0600d' 0)
cli_status 1 'a long name' "$S5_CMD" ls --dir "$long"
cli_has "$err" 'SYSFIVE_DIR is longer than 511 bytes' 'is told'
cli_status 2 'an empty name' "$S5_CMD" ls --dir ''

# The command's children get the absolute name, also of the default.
got=$(cd "$scratch" && SYSFIVE_DIR=relative "$S5_CMD" run sh -c \
	'echo "$SYSFIVE_DIR"')
tap_is "$got" "$(cd "$scratch" && pwd -P)/relative" \
	'a relative SYSFIVE_DIR becomes absolute'
if test "$(id -u)" = 0 && unshare -m true 2>/dev/null; then
	# Mounts in a namespace of their own; $1 is the command.
	alone() {
		unshare -m sh -c "$1" sh "$S5_CMD" >"$out" 2>"$err" </dev/null
	}
	alone 'unset SYSFIVE_DIR
		mount -t tmpfs none /dev/shm
		exec "$1" run sh -c "echo \$SYSFIVE_DIR"'
	tap_is "$(cat "$out")" "/dev/shm/sysfive-0" 'the default is exported'
	alone 'unset SYSFIVE_DIR
		mount -t tmpfs none /dev/shm
		mkdir -m 700 /dev/shm/sysfive-0
		chown 65534 /dev/shm/sysfive-0
		"$1" run true && exit 1
		ls -A /dev/shm/sysfive-0'
	cli_has "$err" 'cannot use the namespace in /dev/shm/sysfive-0: it belongs to another user, [a-z0-9]+; ' \
		"the default name is another's"
	cli_empty "$out" 'and nothing was made in it'
	alone 'unset SYSFIVE_DIR
		mount -t tmpfs none /dev/shm
		ln -s /tmp /dev/shm/sysfive-0
		exec "$1" run true'
	tap_is "$?" 1 'the default name is a link'
	cli_has "$err" 'a symbolic link has that name' 'is told'
	alone 'unset SYSFIVE_DIR XDG_RUNTIME_DIR TMPDIR
		mount -t tmpfs -o ro none /dev/shm
		exec "$1" run true'
	tap_is "$?" 1 'no place for the default'
	cli_has "$err" 'neither /dev/shm nor .* that you may write to; ' 'is told'

	# No room.
	mkdir "$ns"
	for verb in 'run true' limits 'limits msgmax=1'; do
		alone "mount -t tmpfs -o size=64k none '$ns'
			\"\$1\" $verb
			echo \$? >'$scratch/status'
			ls -A '$ns'"
		tap_is "$(cat "$scratch/status")" 1 "$verb on a small file system"
		cli_has "$err" 'the file system is full .*; free ' 'is told'
		cli_empty "$out" 'and nothing is left there'
	done
	alone "mount -t tmpfs -o size=256k none '$ns'
		\"\$1\" run perl -e 'msgget(1, 01600) // die'
		cat /dev/zero >'$ns/fill' 2>/dev/null
		\"\$1\" ls --noheadings && \"\$1\" rm --all"
	tap_is "$?" 0 'ls and rm work when it is full'
	cli_has "$out" '^0x00000001 ' 'ls shows the queue'
	alone "mount -t tmpfs none '$ns'
		\"\$1\" limits >/dev/null
		mount -o remount,ro '$ns'
		\"\$1\" run true"
	tap_is "$?" 1 'a read-only file system'
	cli_has "$err" 'its file system can only be read' 'is told'
	alone 'mount -t tmpfs -o size=64k none /dev/shm
		exec "$1" bench --rounds 1 --seconds 0.01 get'
	tap_is "$?" 1 'bench without room'
	cli_has "$err" 'row get could not be measured' 'is told'
	rmdir "$ns"
else
	tap_skip 'other file systems' 'needs root and mount namespaces'
fi
if (ulimit -f 100) 2>/dev/null; then
	(
		ulimit -f 100
		exec "$S5_CMD" run true
	) >"$out" 2>"$err"
	tap_is "$?" 1 'a limit on the size of files'
	cli_has "$err" 'a limit forbids so large a file .*; raise the limits' \
		'is told'
	test ! -e "$ns/arena"
	tap_ok $? 'and nothing is left there'
fi

# Output that nobody takes.  $1 is DEFAULT or IGNORE, what SIGPIPE does.
closed() {
	how=$1
	shift
	perl -e '$SIG{PIPE} = shift; pipe R, W; close R; open STDOUT, ">&W";
		exec @ARGV' "$how" "$@" 2>"$err"
}
fresh
for verb in ls 'ls --waiters --json' limits 'rm --all --dry-run' \
	'bench --list' --help 'ls --help' 'rm --help' 'run --help'; do
	# shellcheck disable=SC2086 # words
	closed DEFAULT "$S5_CMD" $verb
	tap_is "$?" 141 "$verb into a closed pipe ends by SIGPIPE"
	# shellcheck disable=SC2086 # words
	closed IGNORE "$S5_CMD" $verb
	tap_is "$?" 1 'fails if that is ignored'
	cli_has "$err" '^sysfive: .*cannot write the output: Broken pipe' \
		'and says so'
	# shellcheck disable=SC2086 # words
	"$S5_CMD" $verb >&- 2>"$err"
	tap_is "$?" 1 'and without standard output'
done
tap_is "$("$S5_CMD" ls -n -o msqid | tr -d ' ')" 0 'the queue is there'

# A narrow terminal.
if command -v script >/dev/null; then
	for verb in ls 'ls --waiters' limits 'rm --all --dry-run' 'rm 77' \
		'ls --json' 'ls --columns key,owner,creator,change_time'; do
		script -qec "stty cols 20; '$S5_CMD' $verb" /dev/null \
			>"$out" 2>"$err" </dev/null
		status=$?
		if test "$verb" = 'rm 77'; then
			tap_is "$status" 1 "$verb on a narrow terminal"
			cli_has "$out" 'no message queue with id 77' 'is told'
		else
			tap_is "$status" 0 "$verb on a narrow terminal"
		fi
	done
else
	tap_skip 'a narrow terminal' 'no script(1)'
fi

# Garbage behind the header: those that look end, and do not crash.
seed=${SYSFIVE_SEED:-$$}
tap_note "SYSFIVE_SEED=$seed"
bad=0
for n in 1 2 3 4 5 6; do
	fresh
	"$S5_CMD" run perl -e '$s = semget(1, 3, 01600) // die;
		semget(2, 100, 01600) // die;
		semop($s, pack("s!*", 0, 1, 010000)) or die'
	perl -e '
		srand $ARGV[0];
		open $f, "+<", "$ENV{SYSFIVE_DIR}/arena" or die;
		for (1 .. (1, 20, 3000)[$ARGV[0] % 3]) {
			my $page = 1 + int rand 31;
			seek $f, $page * 4096 + 8 * int(rand 512), 0;
			print $f pack "Q", (0, ~0, 1, int(rand 40),
				int(rand 2 ** 32) << 31 | int rand 2 ** 32)[rand 5];
		}' $((seed + n))
	for verb in ls 'ls --waiters' 'ls 0' limits 'rm --all --dry-run' \
		'ls -s' 'ls -se' 'ls -sw' 'ls -su' 'rm -s --all --dry-run'; do
		# shellcheck disable=SC2086 # words
		timeout 30 "$S5_CMD" $verb >"$out" 2>"$err"
		status=$?
		if test $status -gt 1; then
			tap_note "seed $((seed + n)): $verb: status $status"
			bad=1
		fi
	done
done
tap_ok $bad 'garbage in the memory neither crashes nor holds who looks'

tap_done
