"""What the tests of fleets share."""

from __future__ import annotations

import subprocess
import sys

import pytest
from agents import Agent
from configmaps import Mounted
from engines import ENGINES
from members import SOON, Process
from mirrors import Command, Running
from support import in_url

from paddle_flags.fleet import Fleet, _mirror, open_store
from paddle_flags.fleet._mirror import Mirror


def pytest_collection_modifyitems(items):
    """Tests don't fail by what an engine's own packages, or proxies that die, leave unclosed."""
    for item in items:
        if item.path.parent.name == "fleet":
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "engine" / "job"
    made.parent.mkdir()
    return made


@pytest.fixture
def url(folder):
    return f"dir://{in_url(folder)}?poll=0.01"


@pytest.fixture
def fleet(url):
    with Fleet(url, by="ann@desk") as made:
        yield made


@pytest.fixture
def process(url):
    """Start processes, which end with the test."""
    started: list[Process] = []

    def start(**variables: str) -> Process:
        started.append(Process(url, **variables))
        return started[-1]

    yield start
    for each in started:
        each.clean()


@pytest.fixture
def members(process):
    """Start a number of trainers that have joined and defined flags."""

    def start(count: int = 2, **options: object) -> list[Process]:
        made = [process() for _ in range(count)]
        return [p.begin(role="trainer", rank=rank, **options) for rank, p in enumerate(made)]

    return start


@pytest.fixture
def agent(url):
    """Start agents, which end with the test."""
    started = []

    def start(*words: object) -> Agent:
        started.append(Agent(url, *words))
        return started[-1]

    yield start
    for each in started:
        each.clean()


@pytest.fixture
def fleet_command(url):
    """Run a verb on the fleet of the test."""

    def run(verb: str, *tokens: str, on: str = url) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "paddle_flags", verb, on, *tokens]
        return subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False)

    return run


@pytest.fixture(scope="module")
def engine(request):
    """Start an engine, whose name is the parameter."""
    made = ENGINES[request.param]()
    made.start()
    yield made
    made.end()


@pytest.fixture
def store(url):
    made = open_store(url, timeout=30)
    yield made
    made.close()


# -- Mirrors --


@pytest.fixture
def mounted(tmp_path):
    """Return a ConfigMap as Kubernetes mounts it."""
    return Mounted(tmp_path / "flags")


@pytest.fixture
def source(mounted):
    return f"configmap://{in_url(mounted.place)}"


@pytest.fixture
def new(source, url):
    """Make mirrors, whose turns the test makes."""
    made = []

    def make(source=source, target=url):
        made.append(Mirror(source, target, 5))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def running(source, url, monkeypatch):
    """Start mirrors that look often, and end with the test."""
    monkeypatch.setattr(_mirror, "POLL", 0.02)
    monkeypatch.setattr(_mirror, "_PAUSE", 0.02)
    started = []

    def start(source=source, target=url):
        started.append(Running(source, target))
        return started[-1]

    yield start
    for each in started:
        each.end()


@pytest.fixture
def command():
    started = []

    def start(*tokens):
        started.append(Command(*tokens))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


@pytest.fixture
def side_car(command, source, url):
    """Start the command that mirrors the ConfigMap."""
    return lambda *tokens: command("mirror", source, url, *tokens)
