#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_ipcs.sh - the distribution's ipcs, ipcrm, ipcmk, lsipc and sysctl on
# sysfive's queues: what they print agrees with sysfive ls, and with what they
# print of the kernel's queues.
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
for tool in ipcs ipcrm ipcmk lsipc; do
	real_needs "$tool"
done

ours() {
	"$S5_CMD" run "$@"
}

# Keys, ids, owners, bits and sizes as sysfive ls and as the tools show them;
# lsipc has no bits in octal.
by_ls() {
	"$S5_CMD" ls --noheadings --columns \
		KEY,MSQID,OWNER,PERMS,USED_BYTES,MESSAGES | awk '{$1=$1; print}'
}

by_ipcs() {
	ours ipcs -q | awk '/^0x/ {$1=$1; print}'
}

by_lsipc() {
	ours lsipc -q --raw --noheadings --bytes \
		--output KEY,ID,OWNER,USEDBYTES,MSGS
}

agree() {
	tap_is "$(by_ipcs)" "$(by_ls)" "ipcs agrees with ls $1"
	tap_is "$(by_lsipc)" "$(by_ls | cut -d ' ' -f 1-3,5-)" "lsipc agrees with ls $1"
}

# made COMMAND...: the id in what ipcmk prints.
made() {
	"$@" | sed -n 's/^Message queue id: //p'
}

# every COMMAND...: all that ipcs and lsipc can show, without times and keys,
# which ipcmk draws at random.
every() {
	for options in '-q' '-q -c' '-q -p' '-q -u' '-q -l' '-q -t' '-q -i 0' \
		'-q -i 7' '-q -l -b' '-q -u -b'; do
		echo "ipcs $options"
		# shellcheck disable=SC2086 # several options
		"$@" ipcs $options 2>&1
	done | sed -E 's/0x[0-9a-f]{8}/KEY/
		s/[A-Z][a-z]{2} +[0-9]+ [0-9:]{8}( [0-9]{4})?/TIME/
		s/[A-Z][a-z]{2} TIME/TIME/'
	"$@" lsipc -q --noheadings --raw --output \
		ID,PERMS,OWNER,CUID,CUSER,CGID,CGROUP,UID,USER,GID,GROUP,USEDBYTES,MSGS,LSPID,LRPID \
		2>&1
	"$@" lsipc -q --id 0 2>&1 | sed -E '/^(Key|Last change):/d'
	"$@" cat /proc/sys/kernel/msgmax /proc/sys/kernel/msgmnb \
		/proc/sys/kernel/msg_next_id 2>&1
}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/s5-ipcs.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

# --- one and several queues ---

agree 'on an empty namespace'
first=$(made ours ipcmk -Q)
second=$(made ours ipcmk -Q -p 0600)
tap_is "$first $second" '0 1' 'ipcmk makes queues'
agree 'on two queues'
if command -v perl >/dev/null; then
	# shellcheck disable=SC2016 # Perl's
	tap_run 'messages are sent' env LD_PRELOAD="$S5_DROPIN" perl -e \
		'msgsnd($ARGV[0], pack("l! a*", 1, $_), 0) or die $!
			for "five5", "eight888"' "$second"
	agree 'on messages'
	tap_is "$(by_ipcs | awk '{print $2, $5, $6}')" "$(printf '0 0 0\n1 13 2')" \
		'they are counted'
fi
tap_is "$(ours ipcs -q -u | sed -n 's/^allocated queues = //p')" 2 \
	'ipcs -u counts the queues'
tap_run 'ipcrm removes by id' ours ipcrm -q "$first"
key=$("$S5_CMD" ls --noheadings --columns KEY | tr -d ' ')
tap_run 'ipcrm removes by key' ours ipcrm -Q "$key"
agree 'after ipcrm'
made ours ipcmk -Q >/dev/null
tap_run 'ipcrm removes all' ours ipcrm --all=msg
tap_is "$(by_ls)" '' 'nothing is left'

# --- limits ---

tap_is "$(ours ipcs -q -l | sed -n 's/^max queues system wide = //p')" \
	"$("$S5_CMD" limits | awk '$1 == "msgmni" {print $2}')" 'ipcs -l shows the limits'
if test "$(id -u)" -eq 0; then
	if command -v sysctl >/dev/null; then
		tap_run 'sysctl sets a limit' ours sysctl -w kernel.msgmax=4321
	else
		tap_skip 'sysctl sets a limit' 'no sysctl'
		"$S5_CMD" limits msgmax=4321 >/dev/null
	fi
	tap_is "$(ours cat /proc/sys/kernel/msgmax)" 4321 'it is set'
	for shell in sh bash; do
		command -v $shell >/dev/null || continue
		tap_run "$shell chooses an id" ours $shell -c \
			'echo 4711 >/proc/sys/kernel/msg_next_id'
		tap_is "$(made ours ipcmk -Q)" 4711 "$shell chose it"
		ours ipcrm -q 4711
		# shellcheck disable=SC2016 # for the other shell
		tap_is "$(ours $shell -c 'echo -5 >/proc/sys/kernel/msgmax
			echo $?' 2>/dev/null)" 1 "$shell is told of an error"
	done
	"$S5_CMD" limits msgmax=8192 >/dev/null
else
	tap_skip 'limits are set' 'needs root'
fi

# --- the kernel's ---

if test -n "${S5_HAS_OWN_IPC:-}" && test "$(id -u)" -eq 0; then
	rm -rf "$SYSFIVE_DIR/arena"
	for queue in 0644 0600; do
		ours ipcmk -Q -p $queue >/dev/null
	done
	every "$S5_CMD" run >"$scratch/ours"
	tap_is "$(sed 1d /proc/sysvipc/msg)" '' 'the kernel made no queue'
	echo 32000 >/proc/sys/kernel/msgmni
	for queue in 0644 0600; do
		ipcmk -Q -p $queue >/dev/null
	done
	every env >"$scratch/kernels"
	tap_is "$(cat "$scratch/ours")" "$(cat "$scratch/kernels")" \
		'every option prints what it prints of the kernel'
	ipcrm --all=msg
else
	tap_skip 'every option' 'the kernel has queues of others'
fi
real_done
