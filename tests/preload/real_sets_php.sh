#!/bin/sh
# SPDX-License-Identifier: MIT
#
# real_sets_php.sh - PHP's sysvsem, an extension that is loaded with
# RTLD_DEEPBIND and so looks its symbols up past any preloaded library.
#
# shellcheck source=tests/preload/real.sh
. "$S5_SOURCE_DIR/tests/preload/real.sh"
real_needs php
php -r 'exit(extension_loaded("sysvsem") ? 0 : 1);' ||
	tap_skip_all 'no sysvsem'

real_run 'by turns' php "$S5_SOURCE_DIR/tests/preload/real_sets_php.php"
real_done
