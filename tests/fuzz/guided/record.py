"""GUIDED.md: the results of the campaigns, made from their states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.fuzz.guided.campaign import MAX_INPUT_S, MAX_RESIDENT_MIB, state_of
from tests.fuzz.guided.catalogue import TARGETS

RECORD = Path(__file__).parents[1] / "GUIDED.md"
_BEGIN, _END = "<!-- made by --write -->", "<!-- end -->"
_MADE = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)


def table(still: Sequence[Path]) -> str:
    """The table. still: findings that still break their target."""
    states = {name: state_of(name) for name in TARGETS}
    rows = []
    for name, target in TARGETS.items():
        state = states[name]
        open_ones = sum(path.parts[-3] == name for path in still)
        rows.append(
            f"| {name} | {target.reads} | {target.holds} | {state.seconds / 60:.1f} "
            f"| {state.inputs:,} | {state.edges:,} | {state.kept:,} | {state.resident_mib} "
            f"| {state.slowest_s} | {open_ones or 'none'} |"
        )
    minutes = sum(state.seconds for state in states.values()) / 60
    inputs = sum(state.inputs for state in states.values())
    ends = [f"- {name}: {end}" for name, state in states.items() for end in state.ends]
    return "\n".join(
        [
            f"{datetime.now(UTC):%Y-%m-%d}, all campaigns together: {inputs:,} inputs in "
            f"{minutes:.0f} minutes of one core; at most {MAX_RESIDENT_MIB} MiB for a process and "
            f"{MAX_INPUT_S} s for an input.",
            "",
            "| target | what is read | what must hold | minutes | inputs | edges | kept "
            "| MiB at most | slowest input, s | still broken |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *rows,
            *(["", "Runs that ended before their time:", "", *ends] if ends else []),
        ]
    )


def write(still: Sequence[Path]) -> None:
    """Replaces the table in GUIDED.md. The text around it is written by hand."""
    text = RECORD.read_text()
    made = f"{_BEGIN}\n{table(still)}\n{_END}"
    RECORD.write_text(_MADE.sub(lambda _: made, text))
