#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_sets_stress.sh - stress-ng's semaphore stressor, which verifies values
# and errors, and its switching by semaphores.
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
real_needs stress-ng

real_stress 'one pair' --sem-sysv 1 --sem-sysv-procs 2 --sem-sysv-ops 200000
real_stress 'four processes' \
	--sem-sysv 1 --sem-sysv-procs 4 --sem-sysv-ops 200000
real_stress 'many processes' \
	--sem-sysv 4 --sem-sysv-procs 16 --sem-sysv-ops 100000
real_stress 'switching' --switch 2 --switch-method sem-sysv --switch-ops 100000
real_done
