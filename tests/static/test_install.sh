#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What is installed is exactly installed.list and the pages in man/, and it works from there.

. "$S5_SOURCE_DIR/tests/harness/tap.sh"

root=$SYSFIVE_DIR/root
meson=$(command -v meson || echo /usr/bin/meson)

DESTDIR=$root "$meson" install -C "$S5_BUILD_DIR" --no-rebuild --quiet \
	>"$SYSFIVE_DIR/log" 2>&1
tap_ok $? 'meson install'

bin=$(dirname "$(find "$root" -name sysfive -path '*/bin/*')")
prefix=$(dirname "$bin")
lib=$(dirname "$(find "$root" -name libsysfive.so.0)")

# Without the multiarch part of the library directory.
(cd "$prefix" && find . ! -type d) |
	sed 's|^\./||; s|^lib/[^/]*-linux-[^/]*/|lib/|; s|^lib64/|lib/|' |
	LC_ALL=C sort >"$SYSFIVE_DIR/got"
{
	sed '/^#/d; /^$/d' "$S5_SOURCE_DIR/tests/static/installed.list"
	cd "$S5_SOURCE_DIR" &&
		find man -name '*.[1-8]' |
		sed 's|.*/\(.*\.\(.\)\)$|share/man/man\2/\1|'
} | LC_ALL=C sort >"$SYSFIVE_DIR/want"
tap_run 'the installed files are the listed ones' \
	diff -u "$SYSFIVE_DIR/want" "$SYSFIVE_DIR/got"

tap_run 'the drop-in finds its sibling' \
	env -u SYSFIVE_DIR LD_PRELOAD="$lib/libsysfive-dropin.so.0" /bin/true
sibling=$(ldd "$lib/libsysfive-dropin.so.0" |
	sed -n 's/.*libsysfive.so.0 => \([^ ]*\).*/\1/p')
tap_is "$sibling" "$lib/libsysfive.so.0" 'which is the one beside it'

PKG_CONFIG_SYSROOT_DIR='' PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
tap_is "$(basename "$(pkg-config --variable=dropin sysfive)")" \
	libsysfive-dropin.so.0 'pkg-config knows the drop-in'

for header in "$prefix"/include/sysfive/*.h; do
	name=sysfive/$(basename "$header")
	for language in 'c -std=c11' 'c++ -std=c++11'; do
		# shellcheck disable=SC2086 # language and option
		tap_run "$name as $language" gcc -x $language -Wall -Wextra \
			-Wpedantic -Werror -I "$prefix/include" -fsyntax-only \
			-include "$header" -
	done
done

tap_done
