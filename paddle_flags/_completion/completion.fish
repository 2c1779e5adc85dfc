# Tab completion for programs that use paddle_flags. Add to ~/.config/fish/config.fish:
#   paddle-flags completion fish PROGRAM... | source

# Print the words of the command before the cursor, without VARIABLE=value.
function __paddle_flags_words
    set -l words (commandline -opc)
    while string match -qr '^\w+=' -- $words[1]
        set -e words[1]
    end
    printf '%s\n' $words
end

# Succeed if the line begins with the words of a program.
function __paddle_flags_match
    set -l words (__paddle_flags_words)
    for part in (string split ' ' -- $argv[1])
        set -q words[1]; or return 1
        test (string replace -r '.*/' '' -- $words[1]) = (string replace -r '.*/' '' -- $part)
        or return 1
        set -e words[1]
    end
end

function __paddle_flags_complete
    set -l words (__paddle_flags_words)
    set -l line (string escape --no-quoted -- $words) (commandline -ct)
    set -l command $words[1..$argv[1]]
    set command[1] (string replace -r '^~/' "$HOME/" -- $command[1])
    set -l answer (
        _PD_FLAGS_COMPLETE="fish $argv[1] 0 $line" \
            command env $command 8>&1 >/dev/null 2>&1 </dev/null
    )
    switch "$answer[1]"
        case words
            printf '%s\n' $answer[2..-1]
        case files # as fish completes a command that it does not know
            set -l path (string escape --no-quoted -- $answer[3] | string replace -r '^\\\\~' '~')
            for file in (complete -C "__paddle_flags_no_command $path")
                printf '%s\n' "$answer[2]$file"
            end
    end
end

function __paddle_flags_register
    set -l count (count (string split ' ' -- $argv[1]))
    set -l name (string replace -r ' .*' '' -- $argv[1] | string replace -r '.*/' '')
    complete -c $name -f -n "__paddle_flags_match "(string escape -- $argv[1]) \
        -a "(__paddle_flags_complete $count)"
end

