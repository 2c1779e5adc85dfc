#!/bin/sh
# Print TEXT and run a command: step.sh TEXT COMMAND [ARGUMENT ...]
#
# Prints a dot every two seconds, and the duration at the end. Shows the command's output only if it
# fails.
text=$1
shift
log=$(mktemp) || exit
printf '%s .' "$text"
while sleep 2 >/dev/null 2>&1; do printf .; done &
ticker=$!
trap 'kill $ticker 2>/dev/null; rm -f "$log"' EXIT
trap 'exit 130' INT TERM
begin=$(date +%s)

"$@" >"$log" 2>&1
status=$?

if [ $status -eq 0 ]; then
  echo " $(($(date +%s) - begin)) s"
else
  printf ' failed:\n' && cat "$log"
fi
exit $status
