"""examples/fluid in several processes: the transpiler, parameter servers, and the fleet."""

from __future__ import annotations

import re
import sys

import pytest
from fluid_example import EXAMPLE, MARKS, build_fluid, environment
from support import ROOT, run, tool

pytestmark = MARKS


# ---- The transpiler, in one process ----


def test_slices_of_parameters_go_round_the_servers_and_leave_nothing_out(program):
    told = program("""
        from fluid.transpiler import slice_parameters
        parameters = [Variable("w", "f32", 7, 3), Variable("b", "f32", 1, 3)]
        slices = slice_parameters(parameters, ["a", "b", "c"])
        tell(slices=[(s.variable.name, s.begin, s.variable.rows, s.endpoint) for s in slices])
    """)
    assert told["slices"] == [
        ["w.slice_0", 0, 2, "a"],
        ["w.slice_1", 2, 2, "b"],
        ["w.slice_2", 4, 3, "c"],
        ["b.slice_0", 0, 1, "a"],
    ]


def test_the_parts_of_a_transpiled_program_compute_what_the_whole_does(program):
    """Three trainers and two servers as scopes of one process; what RPC carries is copied."""
    told = program("""
        from fluid.transpiler import Transpiler

        def build():
            model = Model("f64")
            hidden = model.fc(model.data("x", 5), 4, relu=True)
            loss = model.loss(model.fc(hidden, 3), model.data("label", 3))
            return model, model.minimize(loss, rate=0.3)

        def batch(step):
            return matrix(12, 5, step), np.eye(3)[np.arange(step, step + 12) % 3]

        model, optimizers = build()
        whole = Scope()
        Executor(model.startup).run(whole)
        executor = Executor(model.main)
        for step in range(5):
            x, label = batch(step)
            executor.run_batch(whole, {"x": x, "label": label}, [])

        endpoints, trainers = ["a", "b"], 3
        transpiler = Transpiler(*build(), endpoints, trainers)
        servers = {endpoint: Scope() for endpoint in endpoints}
        optimize = {}
        for endpoint, scope in servers.items():
            Executor(transpiler.server_startup(endpoint)).run(scope)
            made = transpiler.server_program(endpoint)
            optimize[endpoint] = Executor(made, made.block.ops[0].python["block"])
        sent = {}

        def send(op, scope):
            for each in op.python["slices"]:
                sent[rank, each.gradient.name] = scope[each.gradient.name]
                scope[each.variable.name] = servers[each.endpoint][each.variable.name]

        own = [Scope() for _ in range(trainers)]
        for scope in own:
            Executor(model.startup).run(scope)
        executor = Executor(transpiler.trainer_program(), hosts={"send": send})
        for step in range(6):  # a step gets what the servers had before it
            for rank, scope in enumerate(own):
                parts = [each[rank * 4 : rank * 4 + 4] for each in batch(step)]
                executor.run_batch(scope, dict(zip(("x", "label"), parts)), [])
            if step == 5:
                break
            for endpoint, scope in servers.items():
                with scope.new_scope() as local:
                    for each in transpiler.slices:
                        for rank in range(trainers):
                            value = sent[rank, each.gradient.name]
                            local[each.sent_by(rank)] = value
                    optimize[endpoint].run(local)
            for rank, scope in enumerate(own):
                for each in transpiler.slices:
                    value = scope[each.parameter.name]
                    part = servers[each.endpoint][each.variable.name]
                    value[each.begin : each.begin + len(part)] = part
                    scope[each.parameter.name] = value
        names = [each.name for each in model.parameters]
        worst = max(abs(whole[n] - scope[n]).max() for n in names for scope in own)
        tell(worst=worst.item(), moved=abs(whole["fc_0.b"]).max().item())
    """)
    assert told["moved"] > 1e-3
    assert told["worst"] < 1e-12


def test_the_parts_have_the_operators_that_their_roles_need(program):
    told = program("""
        from fluid.transpiler import Transpiler
        model = Model()
        loss = model.loss(model.fc(model.data("x", 4), 3), model.data("label", 3))
        optimizers = model.minimize(loss, rate=1)
        transpiler = Transpiler(model, optimizers, ["a", "b"], 2)
        server = transpiler.server_program("a")
        tell(trainer=[op.type for op in transpiler.trainer_program().block.ops],
             server=[[op.type for op in block.ops] for block in server.blocks],
             parent=server.blocks[1].parent.index)
    """)
    assert "sgd" not in told["trainer"]
    last = ["slice_rows"] * 3 + ["send"] + ["assign_rows"] * 3
    assert told["trainer"][-7:] == last
    per_slice = ["scale", "add", "scale", "sgd"]
    assert told["server"] == [["listen_and_serve"], per_slice * 2]
    assert told["parent"] == 0


# ---- Processes and gRPC ----


def test_a_server_that_is_killed_comes_back_and_the_losses_are_those_of_one_process(program):
    told = program("""
        from pathlib import Path
        from fluid.job import Job
        from fluid.model import train_alone
        pf.parse([])
        steps = 60
        flags = [f"--steps={steps}", "--dtype=f64", "--checkpoints=.", "--pause=0.01"]
        losses, servings, lost = {}, [], set()
        with Job(2, 2, fleet="", flags=flags, folder=Path()) as job:
            ends = 0
            while ends < 2:
                role, rank, facts = job.next()
                event = facts.get("event")
                if event == "step":
                    losses.setdefault(facts["step"], {})[rank] = facts["loss"]
                    if (rank, facts["step"]) == (0, 20):
                        job.kill("pserver", 1)
                        job.start("pserver", 1)
                elif event == "serving":
                    servings.append((rank, facts["step"]))
                elif event == "lost":
                    lost.add(facts["server"])
                ends += event == "end"
        mean = [sum(each.values()) / 2 for _, each in sorted(losses.items())]
        alone, _ = train_alone(steps, 64, "f64")
        tell(worst=float(abs(np.subtract(mean, alone)).max()), count=len(mean), fall=mean[-1],
             servings=servings, lost=sorted(lost))
    """)
    assert told["count"] == 60
    assert told["fall"] < 1
    assert told["worst"] < 1e-10
    assert told["lost"] == [1]
    (back,) = (step for rank, step in told["servings"] if step)
    assert 20 <= back < 60


def test_a_server_refuses_what_it_does_not_have_and_asks_for_what_it_has_lost(program):
    told = program("""
        import grpc
        from fluid.client import Stub
        from fluid.job import free_endpoints
        from fluid.messages import VariableMessage, VoidMessage, packed
        from fluid.server import ParameterServer, serve
        from fluid.transpiler import Transpiler
        model = Model()
        loss = model.loss(model.fc(model.data("x", 4), 3), model.data("label", 3))
        (endpoint,) = free_endpoints(1)
        transpiler = Transpiler(model, model.minimize(loss, rate=1), [endpoint], 1)
        parts = transpiler.server_program(endpoint), transpiler.server_startup(endpoint)
        server = ParameterServer(*parts, 1)
        answering = serve(server, endpoint)
        stub = Stub(endpoint)

        def code(call, message):
            try:
                call(message)
            except grpc.RpcError as error:
                return error.code().name, error.details()

        one = np.ones((1, 3), np.float32)
        tell(strange=code(stub.SendVariable, packed("fc_9.w@GRAD", 0, 0, one)),
             absent=code(stub.GetVariable, VariableMessage(name="fc_9.w")),
             lacking=code(stub.Wait, VoidMessage(trainer=0, step=0)),
             old=code(stub.Wait, VoidMessage(trainer=0, step=-1)))
        for each in transpiler.slices:
            value = np.ones(each.variable.shape, np.float32)
            stub.SendVariable(packed(each.gradient.name, 0, 0, value))
        stub.Wait(VoidMessage(trainer=0, step=0))
        tell(step=server.step, bias=server.scope["fc_0.b.slice_0"].tolist())
        answering.stop(None).wait()
    """)
    assert told["strange"] == ["NOT_FOUND", "fc_9.w@GRAD: not a gradient of mine"]
    assert told["absent"] == ["NOT_FOUND", "fc_9.w: no such variable"]
    assert told["lacking"][0] == "FAILED_PRECONDITION"
    assert "fc_0.w.slice_0@GRAD" in told["lacking"][1]
    assert told["old"] is None
    assert told["step"] == 1
    assert told["bias"] == [[-1, -1, -1]]


# ---- The whole run ----


@pytest.fixture(scope="module")
def with_lite(fluid, tmp_path_factory):
    """The kernels in a program without the runtime, with the profile no-input."""
    place = tmp_path_factory.mktemp("no-input")
    command = [sys.executable, "setup.py", "-q", "build_library", "--build-lib", place]
    settings = {**environment(fluid), "PD_PROFILE": "no-input"}
    run(*command, "--build-temp", place / "temp", cwd=ROOT, env=settings)
    return build_fluid(fluid, "lite", SMALL=place / "lib")


def test_a_program_of_kernels_has_nothing_of_the_framework_nor_of_a_command_line(with_lite):
    symbols = run(tool("nm"), "-C", with_lite / "lite").stdout
    assert re.search(r" pd_op_find$", symbols, re.MULTILINE)
    assert "fluid::" not in symbols
    assert "fluid_" not in symbols
    assert "pd__do_parse_argv" not in symbols


def test_the_fleet_switches_the_check_on_and_the_right_trainer_finds_the_number(
    with_lite, tmp_path
):
    words = ["--steps=330", "--pause=0.02", f"--folder={tmp_path / 'run'}"]
    ended = run(sys.executable, EXAMPLE / "run.py", *words, env=environment(with_lite))
    for text in (
        "server 1 is killed, and started again",
        ": committed",
        "trainer 1 at step 247: operator 0 (mul): fc_0.mul[7, 0] is NaN; I read the images again",
        "+no-input, mul by 'native': ",
        "+no-input, mul by 'blocked': ",
        "Losses of one process and of four differ by at most ",
    ):
        assert text in ended.stdout
    assert (tmp_path / "run" / "loss.svg").read_text().count("check_nan_inf is on") >= 1
