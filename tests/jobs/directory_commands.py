"""The commands that read nodes' log directories, with the options by which tests call each.

The tests about secrets, hostile names and opened files call all of them. A new command that reads
directories must be added: test_directory_commands.py fails where one is missing.
"""

from __future__ import annotations

from collections.abc import Iterable

Call = tuple[str, ...]
"""A command and its options, before the directory."""

_TEXT_AND_JSON: tuple[Call, ...] = ((), ("--json",))
_TABLE: tuple[Call, ...] = (*_TEXT_AND_JSON, ("--csv",), ("--plain-csv",))


def _with(forms: Iterable[Call], *options: str) -> tuple[Call, ...]:
    return tuple((*options, *form) for form in forms)


READING: dict[str, tuple[Call, ...]] = {
    "dump": (*_TEXT_AND_JSON, ("--batches", "--json")),
    "check": (
        *_TEXT_AND_JSON,
        ("--family", "health"),
        *_with(_TEXT_AND_JSON, "--family", "all"),
    ),
    "state": (
        *_TABLE,
        *_with(_TEXT_AND_JSON, "--exposure"),
        *_with(_TEXT_AND_JSON, "--sizes"),
    ),
    "history": _TABLE,
    "timeline": _TABLE,
    "what-happened": _TEXT_AND_JSON,
    "plan": (
        *_with(_TEXT_AND_JSON, "--to-dynamic"),
        *_with(_TEXT_AND_JSON, "--stop-broker", "10,12"),
        *_with(_TEXT_AND_JSON, "--stop-rack", "+1"),
    ),
    "restore": _with(_TEXT_AND_JSON, "--release", "4.4", "--dry-run"),
    "recover": _with(_TEXT_AND_JSON, "--plan"),
}
"""The options of each command that prints the content of one directory or more."""

REHEARSE: Call = ("--seeds", "0:1", "--failures", "0")
"""The options of the shortest `rehearse`, which prints node ids and counts of
runs, and no record."""

COPYING = {"capture", "redact"}
"""The commands that copy directories to the place of their option -o."""

CALLS: tuple[Call, ...] = tuple((name, *form) for name, forms in READING.items() for form in forms)
