#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_httpd.sh - Apache httpd whose processes take turns at accepting by
# `Mutex sysvsem`: root makes the set, workers of another user hold it with
# SEM_UNDO, and are replaced under load by graceful restarts.
#
# shellcheck disable=SC2317 # functions are called through others
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
real_needs apache2
test "$(id -u)" = 0 || tap_skip_all 'workers of another user need root'

root=$SYSFIVE_DIR/httpd
workers_user=nobody
modules=/usr/lib/apache2/modules
mkdir -p "$root/htdocs"
i=0
while test "$i" -lt 40; do
	printf 'page %d\n' "$i" >"$root/htdocs/$i"
	i=$((i + 1))
done

# Two listeners: with one alone httpd would not need the mutex.
write_config() {
	cat >"$root/httpd.conf" <<-END
		ServerRoot $root
		ServerName 127.0.0.1
		DefaultRuntimeDir $root
		PidFile $root/pid
		ErrorLog $root/log
		LogLevel notice
		LoadModule mpm_prefork_module $modules/mod_mpm_prefork.so
		LoadModule authz_core_module $modules/mod_authz_core.so
		Listen 127.0.0.1:$1
		Listen 127.0.0.1:$2
		User $workers_user
		Group nogroup
		Mutex sysvsem
		DocumentRoot $root/htdocs
		KeepAlive Off
		StartServers 6
		MinSpareServers 4
		MaxSpareServers 8
		MaxRequestWorkers 12
		MaxConnectionsPerChild 500
	END
}

httpd() {
	LD_PRELOAD=$S5_DROPIN apache2 -d "$root" -f "$root/httpd.conf" "$@" \
		>>"$root/out" 2>&1
}

# until_true COMMAND...: waits for it, at most half a minute.
until_true() {
	tries=0
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		test "$tries" -lt 600 || return 1
		sleep 0.05
	done
}

# A pair of ports that nobody has.
start() {
	try=0
	while test "$try" -lt 20; do
		port=$((20000 + ($$ * 7 + try * 1009) % 40000))
		write_config "$port" $((port + 1))
		if httpd -k start && until_true test -s "$root/pid"; then
			return 0
		fi
		try=$((try + 1))
	done
	return 1
}

is_gone() {
	! kill -0 "$1"
}

if ! start; then
	tap_ok 1 'start'
	tap_note "$(cat "$root/out" "$root/log")"
	tap_done
fi
tap_ok 0 'start'
pid=$(cat "$root/pid")

load() {
	perl "$S5_SOURCE_DIR/tests/preload/real_httpd.pl" "$port" "$@"
}

# shellcheck disable=SC2009 # by parent, not by name
owners() {
	ps -o user= --ppid "$pid" | sort -u | tr -d ' '
}

tap_run 'load' load 6 100
tap_is "$(owners)" "$workers_user" 'the workers are another user'

# A generation goes while the next serves, several times over.
(
	n=0
	while test "$n" -lt 4; do
		sleep 0.3
		kill -USR1 "$pid"
		n=$((n + 1))
	done
) &
tap_run 'load through graceful restarts' load 6 1500
wait $!
tap_run 'load afterwards' load 6 100

# A worker that dies in its turn passes it on.
for worker in $(ps -o pid= --ppid "$pid"); do
	kill -KILL "$worker"
done
tap_run 'load after the workers were killed' load 6 100

httpd -k stop
until_true is_gone "$pid"
tap_ok $? 'stop'
if grep -E ':(error|crit|alert|emerg)\]' "$root/log" >"$root/bad"; then
	tap_ok 1 'nothing in the error log'
	tap_note "$(cat "$root/bad")"
else
	tap_ok 0 'nothing in the error log'
fi
real_done
