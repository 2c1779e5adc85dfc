"""pydantic-settings: a model whose fields are read from a command line, among others."""

from __future__ import annotations

from typing import Any

from pydantic import Field, create_model
from pydantic_settings import BaseSettings, CliApp, SettingsConfigDict

STATEMENTS = {
    "get": "FLAGS.limit",
    "list": "FLAGS.limits",
    "assign": "FLAGS.limit = 17",
}


class Checked(BaseSettings):
    """Checks what is assigned, as the others do."""

    model_config = SettingsConfigDict(validate_assignment=True)


class Flags(Checked):
    """What the statements use."""

    limit: int = Field(default=1, description="A flag to use")
    limits: list[int] = Field(default=list(range(10_000)), description="A list to read")


def one_flag() -> dict[str, Any]:
    """Return the names that the statements use."""
    return {"FLAGS": Flags()}


def define_all(names: list[str]) -> type[BaseSettings]:
    """Define the fields of a model, each with its own help text."""
    fields: dict[str, Any] = {
        name: (int, Field(1, description=f"What {name} is for")) for name in names
    }
    return create_model("Flags", __base__=Checked, **fields)


def parse(model: type[BaseSettings], words: list[str]) -> BaseSettings:
    """Parse a command line."""
    return CliApp.run(model, cli_args=words[1:])


def value_of(values: BaseSettings, name: str) -> object:
    """Return the value of a field."""
    return getattr(values, name)
