# Tab completion for programs that use paddle_flags. Add to ~/.bashrc:
#   eval "$(paddle-flags completion bash PROGRAM...)"
declare -ga _paddle_flags_programs
declare -gA _paddle_flags_others # functions that completed a command before

# Set `count` to the number of words of the longest program that begins the line, or 0.
_paddle_flags_match() {
  local program i word
  local -a parts
  count=0
  for program in "${_paddle_flags_programs[@]}"; do
    read -r -a parts <<<"$program"
    for i in "${!parts[@]}"; do
      word=${COMP_WORDS[i]-}
      [[ ${word##*/} == "${parts[i]##*/}" ]] || continue 2
    done
    ((COMP_CWORD < ${#parts[@]} || ${#parts[@]} < count)) || count=${#parts[@]}
  done
}

_paddle_flags_complete() {
  local IFS=$' \t\n' count kind other=${_paddle_flags_others[${1##*/}]-}
  COMPREPLY=()
  _paddle_flags_match
  if ((count == 0)); then
    if [[ $other ]]; then "$other" "$@"; else compopt -o bashdefault -o default; fi
    return
  fi
  local -a command=("${COMP_WORDS[@]:0:count}")
  command[0]=${command[0]/#\~\//$HOME/}
  mapfile -t COMPREPLY < <(
    _PD_FLAGS_COMPLETE="bash $count ${#2} ${COMP_LINE:0:COMP_POINT}" \
      command env "${command[@]}" 8>&1 >/dev/null 2>&1 </dev/null
  )
  kind=${COMPREPLY[0]-}
  COMPREPLY=("${COMPREPLY[@]:1}")
  case $kind in
    open) compopt -o nospace ;;
    files) # left to readline, unless it takes --name= for part of the path
      if [[ $2 != -*=* ]]; then
        compopt -o default
      else
        mapfile -t COMPREPLY < <(compgen -P "${2%%=*}=" -f -- "${2#*=}")
        compopt -o filenames
      fi
      ;;
  esac
}

_paddle_flags_register() {
  local name=${1%% *} spec
  name=${name##*/}
  if [[ $1 == *' '* && ! ${_paddle_flags_loading-} ]] && declare -F _completion_loader >/dev/null; then
    local _paddle_flags_loading=1 # which may lead back here
    _completion_loader "$name"
  fi
  spec=$(complete -p -- "$name" 2>/dev/null)
  if [[ $spec =~ ' -F '([^ ]+) && ${BASH_REMATCH[1]} != _paddle_flags_complete ]]; then
    _paddle_flags_others[$name]=${BASH_REMATCH[1]}
  fi
  _paddle_flags_programs+=("$1")
  complete -F _paddle_flags_complete -- "$name"
}

