# Tab completion for programs that use paddle_flags. Add to ~/.zshrc, after compinit:
#   eval "$(paddle-flags completion zsh PROGRAM...)"
typeset -ga _paddle_flags_programs
typeset -gA _paddle_flags_others # functions that completed a command before

# Set `count` to the number of words of the longest program that begins the line, or 0.
_paddle_flags_match() {
  local program
  local -a parts typed
  count=0
  for program in $_paddle_flags_programs; do
    parts=(${=program})
    typed=(${${(Q)words[1,$#parts]}:t})
    parts=(${parts:t})
    if [[ "$typed" == "$parts" ]] &&
      ((CURRENT > $#parts && $#parts > count)); then
      count=$#parts
    fi
  done
}

_paddle_flags_complete() {
  local count other=${_paddle_flags_others[${words[1]:t}]-}
  local -a command answer head open closed
  _paddle_flags_match
  if ((count == 0)); then
    if [[ -n $other ]]; then $=other "$@"; else _files; fi
    return
  fi
  command=(${(Q)words[1,count]})
  command[1]=${command[1]/#\~\//$HOME/}
  answer=("${(@f)$(
    _PD_FLAGS_COMPLETE="zsh $count 0 ${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" \
      command env "${command[@]}" 8>&1 >/dev/null 2>&1 </dev/null
  )}")
  head=(${=answer[1]}) # kind, length of --name=, number of candidates that end with =
  (($#head)) || return 1
  compset -p $head[2]
  if [[ $head[1] == files ]]; then
    _files
    return
  fi
  open=("${(@)answer[2,1 + head[3]]}")
  closed=("${(@)answer[2 + head[3],-1]}")
  _describe -t flags flag closed -- open -S ''
}

_paddle_flags_register() {
  local name=${${1%% *}:t} other
  other=${_comps[$name]-}
  if [[ -n $other && $other != _paddle_flags_complete ]]; then
    _paddle_flags_others[$name]=$other
  fi
  _paddle_flags_programs+=("$1")
  compdef _paddle_flags_complete $name
}

