"""Kills `kraftlake ingest` with -9, and compares the tables after a later run.

    python -m tests.fuzz.ingest_kills --kills 100 --seed 1 --write

It kills ingests of the recorded captures at random moments, several times on one lake. Then it runs
them to their end, and compares all bronze tables with those of an ingest that was not killed.
INGEST_KILLS.md has the result of the last campaign.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.kraftlake_process import REPOSITORY, command_line

DATA = REPOSITORY / "tests" / "data"
BEFORE = ("kafka-3.7.2-static/live/3", "kafka-4.1.1-dynamic/live/1")
AFTER = ("kafka-3.7.2-static/split/3", "kafka-4.1.1-dynamic/split/1")
"""Node 3 loses the head of its log to a snapshot, node 1 of the other cluster gets a new disk."""
BEFORE_AT, AFTER_AT = "2026-11-21T01:00Z", "2026-11-21T02:00Z"
RECORD = Path(__file__).with_name("INGEST_KILLS.md")
KILLS_OF_ROUND = 10
TABLES = (
    "captures",
    "log_batches",
    "log_records",
    "snapshots",
    "snapshot_records",
    "replica_state",
    "damage",
    "findings",
)


def command(lake: Path, nodes: tuple[str, ...], captured_at: str) -> list[str]:
    """The ingest of recorded nodes as a process."""
    paths = [str(DATA / node) for node in nodes]
    options = ["--lake", str(lake), "--captured-at", captured_at]
    return command_line("ingest", *options, *paths)


def ingest(lake: Path, nodes: tuple[str, ...], captured_at: str) -> None:
    """Runs the ingest undisturbed. Raises CalledProcessError where it fails."""
    asked = command(lake, nodes, captured_at)
    subprocess.run(asked, check=True, cwd=REPOSITORY, capture_output=True)


def first(lake: Path) -> None:
    ingest(lake, BEFORE, BEFORE_AT)


def second(lake: Path) -> None:
    ingest(lake, AFTER, AFTER_AT)


def _started(lake: Path) -> tuple[subprocess.Popen[str], IO[str]]:
    """The second ingest as a process, and its output to the user."""
    asked = command(lake, AFTER, AFTER_AT)
    process = subprocess.Popen(
        asked, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    return process, process.stderr


def kill_second(
    lake: Path, *, at_line: str | None = None, after_s: float | None = None
) -> str | None:
    """Runs the second ingest, and kills it when it prints a line with this end, or some seconds
    after its first line. Gives its last line; None where it had ended before."""
    process, said = _started(lake)
    last = ""
    for line in said:
        if not line.startswith("ingest:"):
            continue
        if not last and after_s is not None:
            threading.Timer(after_s, process.kill).start()
        last = line.rstrip()
        if at_line is not None and last.endswith(at_line):
            process.kill()
            break
    said.close()
    process.wait()
    return last if process.returncode == -signal.SIGKILL else None


def working_s(lake: Path) -> float:
    """The seconds that the second ingest takes undisturbed, from its first line to its end."""
    process, said = _started(lake)
    while not said.readline().startswith("ingest:"):
        pass
    began = time.monotonic()
    said.read()
    said.close()
    assert process.wait() == 0
    return time.monotonic() - began


def tables(lake: Path) -> dict[str, list[str]]:
    """Every row of the bronze tables, in an order that doesn't depend on their files."""
    from deltalake import DeltaTable, QueryBuilder

    found = {}
    for name in TABLES:
        table = DeltaTable(str(lake / "bronze" / name))
        rows: Any = QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
        columns = [rows.column(column).to_pylist() for column in sorted(rows.column_names)]
        found[name] = sorted(repr(row) for row in zip(*columns, strict=True))
    return found


@dataclass(frozen=True)
class Killed:
    """A kill. after_s: the seconds from the first line to the kill. said: the last
    line before it."""

    after_s: float
    said: str


@dataclass(frozen=True)
class Round:
    """One lake: its kills, and whether the tables were right after the run that followed the last
    kill."""

    kills: tuple[Killed, ...]
    equal: bool


def campaign(kills: int, seed: int, folder: Path) -> list[Round]:
    """Makes at least `kills` random kills, up to KILLS_OF_ROUND of them one after another on a
    fresh copy of the first ingest's lake."""
    draw = random.Random(seed)
    base, whole = folder / "base", folder / "whole"
    first(base)
    took = min(_undisturbed(base, whole) for _ in range(3))
    expected = tables(whole)
    rounds: list[Round] = []
    while (done := sum(len(one.kills) for one in rounds)) < kills:
        lake = folder / "killed"
        shutil.copytree(base, lake)
        most = min(KILLS_OF_ROUND, kills - done)
        killed = tuple(_killed_in_a_row(lake, draw, took, most))
        if len(killed) == most:
            second(lake)
        rounds.append(Round(killed, tables(lake) == expected))
        _tell(done, rounds[-1])
        shutil.rmtree(lake)
    return rounds


def _undisturbed(base: Path, whole: Path) -> float:
    """Makes `whole` a copy of the first ingest's lake, with the second ingest in it. Gives the
    result of working_s."""
    shutil.rmtree(whole, ignore_errors=True)
    shutil.copytree(base, whole)
    return working_s(whole)


def _killed_in_a_row(lake: Path, draw: random.Random, took: float, most: int) -> Iterator[Killed]:
    """Kills ingests until one has ended before it could be killed. took: the seconds of an
    undisturbed ingest."""
    for _ in range(most):
        after_s = draw.uniform(0.0, took)
        said = kill_second(lake, after_s=after_s)
        if said is None:
            return
        yield Killed(after_s, said)


def _tell(before: int, done: Round) -> None:
    end = "equal" if done.equal else "NOT EQUAL"
    for number, kill in enumerate(done.kills, before + 1):
        sys.stdout.write(f"{number}: {kill.after_s:.1f} s, {kill.said}\n")
    sys.stdout.write(f"{end} behind {before + len(done.kills)} kills\n")
    sys.stdout.flush()


def report(rounds: list[Round], seed: int, seconds: float) -> str:
    """The text of INGEST_KILLS.md."""
    kills = [kill for one in rounds for kill in one.kills]
    said = Counter(kill.said.rpartition(": ")[2] for kill in kills)
    rows = "\n".join(f"| {line} | {count} |" for line, count in sorted(said.items()))
    right = sum(one.equal for one in rounds)
    return f"""# Ingests killed with -9 at random moments

`python -m tests.fuzz.ingest_kills --kills {len(kills)} --seed {seed} --write`, {seconds:,.0f} s

{len(kills)} ingests were killed on {len(rounds)} lakes, up to {KILLS_OF_ROUND} of them one after
another on one lake, and one ran to its end: on {right} of {len(rounds)} lakes all
bronze tables then held the rows of a run that nobody disturbed. What a killed one had said last:

| step | kills |
|---|---|
{rows}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    asked = parser.parse_args()
    os.environ.setdefault("PYTHONPATH", str(REPOSITORY))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rounds = campaign(asked.kills, asked.seed, Path(folder))
    text = report(rounds, asked.seed, time.monotonic() - began)
    sys.stdout.write(text)
    if asked.write:
        RECORD.write_text(text, encoding="utf-8")
    return 0 if all(one.equal for one in rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
