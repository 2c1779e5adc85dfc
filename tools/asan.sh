#!/bin/bash
# Run the tests under AddressSanitizer and UBSan: asan.sh [arguments of pytest]
#
# The runtime brings the C++ library along, whose exceptions it intercepts. Python's
# memory at exit says nothing about ours, so that leaks count in programs alone; with
# malloc, the sanitizer sees the end of each Python object.
export NAME=asan KINDS=address,undefined RUNTIME="libasan.so libstdc++.so.6" SYMBOL=__asan_init
export SETTINGS="ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc"
export UBSAN_OPTIONS=print_stacktrace=1
# LeakSanitizer of gcc 12 misreads where glibc keeps thread-local storage of libraries that were
# opened later, and crashes.
export LSAN_OPTIONS=intercept_tls_get_addr=0
exec "$(dirname "$0")/sanitized.sh" "$@"
