#!/bin/sh
# shellcheck disable=SC2016 # for an inner shell or Perl
# SPDX-License-Identifier: MIT
#
# sysfive run: exit statuses, signals, the environment, warnings.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

# Exit statuses.
cli_status 0 'true' "$S5_CMD" run true
cli_empty "$err" 'without a word'
cli_status 1 'false' "$S5_CMD" run false
cli_status 3 'status 3' "$S5_CMD" run -- sh -c 'exit 3'
cli_status 255 'status 255' "$S5_CMD" run sh -c 'exit 255'
cli_status 143 'ended by SIGTERM' "$S5_CMD" run sh -c 'kill -TERM $$'
cli_status 137 'ended by SIGKILL' "$S5_CMD" run sh -c 'kill -KILL $$'
cli_status 127 'not in PATH' "$S5_CMD" run no-such-command-here
cli_has "$err" 'no-such-command-here: command not found' 'is told'
cli_status 127 'no such file' "$S5_CMD" run "$scratch/nothing"
: >"$scratch/plain"
cli_status 126 'not executable' "$S5_CMD" run "$scratch/plain"
cli_has "$err" 'cannot execute .*/plain: ' 'is told'
cli_status 126 'a directory' "$S5_CMD" run "$scratch"
cli_status 2 'no command' "$S5_CMD" run
cli_status 2 'no command after --' "$S5_CMD" run --

# What the command gets.
cli_status 0 'options of the command are its own' \
	"$S5_CMD" run printf '%s.' --dir --help -x
tap_is "$(cat "$out")" '--dir.--help.-x.' 'and reach it'
cli_status 0 'the environment' "$S5_CMD" run --dir "$scratch/other" \
	sh -c 'echo "$SYSFIVE_DIR"; echo "$LD_PRELOAD"'
tap_is "$(sed -n 1p "$out")" "$scratch/other" '--dir sets SYSFIVE_DIR'
tap_is "$(sed -n 2p "$out")" "$S5_DROPIN" 'the drop-in is preloaded'
test -d "$scratch/other"
tap_ok $? 'the namespace is made beforehand'
(cd "$scratch" && "$S5_CMD" run --dir relative sh -c 'echo "$SYSFIVE_DIR"') \
	>"$out"
tap_is "$(cat "$out")" "$(cd "$scratch" && pwd -P)/relative" \
	'a relative --dir becomes absolute'
LD_PRELOAD=libm.so.6 "$S5_CMD" run sh -c 'echo "$LD_PRELOAD"' >"$out"
tap_is "$(cat "$out")" "$S5_DROPIN:libm.so.6" 'an old preload stays, behind'
tap_is "$(echo in | "$S5_CMD" run cat)" in 'standard input and output pass'
printf 'exit 4\n' >"$scratch/plain"
chmod +x "$scratch/plain"
cli_status 4 'a script without #!' "$S5_CMD" run "$scratch/plain"
printf '#!/no/such/interpreter\n' >"$scratch/plain"
cli_status 127 'a script without its interpreter' "$S5_CMD" run "$scratch/plain"
cli_has "$err" 'interpreter is missing' 'is told'
(
	trap '' CHLD
	exec "$S5_CMD" run sh -c 'exit 7'
)
tap_is "$?" 7 'SIGCHLD may be ignored'

# Signals.  A fifo tells when the command is ready.
mkfifo "$scratch/ready"
start() {
	"$S5_CMD" run sh -c "$1; : >'$scratch/ready'; while :; do sleep 1; done" &
	read -r _ <"$scratch/ready"
}
start 'trap "exit 9" USR1'
kill -USR1 $!
wait $!
tap_is "$?" 9 'a signal is passed on'
start :
kill -TERM $!
wait $!
tap_is "$?" 143 'SIGTERM ends both'
start "echo \$\$ >'$scratch/pid'"
kill -KILL $!
wait $! 2>/dev/null
tap_is "$?" 137 'SIGKILL ends the wrapper'
child=$(cat "$scratch/pid")
n=0
while kill -0 "$child" 2>/dev/null && test $n -lt 100; do
	n=$((n + 1))
	sleep 0.1
done
kill -0 "$child" 2>/dev/null
tap_is "$?" 1 'and the command with it'
# The reader of a fifo waits until nobody holds the other end.
"$S5_CMD" run sh -c 'echo $$ >"$0"; exec >&-; exec sleep 60' "$scratch/pid" \
	>"$scratch/ready" 2>/dev/null &
cat "$scratch/ready" >/dev/null
kill -TERM "$(cat "$scratch/pid")"
tap_ok $? 'the wrapper keeps no file open'
wait $!
tap_is "$?" 143 "and ends with the command"

# Refusals.
: >"$scratch/file"
cli_status 1 'a file in place of the directory' \
	"$S5_CMD" run --dir "$scratch/file" true
cli_has "$err" "^sysfive: run: cannot use the namespace in $scratch/file: " \
	'is told'
cli_has "$err" 'SYSFIVE_DIR' 'and what to do'
if test "$(id -u)" = 0; then
	tap_skip 'a directory without access' 'root may write anywhere'
else
	mkdir -m 500 "$scratch/closed"
	cli_status 1 'a directory without access' \
		"$S5_CMD" run --dir "$scratch/closed/ipc" true
fi

# What the preload cannot reach.
printf 'int main(void)\n{\n\treturn 5;\n}\n' >"$scratch/static.c"
if gcc -static -o "$scratch/static" "$scratch/static.c" 2>/dev/null; then
	cli_status 5 'a static program' "$S5_CMD" run "$scratch/static"
	cli_has "$err" 'warning: .*/static is statically linked' 'is told'
	tap_is "$(wc -l <"$err")" 1 'in one line'
	printf '#!%s\n' "$scratch/static" >"$scratch/script"
	chmod +x "$scratch/script"
	cli_status 5 'a script for one' "$S5_CMD" run "$scratch/script"
	cli_has "$err" 'warning: .*/static is statically linked' 'is told'
else
	tap_skip 'a static program' 'no static libc'
fi
cp /bin/true "$scratch/setuid"
if test "$(id -u)" = 0 && chown 65534 "$scratch/setuid" &&
	chmod 4755 "$scratch/setuid" && ! mount | grep -q ' /tmp .*nosuid'; then
	cli_status 0 'a set-uid program' "$S5_CMD" run "$scratch/setuid"
	cli_has "$err" 'warning: .*/setuid gains rights' 'is told'
else
	tap_skip 'a set-uid program' 'needs root and a file system with set-uid'
fi

tap_done
