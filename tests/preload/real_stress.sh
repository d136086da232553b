#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_stress.sh - stress-ng's message-queue stressor, which verifies what it
# receives.
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
real_needs stress-ng

real_stress 'one pair' --msg 1 --msg-ops 1000000
real_stress 'types' --msg 2 --msg-types 20 --msg-ops 500000
real_stress 'large messages' --msg 1 --msg-bytes 8192 --msg-ops 200000
real_stress 'pairs' --msg 6 --msg-ops 500000
real_done
