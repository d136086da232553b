#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Help texts, the version, and wrong command lines.

# shellcheck disable=SC1091,SC2154 # it sets out, err and scratch
. "$S5_SOURCE_DIR/tests/cli/cli.sh"

for option in --help -h; do
	cli_status 0 "sysfive $option" "$S5_CMD" "$option"
	cli_has "$out" '^Usage: sysfive ' 'says how it is used'
	cli_empty "$err" 'and nothing on standard error'
done
for verb in run limits ls rm bench; do
	cli_status 0 "the command's help" "$S5_CMD" --help
	cli_has "$out" "^  $verb " "names $verb"
	cli_status 0 "$verb --help" "$S5_CMD" "$verb" --help
	cli_has "$out" "^Usage: sysfive $verb " 'says how it is used'
	cli_has "$out" '--help' 'lists its options'
	cli_empty "$err" 'and nothing on standard error'

	cli_status 2 "$verb with an unknown option" \
		"$S5_CMD" "$verb" --no-such-option
	cli_has "$err" "^sysfive: $verb: .*--no-such-option" 'is told'
	cli_has "$err" "^Try 'sysfive $verb --help'" 'and where help is'
	cli_empty "$out" 'and nothing on standard output'
	test -f "$S5_SOURCE_DIR/man/sysfive-$verb.1"
	tap_ok $? "$verb has a manual page"
done

cli_status 0 'sysfive --version' "$S5_CMD" --version
cli_has "$out" '^sysfive [0-9]+\.[0-9]+\.[0-9]+$' 'prints name and version'
cli_status 2 'no verb' "$S5_CMD"
cli_status 2 'an unknown verb' "$S5_CMD" no-such-verb
cli_has "$err" "no-such-verb" 'is named'

if test -w /dev/full; then
	"$S5_CMD" --help >/dev/full 2>"$err"
	tap_is "$?" 1 'standard output that cannot be written fails'
	cli_has "$err" '^sysfive: cannot write' 'and says so'
else
	tap_skip 'standard output that cannot be written' 'no /dev/full'
fi

tap_done
