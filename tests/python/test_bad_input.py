"""Input of any size and kind: a clear error or the right result, in bounded memory.

Each runs in a process of its own whose memory has a limit; one that waits for ever, or needs
time that grows with a product of sizes, doesn't come to its end.
"""

import ctypes
import os
import random
import socket
import tempfile
from pathlib import Path

import pytest
from support import ROOT, SANITIZE, WINDOWS, build_program, make_fifo, run

UNTOUCHED = ["count=0", "text=", "on=false"]
MIB = 1 << 20


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bad_input") / "program"
    return build_program(out, ROOT / "tests" / "c" / "bad_input.c")


def said(program: Path, *words: object, memory: int = 64, **options: object) -> list[str]:
    """Give the lines that the program prints, in so many MiB of address space."""

    def limit() -> None:
        import resource

        if not SANITIZE:  # which reserves all the addresses there are
            resource.setrlimit(resource.RLIMIT_AS, (memory * MIB, memory * MIB))

    limited = {} if WINDOWS else {"preexec_fn": limit}  # where each process may have all
    ended = run(program, *words, **limited, errors="replace", **options)
    return ended.stdout.splitlines()


def refuses(program: Path, message: str, *words: object, **options: object) -> None:
    first, *_, count, text, on = said(program, *words, **options)
    assert first == message
    assert [count, text, on] == UNTOUCHED


def flagfile(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return f"--flagfile={path.name}"


def test_a_flagfile_of_100_mb_is_refused_by_its_size(program, tmp_path):
    with (tmp_path / "big").open("wb") as file:
        file.truncate(100_000_000)
    message = "PD_ERR_FILE: --flagfile=big: is too big, files may have 64 MiB together"
    refuses(program, message, "words", "--count=1", "--flagfile=big", cwd=tmp_path)


def test_many_files_are_refused_by_their_size_together(program, tmp_path):
    flagfile(tmp_path / "part", b"# comment\n" * (MIB // 10 * 7))
    message = "PD_ERR_FILE: --flagfile=part: is too big, files may have 64 MiB together"
    words = ["words", "--count=1", "--flagfile=" + ",".join(["part"] * 10)]
    refuses(program, message, *words, memory=160, cwd=tmp_path)


@pytest.mark.extended  # takes a second or more
def test_a_value_of_64_mb_arrives_whole(program, tmp_path):
    assert said(program, "long", 64_000_000, memory=256)[2] == "text: 64000000 bytes"
    word = flagfile(tmp_path / "long", b"--text=" + b"x" * 64_000_000)
    assert said(program, "words", word, memory=256, cwd=tmp_path)[2] == "text: 64000000 bytes"


def test_a_million_arguments_and_flags_are_read(program):
    assert said(program, "many", 0, 1_000_000, "word", memory=96)[0] == "1000000 arguments"
    lines = said(program, "many", 0, 1_000_000, "--count=5", "--on", "--text=a", memory=512)
    assert lines == ["0 arguments", "count=5", "text=a", "on=true"]


def test_a_million_wrong_words_give_a_hundred_errors_and_their_number(program):
    words = ["--none", "--count=x", "--count=1", "--nocount"]
    first, second, *values = said(program, "many", 5000, 1_000_000, *words, memory=384)
    assert first == "PD_ERR_UNDEFINED: --none: no such flag"
    assert second == "101 errors, then: 749900 more errors are not shown"
    assert values == UNTOUCHED


def test_a_hundred_thousand_names_excuse_a_hundred_thousand_others(program, tmp_path):
    names = [f"name_{i}" for i in range(100_000)]
    content = "".join(f"--undefok={name}\n--no-{name}\n" for name in names)
    word = flagfile(tmp_path / "names", content.encode())
    lines = said(program, "words", word, "--count=5", memory=96, cwd=tmp_path)
    assert lines == ["0 arguments", "count=5", "text=", "on=false"]


@pytest.mark.extended  # takes a second or more
def test_a_million_values_that_wait_for_few_or_many_flags_are_bounded(program, tmp_path):
    words = ["many", 0, 1_000_000, "--later=1", "--nolater", "--later"]
    lines = said(program, "waiting", *words, memory=256)
    assert lines[0] == "0 arguments"
    assert lines[2].startswith("32 errors, then: ")  # of 16 values for each of two names
    names = "".join(f"--later_{i}=1\n" for i in range(100_000))
    word = flagfile(tmp_path / "names", names.encode())
    first, second, third, *values = said(
        program, "waiting", "words", word, memory=192, cwd=tmp_path
    )
    assert first == "0 arguments"
    assert second == "PD_ERR_UNDEFINED: names:1: --later_0: the flag is not defined"
    assert third == (
        "101 errors, then: 99900 more values are pending for flags that are not defined"
    )
    assert values == UNTOUCHED


@pytest.mark.extended  # takes a second or more
def test_a_flagfile_gives_a_million_values_and_not_one_more(program, tmp_path):
    word = flagfile(tmp_path / "many", b"--on\n" * 1_000_000)
    assert said(program, "words", word, memory=384, cwd=tmp_path)[3] == "on=true"
    word = flagfile(tmp_path / "more", b"--on\n" * 1_000_001)
    message = "PD_ERR_FILE: more:1000001: --on: files and variables give more than 1000000 values"
    refuses(program, message, "words", word, memory=384, cwd=tmp_path)


def test_files_that_include_each_other_many_times_come_to_an_end(program, tmp_path):
    for name, other in ("ab", "ba"):
        flagfile(tmp_path / name, f"--flagfile={other},{other},{other}\n".encode() * 9)
    message = "PD_ERR_DEPTH: b:1: --flagfile=a: includes itself"
    refuses(program, message, "words", "--count=1", "--flagfile=a", cwd=tmp_path)


def test_files_that_include_the_next_one_many_times_come_to_an_end(program, tmp_path):
    for i in range(10):
        flagfile(tmp_path / f"f{i}", f"--flagfile=f{i + 1}\n".encode() * 9)
    flagfile(tmp_path / "f10", b"--on\n")
    message = "PD_ERR_DEPTH: f8:9: --flagfile=f9: more than 1000 flagfiles"
    refuses(program, message, "words", "--flagfile=f0", cwd=tmp_path)


def test_variables_that_name_each_other_many_times_come_to_an_end(program):
    many = ",".join(["fromenv", "tryfromenv"] * 50)
    variables = {**os.environ, "FLAGS_fromenv": many, "FLAGS_tryfromenv": many}
    message = "PD_ERR_DEPTH: environment: FLAGS_fromenv: "
    message += "nested more than 16 files and variables deep, perhaps in a circle"
    refuses(program, message, "words", "--fromenv=fromenv", env=variables)


def test_what_is_no_file_is_refused_without_waiting(program, tmp_path):
    make_fifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    reasons = {
        "pipe": "is a FIFO, expected a regular file",
        ".": "is a directory, expected a regular file",
        "socket": "is a device or a socket, expected a regular file",
        "/dev/zero": "is a device or a socket, expected a regular file",
        "/dev/tty": "is a device or a socket, expected a regular file",
        "/proc/self/mounts": "is a stream, expected a regular file",
        "loop": "Too many levels of symbolic links",
        "none": "no such file",
    }
    for path, reason in reasons.items():
        message = f"PD_ERR_FILE: --flagfile={path}: {reason}"
        refuses(program, message, "words", "--count=1", f"--flagfile={path}", cwd=tmp_path)
    long = "--flagfile=" + "d/" * 5000
    assert said(program, "words", long)[0].endswith("d/d/...: File name too long")


@pytest.mark.skipif(WINDOWS, reason="modes of files are missing on Windows")
def test_a_file_that_may_not_be_read_is_refused_with_the_reason(program):
    with tempfile.NamedTemporaryFile() as file:  # tmp_path is for its owner alone
        os.chmod(file.name, 0)
        message = f"PD_ERR_FILE: --flagfile={file.name}: Permission denied"
        refuses(program, message, "unprivileged", "words", f"--flagfile={file.name}")


def test_a_file_that_does_not_know_its_size_is_read(program):
    lines = said(program, "words", "--flagfile=/proc/self/comm")
    assert lines == ["0 arguments", *UNTOUCHED]  # a pattern that no program is like


@pytest.mark.skipif(WINDOWS, reason="/proc/kmsg is missing on Windows")
def test_messages_of_the_kernel_are_left_to_their_reader(program):
    size_unread = 9
    klogctl = ctypes.CDLL(None, use_errno=True).klogctl
    before = klogctl(size_unread, None, 0)  # -1: this process may not read them
    line = said(program, "words", "--flagfile=/proc/kmsg")[0]
    refusals = ["is a stream, expected a regular file"]
    refusals += ["Permission denied", "Operation not permitted", "no such file"]  # in containers
    assert line in [f"PD_ERR_FILE: --flagfile=/proc/kmsg: {refusal}" for refusal in refusals]
    assert klogctl(size_unread, None, 0) >= before


def test_text_that_is_no_utf_8_stays_as_it_is(program, tmp_path):
    word = flagfile(tmp_path / "latin", b"--text=caf\xe9\xff\n")
    ended = run(program, "words", word, cwd=tmp_path, encoding="latin-1")
    assert ended.stdout.splitlines()[2] == "text=caf\xe9\xff"


@pytest.mark.release  # random input
def test_binary_garbage_is_an_error_or_changes_what_it_says(program, tmp_path):
    chance = random.Random(7)
    pieces = [b"\n", b"--", b"-", b"=", b"count", b"text", b"on", b"no", b"$'", b"'", b"\\", b"#"]
    pieces += [b"\r", b" ", b"\xff", b"\xc3", b"*", b"[", b"5", b"flagfile", b"undefok", b","]
    wrong = 0
    for round_ in range(200):
        data = chance.randbytes(chance.randrange(300))
        if round_ % 2:
            data = b"".join(chance.choices(pieces, k=chance.randrange(60)))
        word = flagfile(tmp_path / "garbage", data)
        first, *rest = said(program, "words", "--count=1", "--text=before", word, cwd=tmp_path)
        if first.startswith("PD_"):
            wrong += 1
            assert rest[-3:] == UNTOUCHED
        else:
            assert first == "0 arguments"
    assert wrong > 50


def test_a_nul_byte_anywhere_is_an_error_with_its_line(program, tmp_path):
    word = flagfile(tmp_path / "zero", b"--count=5\n\n--text=\0\n")
    message = "PD_ERR_FILE: zero:3: holds a NUL byte, expected text"
    refuses(program, message, "words", word, cwd=tmp_path)
