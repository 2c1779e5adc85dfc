#!/bin/sh
# Show how a program and its plugin share flags: run.sh [PYTHON]
cd "$(dirname "$0")/../.." || exit
python=${1:-.venv/bin/python}
status=0

# show TEXT STATUS [VARIABLE=VALUE] ARGUMENT...: print the text and the command, and run it.
show() {
  printf '\n%s\n' "$1"
  expected=$2
  shift 2
  variable=
  case $1 in *=*) variable=$1 && shift ;; esac
  echo "\$ ${variable:+$variable }python $*"
  env ${variable:+"$variable"} "$python" "$@" 2>&1
  [ $? -eq "$expected" ] || status=1
}

show "demo.py defines a flag, and its plugin in C defines two more. One command line sets them all:" 0 \
  examples/demo/demo.py --level=9 --port=99
show "All mistakes are reported together, and nothing is set:" 2 \
  examples/demo/demo.py --level=12 --prot=99
show "Each flag knows where its value came from, and what that value replaced:" 0 \
  DEMO_level=3 -m paddle_flags run --explain level examples/demo/demo.py --level=9

cat <<'END'

What to try next:
  . .venv/bin/activate && python examples/demo/demo.py --help
  make live               see and change the flags of a running program
  ls examples/demo        the two files of this demo, 30 lines in all
  docs/tutorial.md        write a plugin and a program of your own
END
exit $status
