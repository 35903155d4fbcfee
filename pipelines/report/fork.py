"""The drawing of a divergence: one log up to an offset, then a branch for each history."""

from __future__ import annotations

from pipelines.html_text import Html, element
from pipelines.report.divergences import ForkBranch, Parting
from pipelines.report.svg import CROSS, drawing, line, marker, percent, text
from pipelines.report.words import Names
from replica.words import counted

MAX_BRANCHES = 6
_TRUNK, _BENT, _CUT = 26.0, 34.0, 97.0
"""Where the common part ends, where branches become horizontal, and where a losing branch is cut,
in percent of the width."""
_ROW, _LINE = 62, 15


def draw(identity: str, parting: Parting, names: Names, leaders: dict[int, int]) -> Html:
    """The drawing of one divergence. It shows the order of offsets, not their distances. leaders:
    the leader's node id by epoch, where it is known."""
    branches = parting.branches[:MAX_BRANCHES]
    height = _ROW * len(branches) + 8
    middle = height / 2
    parts = [
        *_common(parting, middle),
        element("circle", cx=percent(_TRUNK), cy=f"{middle:g}", r="5", class_="knot"),
    ]
    for place, branch in enumerate(branches):
        y = _ROW * place + 24
        loses = parting.loses(branch)
        kind = "branch losing" if loses else "branch"
        parts.append(line(_TRUNK, middle, _BENT, y, kind))
        parts.append(line(_BENT, y, _CUT if loses else 100, y, kind))
        first, second = _words(parting, branch, names, leaders)
        parts.append(text(_BENT + 2, y - 8, first, class_="who"))
        parts.append(text(_BENT + 2, y + _LINE + 2, second, class_="told"))
        if loses:
            parts.append(marker(_CUT, y, CROSS, "cross"))
    title = f"Divergence at offset {parting.offset}"
    told = "; ".join(". ".join(_words(parting, one, names, leaders)) for one in branches)
    return drawing(identity, title, f"{told}.", height, *parts)


def _common(parting: Parting, middle: float) -> tuple[Html, ...]:
    if parting.offset == 0:
        return (text(0, middle + 5, "nothing shared", class_="told"),)
    return (
        line(0, middle, _TRUNK, middle, "trunk"),
        text(0, middle - 10, f"to offset {parting.offset - 1}", class_="who"),
        text(0, middle + 20, "the same", class_="told"),
    )


def _words(
    parting: Parting, branch: ForkBranch, names: Names, leaders: dict[int, int]
) -> tuple[str, str]:
    # in a conflict the epoch has two leaders, and the table knows one
    leader = None if parting.is_conflict else leaders.get(branch.epoch)
    led = "" if leader is None else f", leader {leader}"
    end = "" if branch.end_offset is None else f", to {branch.end_offset - 1}"
    fate = "in conflict" if parting.is_conflict else "kept"
    if parting.loses(branch):
        losing = [one for one in parting.losing if one.replica in branch.replicas]
        committed = max(one.committed for one in losing)
        fate = f"loses {counted(max(one.records for one in losing), 'record')}"
        fate += f", {committed} committed" if committed else ""
    who = names.nodes(branch.replicas, limit=4)
    return f"epoch {branch.epoch}{led}{end}", f"{who}: {fate}"
