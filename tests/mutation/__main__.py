"""`python -m tests.mutation` chooses mutants of the code at random, the same each time. It writes
to tests/MUTATIONS.md which of them the tests near their module find.

`python -m tests.mutation history` judges one area; the page then keeps its text about the others.
`--judge AREA` continues an interrupted area in build/mutation, and `--record` writes the present
results into the page.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.judging import Judging
from tests.mutation.mutants import Mutant, mutants

SAMPLE = 40
SEED = 41
RECORD = Path("tests/MUTATIONS.md")
RESULTS = Path("build/mutation")


@dataclass(frozen=True)
class Area:
    """Folders or modules, and the tests near them."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


AREAS = {
    "raft": Area(("replica/raft",), ("tests/replica/raft",)),
    "history": Area(("replica/history",), ("tests/replica/history",)),
    "check": Area(("replica/doctor/check",), ("tests/replica/doctor/check",)),
    "preflight": Area(("replica/doctor/preflight",), ("tests/replica/doctor/preflight",)),
    "health": Area(("replica/doctor/health",), ("tests/replica/doctor/health",)),
    "replay": Area(
        ("replica/metadata/image", "replica/metadata/changes"),
        (
            "tests/replica/metadata/image",
            "tests/replica/metadata/changes",
            "tests/replica/doctor/check/test_passed_over.py",
            "tests/replica/doctor/check/test_readable.py",
        ),
    ),
}


def sample(area: Area) -> list[Mutant]:
    """Random mutants of an area, in the order of the code."""
    paths = sorted(path for folder in area.code for path in Path(folder).rglob("*.py"))
    every = [one for path in paths for one in mutants(str(path), path.read_text())]
    chosen = random.Random(SEED).sample(range(len(every)), SAMPLE)
    return [every[index] for index in sorted(chosen)]


def judge(name: str) -> None:
    """Judges an area, in a process of its own, because the mutants are children of it."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    area = AREAS[name]
    options = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--durations=0", *area.tests]
    plugin = Judging(sample(area), RESULTS / f"{name}.json")
    raise SystemExit(pytest.main(options, plugins=[plugin]))


def lines(name: str) -> Iterator[str]:
    """The page's lines about an area."""
    names = {mutant.name for mutant in sample(AREAS[name])}
    results = map(json.loads, (RESULTS / f"{name}.json").read_text().splitlines())
    verdicts = [(one, verdict) for one, _, verdict in results if one in names]
    is_same = [one in EQUIVALENT and verdict != "killed" for one, verdict in verdicts]
    counts = Counter(
        "equivalent" if same else verdict
        for same, (_, verdict) in zip(is_same, verdicts, strict=True)
    )
    yield f"## {name}"
    yield ""
    left_over = {"not judged yet": SAMPLE - len(verdicts)} if len(verdicts) < SAMPLE else {}
    told = {**dict(sorted(counts.items())), **left_over}
    yield ", ".join(f"{count} {word}" for word, count in told.items()) + "."
    left = [
        (one, f"equivalent: {EQUIVALENT[one]}" if same else verdict)
        for same, (one, verdict) in zip(is_same, verdicts, strict=True)
        if verdict != "killed"
    ]
    if left:
        yield ""
        yield "| mutant | verdict |"
        yield "|---|---|"
    for one, word in left:
        shown = one.replace("|", "\\|")
        yield f"| `{shown}` | {word} |"
    yield ""


HEAD = f"""# Mutants of the code, and which tests find them

Made by `python -m tests.mutation`: {SAMPLE} mutants of each area, by chance (seed {SEED}). A mutant
is one function, changed in one place: an operator, a number, a condition, a statement left out,
nothing returned. It is killed if a test near its module fails, and equivalent if it does what the
code does; tests/mutation/equivalent.py says why.

"""


def record() -> None:
    sections: dict[str, str] = {}
    kept = RECORD.read_text() if RECORD.exists() else ""
    for part in re.split(r"(?m)^(?=## )", kept)[1:]:
        sections[part[3:].split("\n", 1)[0]] = part
    for name in AREAS:
        if (RESULTS / f"{name}.json").exists():
            sections[name] = "\n".join(lines(name)) + "\n"
    RECORD.write_text(HEAD + "".join(sections[name] for name in AREAS if name in sections))


def main(names: list[str]) -> None:
    for name in names or AREAS:
        (RESULTS / f"{name}.json").unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.mutation", "--judge", name]
        done = subprocess.run(command, env={**os.environ, "HYPOTHESIS_PROFILE": "quick"})
        if not (RESULTS / f"{name}.json").exists():
            raise SystemExit(f"no mutant of {name} was judged: pytest ended with {done.returncode}")
        record()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--judge"]:
        judge(sys.argv[2])
    elif sys.argv[1:2] == ["--record"]:
        record()
    else:
        main(sys.argv[1:])
