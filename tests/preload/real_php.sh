#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_php.sh - PHP's sysvmsg, an extension that is loaded with RTLD_DEEPBIND
# and so looks its symbols up past any preloaded library.
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
real_needs php
php -r 'exit(extension_loaded("sysvmsg") ? 0 : 1);' ||
	tap_skip_all 'no sysvmsg'

real_run 'two processes' php "$S5_SOURCE_DIR/tests/preload/real_php.php"
real_done
