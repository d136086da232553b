#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_fakeroot.sh - fakeroot's daemon remembers who owns a file; every
# chown and stat of every program asks it through a message queue, by turns that
# a semaphore gives.
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
real_needs fakeroot-sysv

tree=$SYSFIVE_DIR/tree
mkdir -p "$tree/etc" "$tree/home"
for n in 1 2 3 4 5 6 7 8 9; do
	echo "$n" >"$tree/home/file$n"
done

# shellcheck disable=SC2016 # for the inner shell
pack='
	cd "$1" || exit 1
	chown -R 1001:1002 home
	chown 0:0 home etc
	mknod null c 1 3
	chmod 4755 home/file1
	# Several programs ask at once.
	for n in 2 3 4 5 6; do
		chown $((2000 + n)) home/file$n &
	done
	wait
	tar cf ../tree.tar .'
real_run 'packing' fakeroot-sysv sh -c "$pack" pack "$tree"

# Mode, owner, name; for a device its numbers.
got=$(tar tvf "$SYSFIVE_DIR/tree.tar" --numeric-owner |
	awk '{ print $1, $2, $1 ~ /^c/ ? $3 : "-", $NF }' | sort -k 4)
want='drwxr-xr-x 0/0 - ./
drwxr-xr-x 0/0 - ./etc/
drwxr-xr-x 0/0 - ./home/
-rwsr-xr-x 1001/1002 - ./home/file1
-rw-r--r-- 2002/1002 - ./home/file2
-rw-r--r-- 2003/1002 - ./home/file3
-rw-r--r-- 2004/1002 - ./home/file4
-rw-r--r-- 2005/1002 - ./home/file5
-rw-r--r-- 2006/1002 - ./home/file6
-rw-r--r-- 1001/1002 - ./home/file7
-rw-r--r-- 1001/1002 - ./home/file8
-rw-r--r-- 1001/1002 - ./home/file9
crw-r--r-- 0/0 1,3 ./null'
tap_is "$got" "$want" 'owners, modes, devices'
real_done
