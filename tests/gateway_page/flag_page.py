"""Programs that serve their flags, and what a person does on their page."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TOKENS = {"ops": "change-0123456789", "night": "second-0123456789", "viewer": "read-0123456789ab"}
LABELS = {"ops": "ops", "night": "night-shift", "viewer": "viewer"}


class Trainer:
    """A process that serves its flags, and a gateway in front of it unless it has a place.

    The gateway shows the sockets in `beside`, too.
    """

    def __init__(
        self,
        where: str = "gateway",
        *arguments: str,
        extra: int = 0,
        script: Path = HERE / "page_trainer.py",
        beside: tuple[str, ...] = (),
    ) -> None:
        self._command = [sys.executable, str(script)]
        self._arguments = [str(extra), *arguments]
        self._folder = tempfile.TemporaryDirectory()
        self._gateway: subprocess.Popen[str] | None = None
        self.url = ""
        has_gateway = where == "gateway"
        self.start(f"{self._folder.name}/trainer.sock" if has_gateway else where)
        if has_gateway:
            fleets = [each for each in arguments if each.startswith("dir://")]
            self._serve([self.address, *beside, *(f"--fleet={each}" for each in fleets)])
        elif "://" in self.address:
            self.url = self.address

    def start(self, address: str) -> None:
        self.process = subprocess.Popen(
            [*self._command, address, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()
        assert self.address

    def _serve(self, arguments: list[str]) -> None:
        tokens = Path(self._folder.name, "tokens")
        rights = {who: "read" if who == "viewer" else "change" for who in TOKENS}
        lines = [f"{LABELS[who]} {rights[who]} {TOKENS[who]}\n" for who in TOKENS]
        tokens.write_text("".join(lines), "utf-8")
        tokens.chmod(0o600)
        options = ["--port=0", f"--token-file={tokens}"]
        self._gateway = subprocess.Popen(
            [sys.executable, "-m", "paddle_flags", "gateway", *arguments, *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._gateway.stderr
        line = self._gateway.stderr.readline()
        self.url = line.removeprefix("serving ").strip()
        assert self.url.startswith("http://"), line + self._gateway.stderr.read()

    def run(self, line: str) -> None:
        """Run a line of Python in the program."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()

    def restart(self) -> None:
        self.stop()
        self.start(self.address)

    def close(self) -> None:
        self.stop()
        if self._gateway is not None:
            self._gateway.kill()
            self._gateway.communicate()
        self._folder.cleanup()


def row(page: Any, name: str) -> Any:
    """The row of a flag in the list."""
    return page.locator("#list .flag").filter(has=page.locator(f".name:text-is('{name}')"))


def names(page: Any) -> list[str]:
    """The flags that the list shows, in their order."""
    return page.locator("#list .flag .name").all_inner_texts()


def search(page: Any, text: str) -> None:
    page.locator("#search").fill(text)


def open_flag(page: Any, name: str) -> None:
    """Search for a flag and open it."""
    search(page, name)
    row(page, name).click()
    page.locator("#panel-title").filter(has_text=name).wait_for()


def stage(page: Any, name: str, value: str) -> None:
    """Edit a flag whose control is a field, and check the new value."""
    open_flag(page, name)
    page.locator("#edit").fill(value)
    page.get_by_role("button", name="Check change").click()


def apply(page: Any) -> None:
    page.locator("#tray button.main:enabled").click()
    page.locator("#tray").wait_for(state="hidden")


def change(page: Any, name: str, value: str) -> None:
    stage(page, name, value)
    apply(page)
