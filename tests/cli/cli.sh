# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# cli.sh - for the tests of the command: . "$S5_SOURCE_DIR/tests/cli/cli.sh".

# shellcheck disable=SC1091
. "$S5_SOURCE_DIR/tests/harness/tap.sh"

# Files of the test lie beside the namespace, not in it.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/s5-cli.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
out=$scratch/out
err=$scratch/err

# cli_status WANT NAME COMMAND...: compares the exit status; standard output and
# error are then in $out and $err.
cli_status() {
	cli_want=$1
	cli_name=$2
	shift 2
	"$@" >"$out" 2>"$err" </dev/null
	tap_is "$?" "$cli_want" "$cli_name"
}

# cli_has FILE PATTERN NAME: a line of the file matches.
cli_has() {
	if grep -Eq -e "$2" "$1"; then
		tap_ok 0 "$3"
	else
		tap_ok 1 "$3"
		tap_note "no line matches: $2"
		tap_note "$(cat "$1")"
	fi
}

# cli_empty FILE NAME
cli_empty() {
	tap_is "$(cat "$1")" '' "$2"
}

# cli_json EXPRESSION: the value in the JSON document in $out; $_ is the
# document in the Perl expression.
cli_json() {
	perl -MJSON::PP -e '
		local $/;
		open my $file, "<", $ARGV[0] or die;
		local $_ = JSON::PP->new->utf8->decode(<$file>);
		my $value = eval $ARGV[1];
		die $@ if $@;
		print $value // "undef", "\n";
	' "$out" "$1" 2>&1
}
