"""Programs that serve their flags, and what a person does on their page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TOKENS = {"ops": "change-0123456789", "night": "second-0123456789", "viewer": "read-0123456789ab"}


class Trainer:
    """A process that serves its flags."""

    def __init__(
        self,
        address: str = "127.0.0.1:0",
        *arguments: str,
        extra: int = 0,
        script: Path = HERE / "page_trainer.py",
    ) -> None:
        self._command = [sys.executable, str(script)]
        self._arguments = [str(extra), *arguments]
        self.start(address)

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
        self.url = f"http://{self.address}/"

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
