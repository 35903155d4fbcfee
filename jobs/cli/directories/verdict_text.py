"""A verdict on a cluster as text and as JSON, the same for every command that gives a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.cli.output import coloured, write_either
from replica.doctor.verdict.verdict import Fact, Gap, Level, Verdict, shown_of
from replica.shell_text import line
from replica.terminal_text import one_line
from replica.words import counted, sentence

_COLOURS = {
    Level.OUTAGE: "red",
    Level.AT_RISK: "red",
    Level.ATTENTION: "yellow",
    Level.INCOMPLETE: "cyan",
    Level.RECOVERED: "green",
    Level.HEALTHY: "green",
}
_WIDTH = max(len(level.shown) for level in Level) + 2
MIN_ALSO = 2
"""The fewest facts that are printed besides the worst, if there are as many; --json has all."""


def verdict_line(verdict: Verdict) -> str:
    """The verdict in one line."""
    return level_line(verdict.level, verdict.headline)


def level_line(level: Level, text: str) -> str:
    """The first line of a verdict: its level, then the text."""
    return coloured(f"{level.shown:<{_WIDTH}}", _COLOURS[level]) + one_line(text)


def only_line(verdict: Verdict) -> str:
    """The verdict, for a command that prints one line of it. The line also names a fact that
    forbids a start, if the first fact is another one; disks of several clusters come first."""
    risks = [fact for fact in verdict.facts if fact.level is Level.AT_RISK]
    if verdict.level is Level.AT_RISK:
        risks = []
    hidden = [fact for fact in (*verdict.of_other_clusters, *risks) if fact is not verdict.facts[0]]
    if not hidden:
        return verdict_line(verdict)
    return f"{verdict_line(verdict)} Before any start: {one_line(hidden[0].text)}"


@dataclass(frozen=True)
class VerdictForm:
    """How describe_verdict differs between commands."""

    steps: int | None = None
    """The most lines that say what to do; None for all. The first fact has such a line always."""
    left: str = "listed below"
    """Words that say where the facts are listed that are only counted here."""
    notes: str = "-v"
    """The command or option that lists the notes."""


OF_CHECK = VerdictForm()
ON_PAGE = VerdictForm(0, "`kraftlake check` lists them", "`kraftlake check -v`")
"""The form for a page that has the steps below, and that lists no findings."""


def describe_verdict(
    verdict: Verdict,
    *,
    form: VerdictForm = OF_CHECK,
    capture: str = "",
    story: Iterable[str] = (),
) -> Iterator[str]:
    """About ten lines: what is wrong and what to do, what else is wrong, what could not be
    judged, and the moment of the verdict. capture: the name of the judged capture, where there are
    several. story: lines that come below the first step."""
    steps = _Steps(form.steps)
    yield from _of_other_clusters(verdict, steps)
    yield verdict_line(verdict)
    yield from _first(verdict, steps)
    yield from story
    yield from _below(verdict, steps, form, capture)


def beside_worse(verdict: Verdict, *, form: VerdictForm) -> Iterator[str]:
    """The lines of describe_verdict below a first line that says something worse than the
    verdict's headline."""
    steps = _Steps(form.steps)
    yield from _of_other_clusters(verdict, steps)
    yield from (labelled("also", fact.text) for fact in verdict.facts[:1])
    yield from _first(verdict, steps)
    yield from _below(verdict, steps, form, "")


class _Steps:
    """The lines that say what to do about facts. After `most` lines, steps are only counted."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self.shown: dict[str, None] = {}
        self.left: dict[str, None] = {}

    def first(self, fact: Fact) -> Iterator[str]:
        """The step of the first fact, which is never left out."""
        if fact.next_step not in self.shown:
            self.shown[fact.next_step] = None
            yield from step_lines(fact)

    def of(self, fact: Fact) -> Iterator[str]:
        """The step of another fact; no line if the same step was given before."""
        if fact.next_step and fact.next_step not in self.shown:
            is_room = self._most is None or len(self.shown) < self._most
            (self.shown if is_room else self.left)[fact.next_step] = None
            yield from step_lines(fact) if is_room else ()


def _first(verdict: Verdict, steps: _Steps) -> Iterator[str]:
    """What to do first about the headline."""
    yield from _read_first(verdict)
    if (held := verdict.read_first) is not None:
        steps.shown[held.next_step] = None
    for fact in verdict.facts[:1]:
        yield from steps.first(fact)


def _below(verdict: Verdict, steps: _Steps, form: VerdictForm, capture: str) -> Iterator[str]:
    """The lines below the headline and its first step."""
    weighty, others = verdict.besides
    more = shown_of(len(others), max(MIN_ALSO - len(weighty), 0))
    shown, left = (*weighty, *others[:more]), len(others[more:])
    for fact in shown:
        if fact is verdict.read_first:
            continue
        yield labelled("also", fact.text)
        yield from steps.of(fact)
    if left:
        yield labelled("", f"and {left} more, {form.left}")
    if form.steps and steps.left:
        yield labelled("", f"and {counted(len(steps.left), 'more step')} on the page")
    yield from _runbook(verdict)
    if verdict.not_judged:
        yield labelled("not judged", " ".join(map(_gap, verdict.not_judged)))
    if verdict.state is not None:
        yield labelled("as of", verdict.state.text)
    identity = ", ".join((*_identity(verdict, form.notes), *filter(None, [capture])))
    if identity:
        yield labelled("cluster", identity)


def _read_first(verdict: Verdict) -> Iterator[str]:
    """The line about what has to be read before the first step, with what to do about it."""
    if (held := verdict.read_first) is not None:
        yield labelled("first", held.with_step)


def _of_other_clusters(verdict: Verdict, steps: _Steps) -> Iterator[str]:
    """The text about disks of another cluster, which comes before everything else, even before an
    outage. Nothing where the verdict begins with that fact."""
    for fact in verdict.of_other_clusters:
        if fact is not verdict.facts[0]:
            yield level_line(fact.level, fact.text)
            yield from steps.of(fact)


def verdict_in_short(verdict: Verdict, answer: Sequence[str] = ()) -> Iterator[str]:
    """The verdict in a few lines, for a command that then prints another answer. answer: the lines
    that come second, with the command's own answer in short.

    The lines below the first have the other facts that weigh most, else what could not be judged,
    and then what to do first. The last line names the runbook. What is wrong with the disks of
    several clusters comes first, with what to do.
    """
    yield from _of_other_clusters(verdict, _Steps(None))
    yield verdict_line(verdict)
    yield from answer
    for fact in verdict.facts[:1]:
        yield from step_lines(fact) if fact.is_of_other_clusters else ()
    weighty, others = verdict.besides
    gaps, held = verdict.not_judged, verdict.read_first
    yield from _read_first(verdict)
    yield from (labelled("also", fact.text) for fact in weighty if fact is not held)
    if others:
        yield labelled("", f"and {len(others)} more: `kraftlake check` lists them")
    elif not weighty and gaps and verdict.level is not Level.INCOMPLETE:
        yield labelled("not judged", _gap(gaps[0]))
    if verdict.facts and not verdict.facts[0].is_of_other_clusters:
        said = "" if held is None else held.next_step
        steps = [step for step in verdict.next_steps if step != said]
        yield from (labelled("next", step) for step in steps[:1])
    yield from _runbook(verdict)


def _runbook(verdict: Verdict) -> Iterator[str]:
    if verdict.runbook is not None:
        yield labelled("runbook", runbook_text(verdict.runbook))


def runbook_text(name: str) -> str:
    """The name of a runbook and the command that prints it, wherever kraftlake is installed."""
    return f"{name}: `{line('kraftlake', 'explain', '--runbook', name)}` prints it"


def step_lines(fact: Fact) -> Iterator[str]:
    """The lines that say what to do about a fact; no line where the fact needs no action."""
    if fact.next_step:
        yield labelled("  next", fact.next_step)


def _identity(verdict: Verdict, how: str) -> Iterator[str]:
    """The cluster's id, and the number of notes. how: the command or option that lists them."""
    if verdict.cluster_id is not None:
        yield verdict.cluster_id
    if verdict.notes:
        needs = "note that needs" if verdict.notes == 1 else "notes that need"
        yield f"{verdict.notes} {needs} no action ({how} lists them)"


def _gap(gap: Gap) -> str:
    return sentence(f"{gap.what}, because {gap.why}") + (f" {gap.next_step}" * bool(gap.next_step))


def labelled(label: str, text: str) -> str:
    """A line of a verdict, below the first line."""
    return f"{label:<{_WIDTH}}{one_line(text)}"


def write_verdict(verdict: Verdict, *, json_output: bool, answer: Sequence[str] = ()) -> None:
    """Prints the verdict in short, with the moment that it and the answer are about, and an empty
    line; or as a line of JSON. answer: as in verdict_in_short."""
    lines = [*verdict_in_short(verdict, answer)]
    if verdict.state is not None:
        lines.append(labelled("as of", verdict.state.text))
    lines.append(labelled("cluster", verdict.cluster_id or "of an unknown id"))
    write_either([verdict_row(verdict)], [*lines, ""], json_output=json_output)


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    """The verdict in the form of --json."""
    state = verdict.state
    return {
        "kind": "verdict",
        "cluster_id": verdict.cluster_id,
        "level": verdict.level.value,
        "headline": verdict.headline,
        "facts": [_fact_row(fact) for fact in verdict.facts],
        "next_steps": list(verdict.next_steps),
        "runbook": verdict.runbook,
        "not_judged": gap_rows(verdict),
        "notes": verdict.notes,
        "end_offset": None if state is None else state.end_offset,
        "at": None if state is None else state.at_ms,
        "source": None if state is None else state.source,
    }


def _fact_row(fact: Fact) -> dict[str, Any]:
    return {
        "level": fact.level.value,
        "severity": fact.severity.value,
        "text": fact.text,
        "next_step": fact.next_step,
        "rules": list(fact.rules),
    }


def gap_rows(verdict: Verdict | None) -> list[dict[str, Any]]:
    """What could not be judged, in the form of --json; empty without a verdict."""
    gaps = () if verdict is None else verdict.not_judged
    return [{"what": gap.what, "why": gap.why, "next_step": gap.next_step} for gap in gaps]
