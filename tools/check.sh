#!/bin/sh
# Print everything that this system lacks for the given make targets, with the apt-get command that
# installs it. PYTHON, CC and CXX are those that will be used.
missing=
packages=

lacks() {
  missing="$missing
  $1"
  case " $packages " in *" $2 "*) ;; *) packages="$packages $2" ;; esac
}

# Print the package of the compiler $1; $2 is GNU's.
compiler_package() {
  case $1 in *clang*) echo clang ;; *) echo "$2" ;; esac
}

# Succeed if the compiler $1 accepts the language $2 with the header $3.
compiles() {
  # a compiler may have options
  echo "#include <$3>" | $1 -x "$2" -fsyntax-only - 2>/dev/null
}

check_c() {
  if ! command -v "${CC%% *}" >/dev/null; then
    lacks "a C compiler ($CC)" "$(compiler_package "$CC" gcc)"
    command -v ld >/dev/null || lacks "a linker (ld)" binutils
  elif ! compiles "$CC" c stdlib.h; then
    lacks "the headers of the C library (stdlib.h)" libc6-dev
  fi
}

check_cxx() {
  if ! command -v "${CXX%% *}" >/dev/null; then
    lacks "a C++ compiler ($CXX)" "$(compiler_package "$CXX" g++)"
  elif ! compiles "$CXX" c++ string; then
    lacks "the headers of the C++ library (string)" g++
  fi
}

has_python_header() {
  "$PYTHON" -c 'import os, sysconfig as s
raise SystemExit(not os.path.exists(os.path.join(s.get_path("include"), "Python.h")))'
}

check_python() {
  package=python3
  case ${PYTHON##*/} in python3.*) package=${PYTHON##*/} ;; esac
  if ! command -v "$PYTHON" >/dev/null; then
    lacks "Python ($PYTHON) with venv and headers" "$package $package-venv $package-dev"
  elif ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    lacks "Python 3.11 or newer ($PYTHON is $("$PYTHON" -V 2>&1)); set PYTHON= to one" python3
  else
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
      lacks "Python's venv with pip (ensurepip)" "$package-venv"
    has_python_header || lacks "the headers of Python (Python.h)" "$package-dev"
  fi
}

check_c
check_python
for target in "$@"; do
  case $target in
    test | test-all | asan | tsan | matrix-peers | fluid) check_cxx ;;
    fuzz)
      command -v clang++ >/dev/null || lacks "clang, for its fuzzer" clang
      ls "$(clang++ -print-runtime-dir 2>/dev/null)"/libclang_rt.fuzzer* >/dev/null 2>&1 ||
        lacks "clang's fuzzer (libclang_rt)" libclang-rt-dev
      compiles clang++ c++ gflags/gflags.h || lacks "gflags, to compare with" libgflags-dev
      ;;
    lint | format)
      for tool in clang-format clang-tidy; do
        command -v $tool >/dev/null || lacks $tool $tool
      done
      ;;
  esac
done

if [ -n "$missing" ]; then
  printf 'This system lacks:%s\n' "$missing" >&2
  if command -v apt-get >/dev/null; then
    printf 'Install it as root with:\n  apt-get install%s\n' "$packages" >&2
  else
    echo "Install it with this system's package manager, and run make again." >&2
  fi
  exit 1
fi
