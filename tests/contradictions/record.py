"""The record of how many statements about simulated clusters were right, unknown and wrong.

Run from the repository's root, after seeds were asked with CONTRADICTION_COUNTS=FOLDER:
    python -m tests.contradictions.record FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.contradictions.statements import Outcome, Statement

RECORD = Path(__file__).parent / "RECORD.md"
_HEAD = """\
# Statements about simulated clusters, held to the truth

Made by `python -m tests.contradictions.record`, from the answers about seeds {seeds}:
{clusters} clusters in all, which are each seed's quorum whole, with disks lost, and with one disk
replaced by an older copy, without and with earlier captures. Of five seeds one is in a lake whole,
and one with the older copy. The simulator knows what was committed, who led and who was down; each
row counts the statements that one rule of tests/contradictions holds to that. A seed takes seven
seconds of processor time, and more beside others: 20,000 clusters would take ten hours.

- Unknown: the command says that it doesn't know, or nothing.
- Hidden: untrue, and no file shows it: a disk was replaced by an older copy, and no other file
  tells what it held. docs/how-to/runbooks/disk-that-forgot.md names this limit.

{totals}

| rule | said by | right | unknown | hidden | wrong |
|---|---|---|---|---|---|
"""


class Counts:
    """The counts of statements about the clusters of some seeds."""

    def __init__(self, seeds: range) -> None:
        self.seeds, self.clusters = seeds, 0
        self._counted: Counter[tuple[str, str, str]] = Counter()

    def add(self, rule: str, statements: Iterable[Statement]) -> None:
        for one in statements:
            self._counted[rule, one.by, one.outcome.value] += one.count

    def keep(self) -> None:
        """Writes the counts into the folder that CONTRADICTION_COUNTS names, if it names one."""
        folder = os.environ.get("CONTRADICTION_COUNTS")
        if folder is not None:
            rows = [[*key, count] for key, count in sorted(self._counted.items())]
            kept = {"seeds": [*self.seeds], "clusters": self.clusters, "counts": rows}
            file = Path(folder) / f"{self.seeds.start}-{self.seeds.stop}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(kept))


def record(folder: Path) -> str:
    """The record of the counts in a folder, each seed once."""
    seeds: set[int] = set()
    clusters, counted = 0, Counter[tuple[str, str, str]]()
    for file in sorted(folder.glob("*.json")):
        kept = json.loads(file.read_text())
        assert seeds.isdisjoint(kept["seeds"]), f"{file} has seeds that another file has"
        seeds.update(kept["seeds"])
        clusters += kept["clusters"]
        for rule, by, outcome, count in kept["counts"]:
            counted[rule, by, outcome] += count
    totals = Counter[str]()
    for (_, _, outcome), count in counted.items():
        totals[outcome] += count
    told = ", ".join(f"{totals[one.value]:,} {one.value}" for one in _ORDER)
    lines = [
        f"| {rule.replace('_', ' ')} | {by} | "
        + " | ".join(f"{counted[rule, by, one.value]:,}" for one in _ORDER)
        + " |"
        for rule, by in dict.fromkeys((rule, by) for rule, by, _ in sorted(counted))
    ]
    head = _HEAD.format(
        seeds=_ranges(seeds),
        clusters=f"{clusters:,}",
        totals=f"{sum(totals.values()):,} statements: {told}.",
    )
    return head + "\n".join(lines) + "\n"


_ORDER = (Outcome.RIGHT, Outcome.UNKNOWN, Outcome.HIDDEN, Outcome.WRONG)


def _ranges(seeds: Iterable[int]) -> str:
    """The seeds as ranges, such as "0 to 499, 525 to 549"."""
    found: list[list[int]] = []
    for seed in sorted(seeds):
        if found and found[-1][1] == seed - 1:
            found[-1][1] = seed
        else:
            found.append([seed, seed])
    return ", ".join(f"{first} to {last}" for first, last in found)


if __name__ == "__main__":
    RECORD.write_text(record(Path(sys.argv[1])))
