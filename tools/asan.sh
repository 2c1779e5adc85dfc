#!/bin/bash
# Run the tests under AddressSanitizer and UBSan: asan.sh [arguments of pytest]
#
# The runtime needs the C++ library, whose exceptions it intercepts. Python's memory at exit says
# nothing about ours, so leaks count only in programs. With PYTHONMALLOC=malloc, the sanitizer sees
# each Python object freed.
export NAME=asan KINDS=address,undefined RUNTIME="libasan.so libstdc++.so.6" SYMBOL=__asan_init
export SETTINGS="ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc"
export UBSAN_OPTIONS=print_stacktrace=1
# LeakSanitizer of gcc 12 crashes because it misreads where glibc keeps the thread-local storage of
# libraries that were opened later.
export LSAN_OPTIONS=intercept_tls_get_addr=0
exec "$(dirname "$0")/sanitized.sh" "$@"
