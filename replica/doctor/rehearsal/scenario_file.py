"""Reads and writes a scenario as a TOML file. The file has a table [[step]] for every step, with
the fields of ScenarioStep.

[[step]]
dead = [3]
cut = [[1, 2]]

[[step]]
heal = true
start = [3]
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Collection
from typing import Any

from replica.doctor.rehearsal.captured import CapturedQuorum
from replica.doctor.rehearsal.step import Link, Scenario, ScenarioStep
from replica.errors import UsageError

MAX_FILE_BYTES = 16 * 1024
"""The maximum size of a file (bytes), far more than MAX_STEPS steps need. The size is bounded
because the time to parse TOML's dotted keys grows with the square of their length."""
MAX_STEPS = 100
_MAX_WAIT_MS = 3_600_000
"""The maximum simulated time (ms) of one step, and of all steps of a file together."""
_MAX_SHOWN_BITS = 64
_MAX_SHOWN_CHARS = 60
FIELDS = ("heal", "cut", "dead", "empty", "start", "remove_voter", "add_voter", "wait_ms")
_PAIRS = "expected a list of pairs of node ids, such as [[1, 2]]"


def scenario_in(text: str, path: str, captured: CapturedQuorum) -> Scenario:
    """The scenario in a file's text. Raises UsageError, which names the file's line, or the step
    and field, and says what is expected there."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from error
    except ValueError as error:  # Python limits the digits of a number
        digits = sys.get_int_max_str_digits()
        raise UsageError(f"{path}: a number of more than {digits} digits") from error
    except RecursionError as error:
        raise UsageError(f"{path}: lists or tables are nested too deeply") from error
    steps = content.pop("step", None)
    if content:
        raise UsageError(f"{path}: {_cut(min(content))}: expected nothing but tables [[step]]")
    if not isinstance(steps, list) or not steps or not all(isinstance(s, dict) for s in steps):
        raise UsageError(f"{path}: expected tables [[step]], with {', '.join(FIELDS)}")
    if len(steps) > MAX_STEPS:
        raise UsageError(f"{path}: {len(steps)} steps: expected {MAX_STEPS} at most")
    reader = _Reader(path, captured)
    return Scenario(tuple(reader.step(number, one) for number, one in enumerate(steps, start=1)))


def toml_of(step: ScenarioStep) -> str:
    """The text of the step in a file. It leaves out stand-ins, which a file can't hold."""
    lines = ["[[step]]"]
    for name in FIELDS:
        value = getattr(step, name)
        if value is True:
            lines.append(f"{name} = true")
        elif isinstance(value, tuple):
            values = [list(one) if isinstance(one, tuple) else one for one in value]
            lines += [f"{name} = {values}"] if values or name == "start" else []
        elif value is not None and value is not False:
            lines.append(f"{name} = {value}")
    return "\n".join(lines)


class _Reader:
    """Reads one step after another, and knows which nodes have a disk at each step."""

    def __init__(self, path: str, captured: CapturedQuorum) -> None:
        self._path = path
        self._known = captured.node_ids
        self._disks = set(captured.nodes)
        self._place = ""
        self._waits_ms = 0

    def step(self, number: int, fields: dict[str, Any]) -> ScenarioStep:
        self._place = f"{self._path}: step {number}"
        unknown = sorted(fields.keys() - set(FIELDS))
        if unknown:
            raise UsageError(f"{self._place}: {_cut(unknown[0])}: expected {', '.join(FIELDS)}")
        dead, empty = self._nodes(fields, "dead") or (), self._nodes(fields, "empty") or ()
        start = self._nodes(fields, "start")
        self._refuse_both("dead", dead, "empty", empty)
        self._refuse_both("dead", dead, "start", start or ())
        self._disks |= set(empty)
        for node_id in start or ():
            if node_id not in self._disks:
                raise UsageError(
                    f"{self._place}: start: node {node_id} has no directory here: name the "
                    "directory, or let the step name the node in empty"
                )
        return ScenarioStep(
            heal=self._flag(fields, "heal"),
            cut=self._links(fields),
            dead=dead,
            empty=empty,
            start=start,
            remove_voter=self._node(fields, "remove_voter"),
            add_voter=self._node(fields, "add_voter"),
            wait_ms=self._wait(fields),
        )

    def _nodes(self, fields: dict[str, Any], name: str) -> tuple[int, ...] | None:
        value = fields.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self._wrong(name, f"expected a list of node ids, such as [{self._known[0]}]")
        return tuple(self._known_node(name, one) for one in value)

    def _node(self, fields: dict[str, Any], name: str) -> int | None:
        value = fields.get(name)
        return None if value is None else self._known_node(name, value)

    def _known_node(self, name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value not in self._known:
            known = ", ".join(map(str, self._known))
            raise self._wrong(name, f"{_shown(value)} is no node of this quorum: expected {known}")
        return value

    def _links(self, fields: dict[str, Any]) -> tuple[Link, ...]:
        value = fields.get("cut", [])
        if not isinstance(value, list):
            raise self._wrong("cut", _PAIRS)
        return tuple(map(self._link, value))

    def _link(self, pair: object) -> Link:
        if not isinstance(pair, list) or len(pair) != 2:
            raise self._wrong("cut", _PAIRS)
        a, b = (self._known_node("cut", one) for one in pair)
        if a == b:
            raise self._wrong("cut", f"expected two nodes, found {a} twice")
        return a, b

    def _flag(self, fields: dict[str, Any], name: str) -> bool:
        value = fields.get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name, "expected true or false")
        return value

    def _wait(self, fields: dict[str, Any]) -> int | None:
        value = fields.get("wait_ms")
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if value is None:
            return None
        if not (is_number and 0 < value <= _MAX_WAIT_MS):
            raise self._wrong("wait_ms", f"expected simulated ms, from 1 to {_MAX_WAIT_MS}")
        self._waits_ms += value
        if self._waits_ms > _MAX_WAIT_MS:
            reason = f"the steps wait for more than {_MAX_WAIT_MS} ms together"
            raise self._wrong("wait_ms", reason)
        return int(value)

    def _refuse_both(self, a: str, of_a: Collection[int], b: str, of_b: Collection[int]) -> None:
        for node_id in of_a:
            if node_id in of_b:
                raise self._wrong(b, f"node {node_id} is in {a}, too: one step says one of the two")

    def _wrong(self, name: str, reason: str) -> UsageError:
        return UsageError(f"{self._place}: {name}: {reason}")


def _shown(value: object) -> str:
    """A value of the file, short enough for one line of an error."""
    if isinstance(value, int) and value.bit_length() > _MAX_SHOWN_BITS:
        return f"a number of {value.bit_length()} bits"
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}..."
