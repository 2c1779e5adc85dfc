"""What compilers make of operations: wrong types are refused, and a call is one load."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from support import write
from test_public_headers import INCLUDE

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = """#include <pd_flags.h>
struct whole { int x; };
typedef struct far *far_pointer;
typedef double *row;
typedef double (*function)(double);
union either { int x; };
static double good(double x, double y) { return x + y; }
static float bad(float x) { return x; }
PD_DEFINE_OP(power, double, (double, double), good, "x to the power of y");
"""
COMPILERS = [("gcc", "c"), ("clang", "c"), ("g++", "cpp"), ("clang++", "cpp")]
WRONG = {
    "an implementation of another type": (
        "PD_IMPL(power, fast, bad);",
        "is of another type than the operation",
    ),
    "a native implementation of another type": (
        'PD_DEFINE_OP(other, double, (double), bad, "Help");',
        "is of another type than the operation",
    ),
    "a fallback of another type": (
        "PD_IMPORT_OP(other, double, (double), bad);",
        "is of another type than the operation",
    ),
    "a call with too few arguments": (
        "double f(void); double f(void) { return PD_CALL(power)(1.0); }",
        "too few arguments",
    ),
    "a struct by value": (
        (
            "static void take(struct whole w) { (void)w; }\n"
            'PD_DEFINE_OP(take, void, (struct whole), take, "Help");'
        ),
        "",
    ),
    **{
        what: (
            (f'void take({what});\nPD_DEFINE_OP(take, void, ({what}), take, "Help");'),
            "",
        )
        for what in (
            "double **",
            "struct whole **",
            "const char *const *",
            "volatile int *",
            "long double *",
            "_Complex double",
            "row *",
            "far_pointer *",
            "function",
            "function *",
            "union either *",
            "volatile struct whole *",
            "double (*)[3]",
        )
    },
    "long double": (
        (
            "static void take(long double w) { (void)w; }\n"
            'PD_DEFINE_OP(take, void, (long double), take, "Help");'
        ),
        "",
    ),
}


def compiled(tmp_path: Path, compiler: str, suffix: str, text: str, *flags: str) -> str:
    """Compile a source: return what the compiler says."""
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    source = write(tmp_path / f"source.{suffix}", text)
    words = [
        compiler,
        "-std=c++11" if suffix == "cpp" else "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wno-unused-function",
        *flags,
    ]
    done = subprocess.run(
        [
            *words,
            f"-I{INCLUDE}",
            *([] if "-S" in flags else ["-c"]),
            str(source),
            "-o",
            str(tmp_path / "out.o"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


@pytest.mark.parametrize(("compiler", "suffix"), COMPILERS)
def test_operations_of_the_right_type_compile_without_warnings(
    tmp_path: Path, compiler: str, suffix: str
) -> None:
    right = BEGIN + "PD_IMPL(power, fast, good, .rank = 1);\nPD_IMPL(power, plain, good);\n"
    assert compiled(tmp_path, compiler, suffix, right) == ""
    takes = "far_pointer, const struct far *, enum how, enum how *, double *__restrict, wchar_t"
    others = f"""#include <wchar.h>
enum how {{ ONE }};
void take({takes});
PD_DEFINE_OP(take, void, ({takes}), take, "Help", .arrays = "f32[n]");
PD_DEFINE_SCOPED_OP(once, void, ({takes}), take, "Help");
"""
    assert compiled(tmp_path, compiler, suffix, BEGIN + others) == ""


@pytest.mark.parametrize(("compiler", "suffix"), COMPILERS)
def test_an_operation_may_have_the_name_of_a_macro(
    tmp_path: Path, compiler: str, suffix: str
) -> None:
    text = (
        "#define power their_power\n" + BEGIN + "PD_IMPL(power, fast, good);\n"
        "double call(void); double call(void) { return PD_CALL(power)(2, 3); }\n"
    )
    assert compiled(tmp_path, compiler, suffix, text) == ""
    assert b"their_power" not in (tmp_path / "out.o").read_bytes()


@pytest.mark.parametrize(("compiler", "suffix"), COMPILERS)
@pytest.mark.parametrize("what", WRONG)
def test_what_is_of_another_type_does_not_compile(
    tmp_path: Path, compiler: str, suffix: str, what: str
) -> None:
    text, expected = WRONG[what]
    # In C99, glibc turns assertions into fields of bits, whose errors say nothing.
    flags = ["-std=c11"] if suffix == "c" else []
    said = compiled(tmp_path, compiler, suffix, BEGIN + text + "\n", *flags)
    assert "error" in said
    assert expected in said


@pytest.mark.parametrize("compiler", ["gcc", "clang", "aarch64-linux-gnu-gcc"])
def test_a_call_is_one_load_and_an_indirect_jump(tmp_path: Path, compiler: str) -> None:
    call = "double f(double x); double f(double x) { return PD_CALL(power)(x, x); }\n"
    said = compiled(tmp_path, compiler, "c", BEGIN + call, "-O2", "-S", "-fPIC")
    assert said == ""
    text = (tmp_path / "out.o").read_text("utf-8")
    body = re.search(r"^f:[^\n]*\n(.*?)\.(?:size\s+f,|seh_endproc)", text, re.DOTALL | re.MULTILINE)
    assert body
    lines = [line.strip() for line in body[1].splitlines()]
    jumps = [line for line in lines if re.match(r"(rex\.W )?jmpq?\s+\*|br\s+x", line)]
    assert len(jumps) == 1
    assert not [line for line in lines if re.match(r"(call|bl)\b", line)]
    assert len([line for line in lines if "pd_op_slot_power" in line]) <= 2
