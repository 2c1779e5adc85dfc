"""Completion in shells: a program is asked what the word at the cursor could become.

The shell starts the program, without arguments, with the variable
_PD_FLAGS_COMPLETE in its environment:

    <shell> <words of the program> <length of what bash replaces> <line up to the cursor>

`parse` answers on descriptor 8 instead of reading anything, and ends the program.
What the program itself prints goes nowhere.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from paddle_flags._native import ffi, lib
from paddle_flags._registry import FLAGS
from paddle_flags._status import check, new_error, to_text
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

VARIABLE = "_PD_FLAGS_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

_DESCRIPTOR = 8  # in the scripts too
_ABOUT_MAX = 80  # letters of a description


class Candidate(NamedTuple):
    """What a word, behind the part that stays, could become."""

    text: str
    about: str = ""


class Answer(NamedTuple):
    """The candidates for a word, or that it is completed as the name of a file."""

    candidates: tuple[Candidate, ...] = ()
    files: bool = False
    kept: str = ""  # the part of the word that stays, as in --name=
    typed: str = ""  # the part behind it, of which candidates are made


class _Values(NamedTuple):
    """What can be the value of a flag."""

    choices: tuple[Candidate, ...] = ()
    is_list: bool = False
    files: bool = False
    needs_equals: bool = False  # never in the next word


NOTHING = Answer()


# ---- the line ----


class Request(NamedTuple):
    """What a shell asks."""

    shell: str
    words: list[str]
    """Those between the program and the cursor's."""
    word: str
    """What stands of the cursor's."""
    fixed: str
    """The part of it that bash doesn't replace."""
    quote: str
    """The quote that is open there."""

    def reply(self, answer: Answer) -> NoReturn:
        """Give the answer, and end the program."""
        lines = _RENDER[self.shell](self, answer)
        text = "".join(line + "\n" for line in lines)
        with suppress(OSError):
            os.write(_DESCRIPTOR, text.encode("utf-8", "surrogateescape"))
        sys.exit(0)


def read_request() -> Request | None:
    """Give what a shell asks, or None. What can't be understood ends the program."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    parts = re.fullmatch(r"(bash|zsh|fish) (\d+) (\d+) (.*)", text, re.DOTALL)
    if not parts:
        sys.exit(0)
    shell, count, replaced, line = parts.groups()
    words, _ = _split(line)
    fixed, quote = _split(line[: len(line) - int(replaced)])
    return Request(shell, words[int(count) : -1], words[-1], fixed[-1], quote)


def _split(line: str) -> tuple[list[str], str]:
    """Split as a shell does; also gives the quote that is still open, or `""`.

    The last word is the one that ends at the end of the line, empty behind a blank.
    """
    for quote in ("", "'"):
        with suppress(ValueError):
            words = shlex.split(f"{line}.{quote}")
            return [*words[:-1], words[-1][:-1]], quote
    words = shlex.split(f'{line}."')
    return [*words[:-1], words[-1][:-1]], '"'


# ---- the answer ----


def _quoted(text: str, quote: str) -> str:
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote:
        return re.sub(r'([\\"$`])', r"\\\1", text)
    return re.sub(r"([^\w@%+=:,./^-])", r"\\\1", text)


def _for_bash(request: Request, answer: Answer) -> list[str]:
    if answer.files:
        return ["files"]
    texts = [answer.kept + candidate.text for candidate in answer.candidates]
    kind = "open" if any(_is_open(text) for text in texts) else "words"
    fixed = len(request.fixed)
    return [kind, *(_quoted(text[fixed:], request.quote) for text in texts)]


def _is_open(text: str) -> bool:
    """Tell whether more is to come: no blank behind it."""
    return text.endswith("=")


def _for_zsh(_request: Request, answer: Answer) -> list[str]:
    if answer.files:
        return [f"files {len(answer.kept)}"]
    lines: list[list[str]] = [[], []]
    for text, about in answer.candidates:
        item = re.sub(r"([\\:])", r"\\\1", text)
        lines[_is_open(text)].append(f"{item}:{about}" if about else item)
    closed, going_on = lines
    return [f"words {len(answer.kept)} {len(going_on)}", *going_on, *closed]


def _for_fish(_request: Request, answer: Answer) -> list[str]:
    if answer.files:
        return ["files", answer.kept, answer.typed]
    return ["words", *(f"{answer.kept}{text}\t{about}" for text, about in answer.candidates)]


_RENDER = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}


def match(candidates: Iterable[Candidate], word: str) -> Answer:
    """Give those that begin with the word."""
    return _behind("", word, candidates)


def _behind(kept: str, typed: str, candidates: Iterable[Candidate]) -> Answer:
    # A line holds one, so one with a newline in it can't be offered.
    fit = {
        each.text: each
        for each in reversed(list(candidates))
        if each.text.startswith(typed) and each.text.isprintable()
    }
    return Answer(tuple(reversed(list(fit.values()))), kept=kept, typed=typed)


def files(word: str, kept: str = "") -> Answer:
    """Let the shell offer its files."""
    return Answer(files=True, kept=kept, typed=word)


def describe(text: str) -> str:
    """Give the first line of a help text as a description."""
    line = text.strip().partition("\n")[0]
    shown = "".join(letter if letter.isprintable() else " " for letter in line)
    return shown if len(shown) <= _ABOUT_MAX else shown[: _ABOUT_MAX - 1] + "…"


# ---- flags ----


def answer_shell(*, stop_at_argument: bool) -> None:
    """Do what a shell asks of `parse`, if one does."""
    request = read_request()
    if request:
        words, word = request.words, request.word
        request.reply(complete_flags(words, word, stop_at_argument=stop_at_argument))


def complete_flags(
    words: Sequence[str],
    word: str,
    *,
    stop_at_argument: bool = False,
    arguments: Answer | None = None,
) -> Answer:
    """Complete a word of a command line that `parse` reads.

    `arguments` is the answer where a word isn't part of a flag; by default, files.
    """
    others = files(word) if arguments is None else arguments
    if "--" in words or (stop_at_argument and argument_at(words) < len(words)):
        return others
    values = _awaited(words[-1]) if words else None
    name, equals, typed = word.partition("=")
    if values and not word.startswith("-"):
        return _complete_value(values, "", word)
    if not word.startswith("-"):
        return others
    if equals:
        return _complete_value(_values_of(name), name + equals, typed)
    return _complete_name(word)


def argument_at(words: Sequence[str]) -> int:
    """Give the index of the first word that is part of no flag, or of the end."""
    values: _Values | None = None
    for at, each in enumerate(words):
        is_value = values is not None
        values = _awaited(each)
        if each == "--" or not (is_value or _is_flag(each)):
            return at
    return len(words)


def _is_flag(word: str) -> bool:
    return re.match("-[^0-9.]", word) is not None


def _awaited(word: str) -> _Values | None:
    """Give what the next word can be, if it is the value of the flag in this one."""
    if not _is_flag(word):
        return None
    values = _values_of(word)
    return None if "=" in word or values.needs_equals else values


def _values_of(word: str) -> _Values:
    """Give what can be the value of --name."""
    name = word[2:] if word.startswith("--") else word[1:]
    with suppress(FlagError):
        return _values_of_flag(_info_of(FLAGS[name].handle))
    own, _ = _OWN.get(name.replace("-", "_"), (_NO_VALUE, ""))
    return own._replace(choices=flag_names()) if own is _FLAGS else own


def _values_of_flag(info: Any) -> _Values:
    if info.type == lib.PD_TYPE_bool:
        return _Values(choices=(Candidate("true"), Candidate("false")), needs_equals=True)
    text = to_text(info.choices)
    choices = tuple(Candidate(choice) for choice in text.split("|")) if text else ()
    plain = info.type == lib.PD_TYPE_string and not info.sensitive
    is_list = bool(info.list)
    return _Values(choices, is_list, files=plain and not choices and not is_list)


def _complete_value(values: _Values, kept: str, typed: str) -> Answer:
    if values.files:
        return files(typed, kept)
    if not values.is_list:
        return _behind(kept, typed, values.choices)
    given, comma, item = typed.rpartition(",")
    used = given.split(",")
    left = [each for each in values.choices if each.text not in used]
    return _behind(kept + given + comma, item, left)


def _complete_name(word: str) -> Answer:
    dashes = "-" if re.match("-[^-]", word) else "--"
    typed = word[len(dashes) :]
    found = [
        Candidate(dashes + text, about)
        for info in _offered()
        for text, about in _names_of_flag(info, typed)
    ]
    for name, (values, what) in _OWN.items():
        end = "" if values.needs_equals else "="
        found += [Candidate(dashes + text + end, what) for text in _fitting([name], typed)]
    return match(found, "" if word == "-" else word)


def _offered() -> Iterator[Any]:
    """Give the pd_flag_info of each flag that should be used."""
    for flag in FLAGS.values():
        with suppress(FlagError):  # it may leave, on another thread
            info = _info_of(flag.handle)
            gone = to_text(info.deprecated) or to_text(info.retired)
            if not (gone or info.hidden or info.read_only):
                yield info


def flag_names() -> tuple[Candidate, ...]:
    """Give the flags that should be used."""
    return tuple(Candidate(to_text(each.name), describe(to_text(each.help))) for each in _offered())


def _names_of_flag(info: Any, typed: str) -> list[Candidate]:
    """Give the names of a flag that begin with what was typed: an alias if no other does."""
    names = [to_text(info.name), *filter(None, to_text(info.aliases).split("|"))]
    what = describe(to_text(info.help))
    found = _fitting(names, typed)
    if info.type != lib.PD_TYPE_bool:
        return [Candidate(name + "=", what) for name in found]
    if typed.startswith("no"):
        found += _fitting([no + name for name in names for no in ("no", "no_")], typed)
    return [Candidate(name, what) for name in found]


def _fitting(names: Iterable[str], typed: str) -> list[str]:
    """Give the first name that begins with what was typed."""
    spelled = (_spell(name, typed) for name in names)
    return [name for name in spelled if name is not None][:1]


def _spell(name: str, typed: str) -> str | None:
    """Give the name as it was begun, with its dashes, or None where it begins otherwise."""
    if not name.replace("-", "_").startswith(typed.replace("-", "_")):
        return None
    rest = name[len(typed) :]
    return typed + (rest.replace("_", "-") if "-" in typed and "_" not in typed else rest)


def _info_of(handle: Any) -> Any:
    info = ffi.new("pd_flag_info *", {"size": ffi.sizeof("pd_flag_info")})
    err = new_error()
    check(lib.pd_flag_get_info(handle, info, err), err)
    return info


# ---- what every command line knows ----

_NO_VALUE = _Values(needs_equals=True)
_TEXT = _Values()
_FLAGS = _Values(is_list=True)

_OWN = {
    "flagfile": (_Values(files=True), "read flags from a file"),
    "fromenv": (_FLAGS, "take these flags from the environment"),
    "help": (_NO_VALUE, "show the flags"),
    "helpfull": (_NO_VALUE, "show all flags, hidden ones too"),
    "helpmatch": (_TEXT, "show the flags of source files with this in their path"),
    "helpon": (_TEXT, "show the flags of the source file of this name"),
    "helppackage": (_NO_VALUE, "show the flags of the program's directory"),
    "helpshort": (_NO_VALUE, "show the flags of the program itself"),
    "helpxml": (_NO_VALUE, "show all flags as XML"),
    "tryfromenv": (_FLAGS, "take these flags from the environment if they are there"),
    "undefok": (_TEXT, "allow these names to be unknown"),
    "version": (_NO_VALUE, "show the version"),
}


# ---- scripts ----


def script(shell: str, programs: Sequence[str]) -> str:
    """Give the text that makes a shell complete the lines of programs."""
    file = os.path.join(os.path.dirname(__file__), f"_completion.{shell}")
    with open(file, encoding="utf-8") as source:
        text = source.read()
    quote = _quote_fish if shell == "fish" else shlex.quote
    call = "__paddle_flags_register" if shell == "fish" else "_paddle_flags_register"
    for program in programs:
        text += f"{call} {quote(' '.join(program.split()))}\n"
    return _autoloaded(text, programs) if shell == "zsh" else text


def _autoloaded(text: str, programs: Sequence[str]) -> str:
    """Let the text also be a file of zsh's $fpath, which is run on the first Tab."""
    names = dict.fromkeys(os.path.basename(program.split()[0]) for program in programs)
    call = '[[ $zsh_eval_context[-1] != loadautofunc ]] || _paddle_flags_complete "$@"'
    return f"#compdef {' '.join(names)}\n{text}{call}\n"


def _quote_fish(text: str) -> str:
    return "'" + re.sub(r"([\\'])", r"\\\1", text) + "'"


def own_programs() -> list[str]:
    """Give the ways to start `python -m paddle_flags`."""
    names = dict.fromkeys(["python", "python3", os.path.basename(sys.executable)])
    return [f"{name} -m paddle_flags" for name in names if name]
