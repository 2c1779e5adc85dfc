"""examples/fluid in one process: scopes, programs, the executor and its kernels."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from fluid_example import EXAMPLE, MARKS, environment
from support import CXX, INCLUDE, build_plugin, run, tool, write

pytestmark = MARKS


# ---- Scopes and programs ----


def test_a_scope_finds_the_variables_around_it_and_ends_with_its_parent(program):
    told = program("""
        outer = Scope()
        outer["a"], outer["b"] = np.ones((2, 3)), np.zeros((1, 1))
        inner = outer.new_scope()
        inner["b"] = np.full((1, 1), 5.0)
        tell(a=inner["a"].tolist(), b=[inner["b"].item(), outer["b"].item()])
        inner["c"] = np.ones((1, 1), np.float32)
        inner.close()
        tell(c="c" in outer, kept=outer["b"].item())
        outer.close()
    """)
    assert told == {"a": [[1, 1, 1], [1, 1, 1]], "b": [5, 0], "c": False, "kept": 0}


def test_an_operator_whose_shapes_do_not_fit_is_refused_when_it_is_appended(program):
    told = program("""
        block = Program().block
        for name, rows, columns in (("x", BATCH, 3), ("y", 4, 2), ("out", BATCH, 2)):
            block.var(Variable(name, "f64", rows, columns))
        try:
            block.append("mul", {"Out": "out"}, {"X": "x", "Y": "y"})
        except ValueError as error:
            tell(error=str(error), ops=len(block.ops))
    """)
    assert told == {"error": "mul: Y has 4 rows, expected 3, since X has it", "ops": 0}


def test_what_is_fed_must_have_the_shape_of_the_program(program):
    told = program("""
        model = Model("f64")
        model.fc(model.data("x", 3), 2)
        scope = Scope()
        Executor(model.startup).run(scope)
        try:
            Executor(model.main).run_batch(scope, {"x": matrix(4, 5)}, [])
        except FluidError as error:
            tell(error=str(error))
    """)
    assert told["error"] == "variable 'x' has another shape or dtype than the program says"


# ---- Kernels ----


def test_gradients_are_those_that_differences_of_the_loss_give(program):
    told = program("""
        model = Model("f64")
        hidden = model.fc(model.data("x", 5), 4, relu=True)
        loss = model.loss(model.fc(hidden, 3), model.data("label", 3))
        model.minimize(loss, rate=0)
        scope = Scope()
        Executor(model.startup).run(scope)
        executor = Executor(model.main)
        feed = {"x": matrix(6, 5), "label": np.eye(3)[[0, 1, 2, 2, 1, 0]]}

        def loss_with(name, value):
            scope[name] = value
            return executor.run_batch(scope, feed, ["loss"])[0].item()

        worst = 0.0
        for parameter in model.parameters:
            (found,) = executor.run_batch(scope, feed, [parameter.name + "@GRAD"])
            value = scope[parameter.name]
            for at in np.ndindex(value.shape):
                step = np.zeros_like(value)
                step[at] = 1e-6
                more, less = (loss_with(parameter.name, value + s) for s in (step, -step))
                worst = max(worst, abs((more - less) / 2e-6 - found[at]))
            scope[parameter.name] = value
        tell(worst=worst)
    """)
    assert told["worst"] < 1e-8


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_the_flag_chooses_a_kernel_and_all_give_the_same(program, dtype):
    told = program(
        """
        dtype = sys.argv.pop()
        numpy = {"f32": np.float32, "f64": np.float64}[dtype]
        program = Program()
        sizes = {"x": (70, 90), "y": (90, 65), "out": (70, 65)}
        for name, (rows, columns) in sizes.items():
            for each in (name, name + "@GRAD"):
                program.block.var(Variable(each, dtype, rows, columns, persistable=True))
        program.block.append("mul", {"Out": "out"}, {"X": "x", "Y": "y"})
        grads = {"X@GRAD": "x@GRAD", "Y@GRAD": "y@GRAD"}
        ins = {"X": "x", "Y": "y", "Out@GRAD": "out@GRAD"}
        program.block.append("mul_grad", grads, ins)
        scope = Scope()
        x, y, dout = matrix(70, 90), matrix(90, 65, 1), matrix(70, 65, 2)
        for name, value in (("x", x), ("y", y), ("out@GRAD", dout)):
            scope[name] = value.astype(numpy)
        executor = Executor(program)
        for choice in ("native", "blocked"):
            pf.FLAGS["impl.mul"].value = pf.FLAGS["impl.mul_grad"].value = [choice + "!"]
            executor.run(scope)
            expected = {"out": x @ y, "x@GRAD": dout @ y.T, "y@GRAD": x.T @ dout}
            tell(**{choice: max(abs(scope[n] - v).max() for n, v in expected.items()).item()})
        """,
        dtype,
    )
    noise = 1e-4 if dtype == "f32" else 1e-12
    assert told["native"] < noise
    assert told["blocked"] < noise


LATE = """
#include <pd_flags.h>
#include "kernels.h"
static void nines(cpu *, f64 *out, const f64 *) { out->data[0] = 9; }
PD_IMPORT_OP_AS(relu_f64, "relu", void, TAKES_1_1_0(f64), nines);
PD_IMPL(relu_f64, nines, nines, .rank = 5);
"""


def test_a_kernel_of_a_plugin_that_comes_later_serves_executors_that_exist(program, tmp_path):
    source = write(tmp_path / "late.cc", LATE)
    include = (f"-I{EXAMPLE / 'kernels'}", "-std=c++17", "-Wno-pedantic")
    plugin = build_plugin(tmp_path / "liblate.so", source, flags=include)
    told = program(
        """
        program = Program()
        for name in ("x", "y"):
            program.block.var(Variable(name, "f64", 1, 1, persistable=True))
        program.block.append("relu", {"Out": "y"}, {"X": "x"})
        scope = Scope()
        scope["x"] = np.full((1, 1), 2.0)
        executor = Executor(program)
        executor.run(scope)
        tell(before=scope["y"].item())
        pf.load_plugin(sys.argv.pop())
        executor.run(scope)
        tell(after=scope["y"].item())
        pf.FLAGS["impl.relu"].value = ["-nines", "*"]
        executor.run(scope)
        tell(without=scope["y"].item())
        """,
        plugin,
    )
    assert told == {"before": 2, "after": 9, "without": 2}


def test_a_miss_lists_the_signatures_that_the_kernels_have(program):
    told = program("""
        def missed(type="mul", dtype="f64", place="cpu"):
            program = Program()
            for name in ("x", "y", "out"):
                program.block.var(Variable(name, dtype, 1, 1))
            program.block.append("mul", {"Out": "out"}, {"X": "x", "Y": "y"})
            program.block.ops[0].place, program.block.ops[0].type = place, type
            try:
                Executor(program)
            except FluidError as error:
                return str(error)

        tell(gpu=missed(place="gpu"), f16=missed(dtype="f16"), name=missed("mull"), good=missed())
    """)
    assert told["good"] is None
    assert "mul on gpu with f64: " in told["gpu"]
    assert "no signature void (gpu *, f64 *, const f64 *, const f64 *)" in told["gpu"]
    for dtype in ("f32", "f64"):
        has = f"void (cpu *, {dtype} *, const {dtype} *, const {dtype} *) at kernels/plain.cc:"
        assert has in told["gpu"]
        assert has in told["f16"]
    assert told["name"].endswith("operation 'mull' is not defined; did you mean 'mul'?")


# ---- check_nan_inf ----

CHECKED = """
    program = Program()
    for name in ("x", "y", "z"):
        program.block.var(Variable(name, "f32", BATCH, 4))
    program.block.append("scale", {"Out": "y"}, {"X": "x"}, factor=2)
    program.block.append("add", {"Out": "z"}, {"X": "y", "Y": "x"})
    x = np.ones((3, 4), np.float32)
    executor, scope = Executor(program), Scope()
"""


@pytest.mark.parametrize(
    ("value", "where"), [("nan", "operator 0 (scale): y[1, 2] is NaN"),
                         ("-inf", "operator 0 (scale): y[1, 2] is infinite"),
                         ("2e38", "operator 0 (scale): y[1, 2] is infinite"),
                         ("1.5e38", "operator 1 (add): z[1, 2] is infinite")]
)  # fmt: skip
def test_the_first_bad_number_is_named_with_its_operator(program, value, where):
    told = program(
        CHECKED
        + """
    x[1, 2] = x[2, 0] = float(sys.argv.pop())
    executor.run_batch(scope, {"x": x}, [])
    pf.FLAGS.check_nan_inf = True
    try:
        executor.run_batch(scope, {"x": x}, [])
    except NotFiniteError as error:
        tell(text=str(error), op=error.op, variable=error.variable, index=error.index)
    x[:] = 1
    executor.run_batch(scope, {"x": x}, [])
    """,
        value,
    )
    number = int(where.split()[1])
    variable = "yz"[number]
    assert told == {"text": where, "op": number, "variable": variable, "index": [1, 2]}


def test_a_loop_that_runs_sees_the_flag_when_another_thread_sets_it(program):
    told = program(
        CHECKED
        + """
    import threading
    x[0, 0] = float("nan")
    runs = 0
    reached = threading.Event()

    def switch():
        reached.wait()
        pf.FLAGS.check_nan_inf = True

    threading.Thread(target=switch).start()
    try:
        while True:
            executor.run_batch(scope, {"x": x}, [])
            runs += 1
            if runs == 10:
                reached.set()
    except NotFiniteError as error:
        tell(runs=runs, op=error.op)
    """
    )
    assert told["runs"] >= 10
    assert told["op"] == 0


def test_an_exception_of_an_operator_in_python_comes_out_of_the_executor(program):
    told = program("""
        program = Program()
        program.block.append_python("send")
        def send(op, scope):
            raise OSError(f"no {op.type}")
        try:
            Executor(program, hosts={"send": send}).run(Scope())
        except OSError as error:
            tell(error=str(error))
        try:
            Executor(program)
        except FluidError as error:
            tell(unknown=str(error))
    """)
    assert told["error"] == "no send"
    assert "send" in told["unknown"]


# ---- The guard: kernels need nothing of the framework ----


def test_the_sources_of_kernels_include_their_own_folder_and_the_registry_alone():
    for source in sorted((EXAMPLE / "kernels").glob("*.cc")):
        made = run(*CXX, "-std=c++17", "-MM", f"-I{INCLUDE}", source).stdout
        used = {Path(name).resolve() for name in re.findall(r"\S*\.h", made)}
        own = {EXAMPLE / "kernels" / "kernels.h"}
        assert own < used
        assert not [path for path in used - own if Path(INCLUDE) not in path.parents], source


def test_the_libraries_of_kernels_need_libc_and_libm_alone(fluid):
    for name in ("libkernels.so", "libblocked.so"):
        dynamic = run(tool("readelf"), "-d", fluid / name).stdout
        assert set(re.findall(r"NEEDED.*\[(\w+)", dynamic)) <= {"libc", "libm"}
        undefined = run(tool("nm"), "-DC", "--undefined-only", fluid / name).stdout
        assert not re.search(r"fluid|\bpd_", undefined), undefined


def test_the_runtime_links_nothing_of_the_registry(fluid):
    undefined = run(tool("nm"), "-D", "--undefined-only", fluid / "libfluid.so").stdout
    assert " pd_" not in undefined


def test_the_bench_compares_the_loop_with_and_without_the_flag(fluid):
    bench = (sys.executable, EXAMPLE / "bench.py", "--rounds=3")
    head, *lines = run(*bench, env=environment(fluid)).stdout.splitlines()
    assert head.split()[:3] == ["check_nan_inf", "median", "least"]
    cases = ["no test in the loop", "off", "off, and being set", "on"]
    assert [line.rsplit(None, 2)[0].strip() for line in lines] == cases
