# SPDX-License-Identifier: MIT
#
# Forwards to meson; see README.md.  Packages that are missing are installed
# by tools/setup when run as root.

MESON = $$(command -v meson || echo /usr/bin/meson)
SANITIZED = ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:use_sigaltstack=0:suppressions=$(CURDIR)/tools/asan.supp \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 S5_TIMEOUT_SCALE=4

all:
	@tools/setup build
	@tools/configure build
	@$(MESON) compile -C build

run: all
	@tools/setup run
	@tools/demo

# The suite conformance3 is what the next step promises: `make check-all`.
check: setup-check all
	@tools/run-tests build --no-suite conformance3

check-all: setup-check all
	@tools/run-tests build

crash: setup-check all
	@tools/run-tests build --suite crash

# The sanitizer builds and the analysis build have directories of their own.
asan: setup-check
	@tools/configure build-asan -Db_sanitize=address,undefined \
		-Db_lto=false -Ddebug_locks=true
	@$(MESON) compile -C build-asan
	@$(SANITIZED) tools/run-tests build-asan --suite unit \
		--suite conformance

tsan: setup-check
	@CC=clang tools/configure build-tsan -Db_sanitize=thread \
		-Db_lundef=false
	@$(MESON) compile -C build-tsan
	@S5_TIMEOUT_SCALE=8 tools/run-tests build-tsan --suite tsan

lint: setup-check
	@tools/lint

format:
	@tools/format --fix

install: all
	@$(MESON) install -C build --no-rebuild

clean:
	rm -rf build build-asan build-tsan build-lint

setup-check:
	@tools/setup build check

.PHONY: all run check check-all crash asan tsan lint format install clean setup-check
