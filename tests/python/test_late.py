"""Definitions that a module makes while it runs: they are its own as those of PD_DEFINE are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from joining import REGISTRY, Maker, environment, obey, python

if TYPE_CHECKING:
    from pathlib import Path

# Flags that constructors define, beside one that the compiler does; and one for later.
LATE = """
#include <pd_flags.h>
#include <pd_flags/late.h>
#include <stdlib.h>
#define EXPORT __attribute__((visibility("default")))
#define START __attribute__((constructor))
PD_DEFINE_int32(early_NAME, 1, "Known to the compiler");
struct flag { int32_t value; pd_flag_def def; pd_late_def late; };
static struct flag one, two, three;
static pd_error error;
EXPORT int NAME_add(void);
EXPORT int NAME_heap(void);
EXPORT int NAME_sum(void);
EXPORT int NAME_handles(void);
EXPORT const char *NAME_said(void);
static pd_status define(struct flag *it, const char *name, uint32_t line) {
  it->value = 5;
  it->def.size = sizeof it->def;
  it->def.line = line;
  it->def.type = PD_TYPE_int32;
  it->def.name = name;
  it->def.help = "Late";
  it->def.file = "late.c";
  it->def.cell = &it->value;
  it->def.default_value.i64 = 5;
  it->def.min.i64 = 0;
  it->def.max.i64 = 9;
  it->late.size = sizeof it->late;
  it->late.def = &it->def;
  error.message[0] = 0;
  return pd_late_define(&it->late, &error);
}
START static void second(void) { define(&two, "late_two_OTHER", 2); }
START static void first(void) { define(&one, "late_one_NAME", 1); }
int NAME_add(void) { return (int)define(&three, "late_three_NAME", 3); }
int NAME_heap(void) {
  struct flag *it = calloc(1, sizeof *it);
  int status = it ? (int)define(it, "late_heap", 4) : 0;
  free(it);
  return status;
}
static int read(struct flag *it) { return __atomic_load_n(&it->value, __ATOMIC_RELAXED); }
int NAME_sum(void) { return 100 * read(&one) + 10 * read(&two) + read(&three); }
int NAME_handles(void) { return !!one.late.flag + !!two.late.flag + !!three.late.flag; }
const char *NAME_said(void) {
  return pd_late_check(&two.late, &error) == PD_OK ? "fine" : error.message;
}
"""


@pytest.fixture(scope="module")
def alpha(maker: Maker) -> Path:
    return maker.plugin("alpha", LATE.replace("NAME", "alpha").replace("OTHER", "alpha"))


@pytest.fixture(scope="module")
def clash(maker: Maker) -> Path:
    """Build a plugin of which one late flag has the name of one of alpha's, on another line."""
    text = (
        LATE.replace("NAME", "clash").replace("OTHER", "alpha").replace('_alpha", 2', '_alpha", 7')
    )
    return maker.plugin("clash", text.replace('"Late"', '"Another meaning"'))


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_late_flags_join_with_their_module_whoever_comes_first(host, alpha, first):
    steps = [("registry", REGISTRY), ("open local", alpha)]
    steps.sort(reverse=first == "registry")
    lines = obey(host, *steps[0], *steps[1],
                 "set late_one_alpha 7 set late_two_alpha 8 get early_alpha",
                 "call", alpha, "alpha_sum", "call", alpha, "alpha_handles",
                 "call", alpha, "alpha_add", "set late_three_alpha 9",
                 "call", alpha, "alpha_sum", "call", alpha, "alpha_handles",
                 "close", alpha, "get late_one_alpha")  # fmt: skip
    assert lines[:6] == ["ok", "ok", "ok", "ok", "1", "780"]
    assert lines[6:] == ["2", "0", "ok", "789", "3", "ok",
                         "PD_ERR_UNDEFINED: no flag is named 'late_one_alpha'"]  # fmt: skip


def test_late_flags_have_the_namespace_the_order_and_the_end_of_their_plugin(alpha):
    script = """
import sys
import paddle_flags as pf
for _ in range(2):
    plugin = pf.load_plugin(sys.argv[1], namespace="beta")
    print(*plugin.flags, pf.FLAGS["beta.late_one_alpha"].value)
    pf.FLAGS["beta.late_one_alpha"].value = 3
    print(pf.FLAGS["beta.late_two_alpha"].module == plugin, plugin.namespace)
    plugin.unload()
    print("beta.late_one_alpha" in pf.FLAGS)
"""
    names = "beta.early_alpha beta.late_one_alpha beta.late_two_alpha"
    lines = python(script, alpha, env=environment())
    assert [" ".join(sorted(line.split()[:3])) for line in lines[::3]] == [names, names]
    assert [line.split()[3] for line in lines[::3]] == ["5", "3"]
    assert lines[2] == lines[5] == "False"


def test_a_load_is_refused_whole_for_a_late_flag_that_is_refused(host, alpha, clash):
    lines = obey(host, "registry", REGISTRY, "load", alpha, "load", clash, "mapped", clash,
                 "get early_clash get late_one_clash get late_two_alpha",
                 "call", alpha, "alpha_sum")  # fmt: skip
    assert lines[1] == "ok"
    assert lines[2].startswith("PD_ERR_CONFLICT")
    assert "late.c:7" in lines[2]
    assert "late.c:2" in lines[2]
    gone = [f"PD_ERR_UNDEFINED: no flag is named '{n}'" for n in ("early_clash", "late_one_clash")]
    assert lines[-5:] == ["no", *gone, "5", "550"]


def test_outside_of_a_load_a_late_flag_is_refused_alone_and_the_doctor_knows(alpha, clash):
    script = """
import ctypes, sys
import paddle_flags as pf
from paddle_flags._doctor import examine as doctor
alpha, clash = map(ctypes.CDLL, sys.argv[1:])
clash.clash_said.restype = ctypes.c_char_p
print(*sorted(n for n in pf.FLAGS if "clash" in n))
print(clash.clash_said().decode())
print(pf.FLAGS.late_two_alpha, clash.clash_handles(), clash.clash_add(), clash.clash_handles())
print(*[e for m in doctor.examine([])["modules"] for e in m["errors"]])
"""
    lines = python(script, alpha, clash, env=environment())
    assert lines[0] == "early_clash late_one_clash"
    assert "'late_two_alpha'" in lines[1]
    assert "late.c:7" in lines[1]
    assert lines[2] == "5 1 0 2"
    assert "late.c:7" in lines[3]


def test_a_flag_that_is_no_static_object_is_refused_before_anybody_sees_it(host, alpha):
    lines = obey(host, "open local", alpha, "call", alpha, "alpha_heap", "registry", REGISTRY,
                 "call", alpha, "alpha_heap", "get late_heap get late_one_alpha")  # fmt: skip
    assert lines == ["ok", "1", "ok", "1", "PD_ERR_UNDEFINED: no flag is named 'late_heap'", "5"]
