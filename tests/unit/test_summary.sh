#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tools/tap-summary: single points are counted, and a program that died or
# stopped short of its plan is a failure.

. "$S5_SOURCE_DIR/tests/harness/tap.sh"

log=$SYSFIVE_DIR/log.json

# summary WANT STATUS NAME: of the log on standard input.
summary() {
	cat >"$log"
	out=$("$S5_SOURCE_DIR/tools/tap-summary" "$log")
	tap_is "$? $(echo "$out" | tail -n 1)" "$2 $1" "$3"
}

summary '2 passed, 0 failed, 1 skipped' 0 'points' <<'END'
{"name":"a","result":"OK","stdout":"1..3\nok 1 - x\nok 2 - y # SKIP no\nok 3\n"}
END
summary '1 passed, 1 failed, 0 skipped' 1 'a failed point' <<'END'
{"name":"a","result":"FAIL","stdout":"1..2\nok 1 - x\nnot ok 2 - y\n"}
END
summary '1 passed, 1 failed, 0 skipped' 1 'died before its plan was done' <<'END'
{"name":"a","result":"ERROR","stdout":"1..2\nok 1 - x\n"}
END
summary '2 passed, 1 failed, 0 skipped' 1 'a bad end after all points' <<'END'
{"name":"a","result":"ERROR","stdout":"1..1\nok 1 - x\n"}
{"name":"b","result":"OK","stdout":"1..1\nok 1 - x\n"}
END
summary '0 passed, 1 failed, 0 skipped' 1 'no point at all' <<'END'
{"name":"a","result":"TIMEOUT","stdout":""}
END
summary '1 passed, 1 failed, 0 skipped' 1 'bailed out' <<'END'
{"name":"a","result":"ERROR","stdout":"1..1\nok 1\nBail out! left behind\n"}
END
summary '1 passed, 0 failed, 1 skipped' 0 'not TAP, and all skipped' <<'END'
{"name":"a","result":"OK","stdout":"hello\n"}
{"name":"b","result":"SKIP","stdout":"1..0 # SKIP not here\n"}
END
summary '0 passed, 0 failed, 0 skipped' 1 'nothing ran' </dev/null

tap_done
