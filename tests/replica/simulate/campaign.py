"""A campaign of the simulator that goes on where it stopped, and its record.

    python -m tests.replica.simulate.campaign --seeds 0:1000000 --minutes 60 --write

FILE has a line for each finished run, and FILE.times has how long the runs took. A call goes on
with the first seed that has no line. --write puts the figures and tables of all finished runs into
CAMPAIGN.md, below its line START. Without --minutes no run begins.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jobs.cli.engine.simulate import read_done, remembering, results
from jobs.cli.option_values import seeds_in
from replica.raft.transitions import Transition
from replica.simulate.broken import INVARIANTS
from replica.simulate.coverage import ALL_TRANSITIONS, COUNTED
from replica.simulate.faulty_run import Result
from replica.simulate.guided import Corpus, PlannedRun
from replica.simulate.nemesis import FAULTS

PAGE = Path(__file__).with_name("CAMPAIGN.md")
START = "<!-- what follows is written by python -m tests.replica.simulate.campaign --write -->\n"
WHOLE = 1_000_000
"""How many seeds a whole campaign has. The page estimates how long they all take."""
_EVERY_S = 10.0


@dataclass(frozen=True)
class Call:
    """One call of this program. seconds: of runs alone. load: the machine's load at its end."""

    runs: int
    seconds: float
    jobs: int
    load: float
    revision: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 where an invariant broke, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default=f"0:{WHOLE}", metavar="A:B")
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--state", type=Path, default=Path("build/campaign.jsonl"), metavar="FILE")
    parser.add_argument("--minutes", type=float, default=0.0, help="begin no run after them")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args(arguments)
    asked.state.parent.mkdir(parents=True, exist_ok=True)
    go_on(asked.state, seeds_in(asked.seeds), asked.events, asked.minutes * 60, asked.jobs)
    done = list(read_done(str(asked.state), asked.events).values())
    said = record(done, asked.events, calls(asked.state))
    sys.stdout.write(said)
    if asked.write:
        before = asked.page.read_text(encoding="utf-8").partition(START)[0]
        asked.page.write_text(before + START + said, encoding="utf-8")
    return 1 if any(result.broken for result in done) else 0


def go_on(state: Path, seeds: range, events: int, within_s: float, jobs: int) -> None:
    """Runs the next runs of a guided campaign, until the time is over or none is left."""
    done = read_done(str(state), events)
    corpus = Corpus(events)
    for result in done.values():
        corpus.add(result)
    began, runs, revision = time.monotonic(), 0, _revision()
    last = began

    def plans() -> Iterator[PlannedRun]:
        for number in seeds:
            if time.monotonic() - began >= within_s:
                return
            if number not in done:
                yield corpus.plan(number)

    with remembering(str(state)) as remember:
        for result in results(plans(), events, jobs):
            remember(corpus.add(result))
            runs, now = runs + 1, time.monotonic()
            if now - last > _EVERY_S:
                _took(state, Call(runs, now - last, jobs, os.getloadavg()[0], revision))
                last, runs = now, 0
    if runs:
        _took(state, Call(runs, time.monotonic() - last, jobs, os.getloadavg()[0], revision))


def calls(state: Path) -> list[Call]:
    """The notes of this program's calls beside the runs."""
    path = _times(state)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Call(**json.loads(line)) for line in lines]


def record(done: Sequence[Result], events: int, times: Sequence[Call]) -> str:
    """The page's part for these runs."""
    return "\n".join((*_figures(done, events, times), "", *_tables(done), ""))


def _figures(done: Sequence[Result], events: int, times: Sequence[Call]) -> Iterator[str]:
    broken = [result for result in done if result.broken]
    forked = sum(bool(result.forks) for result in done)
    yield f"## The newest campaign, {datetime.now(UTC).date().isoformat()}"
    yield ""
    yield (
        f"**{len(done):,} runs of {events:,} events, {forked:,} of them forked from others: "
        f"{len(done) * events:,} events, "
        f"{f'{len(broken)} broken' if broken else 'no broken invariant'}.** "
        f"{sum(result.committed for result in done):,} records committed, "
        f"{sum(result.acknowledged for result in done):,} batches acknowledged to clients; "
        f"{len({text for result in done for text in result.reached}):,} different quadruples of "
        "role, message, outcome and newest fault."
    )
    for result in broken:
        yield f"- {result.broken}; again: `{result.replay_command}`"
    seconds = sum(call.seconds for call in times)
    if not seconds:
        return
    rate = sum(call.runs for call in times) * events / seconds
    loads = sorted(call.load for call in times)
    jobs = "/".join(str(number) for number in sorted({call.jobs for call in times}))
    revisions = ", ".join(dict.fromkeys(call.revision for call in times))
    yield ""
    yield (
        f"{jobs} process, revision {revisions}: {rate:,.0f} events/s in {seconds / 60:,.0f} "
        "minutes, the events in which a run settles left out, on two cores with a load of "
        f"{loads[0]:.0f} to {loads[-1]:.0f} (median {loads[len(loads) // 2]:.0f}). At this rate "
        f"{WHOLE:,} runs take {WHOLE * events / rate / 3600:,.0f} hours; {len(done) / WHOLE:.2%} "
        "of them are done."
    )


def _tables(done: Sequence[Result]) -> Iterator[str]:
    numbers = [sum(column) for column in zip(*(r.counts for r in done if r.counts), strict=True)]
    times = dict(zip(COUNTED, numbers, strict=True)) if numbers else {}
    under, steps = _faults_of(text for result in done for text in result.reached)
    rows = [
        (_name(each.of), each.cause.name, _name(each.to), f"{times.get(each, 0):,}", under[each])
        for each in ALL_TRANSITIONS
    ]
    yield "By transition; of the last column, role and cause alone count."
    yield ""
    yield from _table(
        ("from", "cause", "to", "times", f"under so many of {len(FAULTS)} faults"), rows
    )
    yield ""
    yield from _table(
        ("fault", "strikes", "different steps under it"),
        [(fault.replace("_", " "), f"{times.get(fault, 0):,}", steps[fault]) for fault in FAULTS],
    )
    yield ""
    yield from _table(
        ("rule", "judged", "what it says"),
        [(rule, f"{times.get(rule, 0):,}", says) for rule, says in INVARIANTS.items()],
    )


def _faults_of(texts: Iterable[str]) -> tuple[Counter[Transition], Counter[str]]:
    """For each transition, the number of faults under which its role and cause came together; and
    for each fault, the number of different steps under it."""
    steps: Counter[str] = Counter()
    together: set[tuple[str, str, str]] = set()
    for text in set(texts):
        role, _, outcome, fault = text.split()
        steps[fault] += 1
        if fault in FAULTS:
            together.add((role, outcome, fault))
    pairs = Counter((role, outcome) for role, outcome, _ in together)
    return Counter({t: pairs[t.of.__name__, t.cause.name] for t in ALL_TRANSITIONS}), steps


def _table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def _name(role: type[object]) -> str:
    return role.__name__.lower()


def _took(state: Path, call: Call) -> None:
    with _times(state).open("a", encoding="utf-8") as file:
        file.write(json.dumps(vars(call)) + "\n")


def _times(state: Path) -> Path:
    return state.with_name(f"{state.name}.times")


def _revision() -> str:
    words = ("git", "rev-parse", "--short", "HEAD")
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
