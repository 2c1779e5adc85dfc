"""Programs whose flags are read from outside, for the tests of that."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from support import LIBDIR, build, build_program, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Flags of all kinds, with all that may hide a value. The program prints its own report, then
# waits. Everything that `main` does to a flag is in the report.
PROGRAM = r"""
#include <pd_flags.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
PD_DEFINE_bool(a_bool, true, "A bool", .category = "Switches");
PD_DEFINE_int32(an_int32, -6, "From -9 to 9", .min = -9, .max = 9, .aliases = "i|j");
PD_DEFINE_uint32(a_uint32, 4000000000u, "Big", .unit = "bytes");
PD_DEFINE_int64(an_int64, INT64_MIN, "Small", .min = INT64_MIN, .max = 5);
PD_DEFINE_uint64(a_uint64, UINT64_MAX, "Biggest", .experimental = true);
PD_DEFINE_double(a_double, 0.1, "A double", .min = -1e300);
PD_DEFINE_double(an_infinity, -INFINITY, "No double in JSON");
PD_DEFINE_string(a_string, "caf\303\251 \"x\"\n\377", "h\303\251lp");
PD_DEFINE_string(a_choice, "fast", "Mode", .choices = "fast|best", .metavar = "MODE");
PD_DEFINE_string(a_list, "1,0x2,-3", "Numbers", .list = PD_TYPE_int32, .multi = true);
PD_DEFINE_string(a_text_list, "a,\"b,\"\"c\"\"\",", "Texts", .list = PD_TYPE_string);
PD_DEFINE_string(a_double_list, "1,nan,-inf,5e-324,0x1p3", "", .list = PD_TYPE_double);
PD_DEFINE_string(a_bool_list, "1,no,TRUE", "", .list = PD_TYPE_bool);
PD_DEFINE_string(no_items, "", "No items", .list = PD_TYPE_bool);
PD_DEFINE_int32(unset, 1, "No value", .optional = true);
PD_DEFINE_string(set_again, "", "A value", .optional = true);
PD_DEFINE_double(half_set, 0.5, "Reset in an override", .optional = true);
PD_DEFINE_string(secret, "default-secret", "Hidden", .sensitive = true);
PD_DEFINE_string(secret_choice, "x", "Hidden", .sensitive = true, .choices = "x|y");
PD_DEFINE_int32(secret_number, 123454321, "Hidden", .sensitive = true, .min = 7);
PD_DEFINE_int32(overridden, 1, "Overridden twice");
PD_DEFINE_string(often, "0", "Set often");
PD_DEFINE_int32(new_default, 1, "Has another default");
PD_DEFINE_bool(frozen, false, "Frozen");
PD_DEFINE_bool(at_startup, false, "Startup only", .startup_only = true);
PD_DEFINE_bool(out_of_sight, false, "Hidden from help", .hidden = true);
PD_DEFINE_int32(constant, 3, "Read-only", .read_only = true);
PD_DEFINE_int32(old, 3, "Old", .deprecated = "use new", .old_names = "older");
PD_DEFINE_int32(gone, 3, "Gone", .retired = "nothing uses it");
PD_DEFINE_SCOPED_int32(scoped, 3, "By thread");
PD_DEFINE_int32(changeable, 3, "By clients", .runtime = true);
PD_DEFINE_int32(risky, 3, "By clients", .unsafe = true);
PD_DEFINE_int32(from_argv, 0, "");
PD_DEFINE_int32(from_environment, 0, NULL);
PD_DEFINE_int32(from_file, 0, "");

#define TRY(call) \
  if ((call) != PD_OK) return printf("%s\n", err.message), 1

static void print(const char *text, size_t length, void *file) { fwrite(text, 1, length, file); }

static pd_status set(const char *name, const char *text, pd_error *err) {
  pd_flag *flag = NULL;
  pd_status status = pd_flag_find(name, &flag, err);
  return status == PD_OK ? pd_flag_set_from_string(flag, text, err) : status;
}

static pd_status override(const char *name, const char *text, pd_error *err) {
  pd_assignment one = {.text = text};
  pd_origin origin = {PD_SOURCE_RUNTIME, 7, "over.c", 3};
  pd_override number;
  pd_status status = pd_flag_find(name, &one.flag, err);
  return status == PD_OK ? pd_override_push(&one, 1, &origin, NULL, &number, err) : status;
}

static pd_status assign(const char *name, const char *text, uint32_t line, pd_error *err) {
  pd_assignment one = {.text = text};
  pd_origin origin = {PD_SOURCE_RUNTIME, line, "loop.c", 0};
  pd_status status = pd_flag_find(name, &one.flag, err);
  return status == PD_OK ? pd_batch_set(&one, 1, &origin, NULL, err) : status;
}

int main(int argc, char **argv) {
  pd_error err;
  pd_parse_options parsing = {.size = sizeof parsing, .env_prefix = "FLAGS_"};
  TRY(pd_parse_argv(&argc, argv, &parsing, &err));
  TRY(set("set_again", "once", &err));
  TRY(set("secret", "given-secret", &err));
  TRY(set("secret_number", "987656789", &err));
  TRY(set("a_double", "1e-7", &err));
  TRY(set("half_set", "2", &err));
  TRY(override("overridden", "2", &err));
  TRY(override("overridden", "3", &err));
  TRY(set("overridden", "4", &err));
  TRY(override("secret", "overriding-secret", &err));
  for (uint32_t i = 1; i < 20; i++) {
    char text[8];
    snprintf(text, sizeof text, "%u", i);
    TRY(assign("often", text, i, &err));
  }
  pd_flag *flag = NULL;
  TRY(pd_flag_find("new_default", &flag, &err));
  TRY(pd_flag_set_default(flag, "2", &err));
  TRY(pd_flag_find("frozen", &flag, &err));
  TRY(pd_flag_freeze(flag, &err));
  pd_help help = {.size = sizeof help, .kind = PD_HELP_FULL};
  pd_report_options options = {.size = sizeof options, .help = &help};
  TRY(pd_report_json(&options, print, stdout, &err));
  printf("END\n");
  fflush(stdout);
  return getchar() == 'x';
}
"""
ARGUMENTS = ("--from_argv=5", "--noa_bool", "--at_startup")
ENVIRONMENT = {"FLAGS_from_environment": "6"}
STATIC = (f"{LIBDIR}/libpd_flags.a", "-ldl", "-pthread", "-lm")
SECRETS = ("secret", "123454321", "987656789")


class Running(NamedTuple):
    """A program that waits, and what it printed about itself."""

    process: subprocess.Popen[str]
    report: str

    @property
    def pid(self) -> int:
        return self.process.pid

    def flags(self) -> dict[str, Any]:
        """Return the flags of its own report, by name."""
        return {flag["name"]: flag for flag in json.loads(self.report)["flags"]}


@contextmanager
def started(*command: object, end: str = "END", **options: Any) -> Iterator[Running]:
    """Run a program until it has printed a line, and end it afterwards."""
    pipe = subprocess.PIPE
    words = [str(word) for word in command]
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, **options)
    assert process.stdout
    lines: list[str] = []
    try:
        for line in iter(process.stdout.readline, f"{end}\n"):
            assert line, f"it ended: {''.join(lines)}"
            lines.append(line)
        yield Running(process, "".join(lines))
    finally:
        process.kill()
        process.communicate()


def build_report(place: Path, *flags: str, text: str = PROGRAM) -> Path:
    """Build the program; without flags, it links libpd_flags."""
    source = write(place / "program.c", text)
    if not flags:
        return build_program(place / "program", source)
    return build(place / "program", source, flags=flags)


@contextmanager
def reporting(program: Path, **variables: str) -> Iterator[Running]:
    """Run the program with values from the command line, a file and the environment."""
    file = write(program.parent / "values.conf", "--from_file=7\n")
    words = (*ARGUMENTS, f"--flagfile={file}")
    with started(program, *words, env={**os.environ, **ENVIRONMENT, **variables}) as running:
        yield running
