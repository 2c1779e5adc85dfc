"""The text of operations: which implementation runs, and why the others don't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags._report import facts
from paddle_flags._report.table import format_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags._core.flag import Flag
    from paddle_flags._op.operation import Implementation, Op, OpSignature


def _format_source_location(each: Implementation | OpSignature) -> str:
    return f"{each.file}:{each.line}" if each.line else each.file


def _module(each: Implementation) -> str:
    if each.is_python:
        return "Python"
    return each.module.replace("\\", "/").rpartition("/")[2] or "registered"


def _chosen_names(signature: OpSignature) -> str:
    """Return the name of what runs; if Python and native code differ, of both."""
    python = next((each.name for each in signature.impls if each.chosen), "none")
    native = next((each.name for each in signature.impls if each.chosen_by_native), "none")
    return python if native in (python, "none") else f"{python} (native code: {native})"


def chosen_impls_text(flag: Flag[Any]) -> str:
    """Return what runs for each signature of the operation that a flag chooses for, or ""."""
    if flag.category != "implementations" or not flag.name.startswith("impl."):
        return ""
    from paddle_flags._op.operation import op

    signatures = op(flag.name[len("impl.") :]).signatures
    return "; ".join(f"{_chosen_names(each)} for {each.text}" for each in signatures)


def ops_table(ops: Sequence[Op]) -> str:
    """Return a table of operations, a line for each signature."""
    rows = []
    for op in ops:
        for each in op.signatures:
            names = ", ".join(impl.name for impl in each.impls)
            rows.append(
                (op.name, each.text, _chosen_names(each), names, facts.escape_controls(each.help))
            )
    if not rows:
        return "no operations are defined"
    return format_table(("operation", "signature", "runs", "implementations", "help"), rows)


def op_details(op: Op) -> str:
    """Return what is known of an operation."""
    flag = op.flag
    lines = [f"{flag.name} = {facts.format_value(flag, flag.value)}  ({flag.source})"]
    for index, each in enumerate(op.signatures):
        title = f"*{index}: {op.name}: {each.text}"
        place = f", {_format_source_location(each)}" if each.file else ""
        lines += ["", title, f"    {facts.escape_controls(each.help)}{place}"]
        if each.arrays:
            lines.append(f"    arrays: {facts.escape_controls(each.arrays)}")
        rows = [
            (
                f"    {impl.name}",
                str(impl.rank),
                _module(impl),
                _format_source_location(impl),
                impl.why,
            )
            for impl in each.impls
        ]
        lines.append(format_table(("    implementation", "rank", "module", "place", ""), rows))
    return "\n".join(lines)


def ops_as_json(ops: Sequence[Op]) -> list[dict[str, Any]]:
    """Return the same as objects of JSON."""
    return [
        {
            "name": op.name,
            "flag": op.flag.name,
            "value": op.flag.text,
            "signatures": [
                {
                    **each._asdict(),
                    "impls": [impl._asdict() for impl in each.impls],
                }
                for each in op.signatures
            ],
        }
        for op in ops
    ]
