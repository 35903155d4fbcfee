"""Kills `kraftlake ingest` with -9, and compares the tables after a later run.

    python -m tests.fuzz.ingest_kills --kills 100 --seed 1 --write

It kills ingests of the recorded captures at random moments, several times on one lake. Then it runs
them to their end, and compares all bronze tables with those of an ingest that was not killed.
INGEST_KILLS.md has the results of the last campaigns. --engine spark kills Spark's drivers.
--engine spark --executors kills the executors of a cluster, and their Python workers.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tests.cluster.standalone import Cluster
from tests.fuzz import spark_kills
from tests.fuzz.running_ingest import RunningIngest
from tests.fuzz.spark_kills import COMMAND, JVM, Killed, fault_of, kill_command, kill_jvm
from tests.kraftlake_process import REPOSITORY, command_line
from tests.waiting import until

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


@dataclass(frozen=True)
class By:
    """What runs the second ingest: more words of the command, and its environment."""

    words: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None

    def start(self, lake: Path) -> RunningIngest:
        return RunningIngest([*command(lake, AFTER, AFTER_AT), *self.words], lake, self.variables)


LOCAL = By()
BY_SPARK = ("--engine", "spark")


def kill_second(
    lake: Path,
    *,
    at_line: str | None = None,
    after_s: float = 0.0,
    by: By = LOCAL,
    victim: Callable[[RunningIngest], str] = kill_command,
    below: set[int] | None = None,
) -> Killed | None:
    """Runs the second ingest, and kills it some seconds after its first line, or after the line
    with this end. None where it had ended before. victim: kills a process of the ingest, and gives
    its name. below: gets the processes that the ingest had started."""
    running = by.start(lake)
    first_line = running.wait_for(lambda: running.lines[:1])
    began = time.monotonic()
    if first_line and at_line is not None:
        running.wait_for(lambda: any(line.endswith(at_line) for line in running.lines))
    running.pause(after_s)
    started, said, after = running.descendants, running.lines, time.monotonic() - began
    if not running.is_running:
        running.wait()
        return None
    killed = Killed(after, said[-1], victim(running))
    if below is not None:
        below.update(started)
    code = running.wait()
    if killed.victim == COMMAND:
        return killed if code == -signal.SIGKILL else None
    return replace(killed, fault=fault_of(code, running.said))


def moments(lake: Path, by: By = LOCAL) -> list[tuple[str, float]]:
    """The lines that an undisturbed ingest prints, each with the seconds since its first line. The
    last line is empty, and stands for the end of the ingest."""
    running = by.start(lake)
    found: list[tuple[str, float]] = []
    began: list[float] = []

    def look() -> None:
        new = running.lines[len(found) :]
        if new and not began:
            began.append(time.monotonic())
        found.extend((line, time.monotonic() - began[0]) for line in new)

    running.wait_for(look)
    assert running.wait() == 0, running.said
    look()
    return [*found, ("", time.monotonic() - began[0])]


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
class Round:
    """One lake: its kills, and whether the tables were right after the ingest that followed the
    last kill. again: the ingests that ended with a line about a kill, and were run again. lost: the
    executors and tasks that Spark's driver logged as lost."""

    kills: tuple[Killed, ...]
    again: int = 0
    lost: int = 0
    equal: bool = False

    @property
    def is_right(self) -> bool:
        return self.equal and not any(kill.fault for kill in self.kills)


class Kind(Protocol):
    """What is killed."""

    title: str
    options: str
    by: By

    def told(self, rounds: list[Round]) -> str:
        """What was done, as a sentence of the record."""

    def kills_on(
        self, lake: Path, draw: random.Random, whole: list[tuple[str, float]], most: int
    ) -> Round:
        """Kills up to `most` processes of second ingests, the last of which ends undisturbed.
        whole: the moments of an undisturbed ingest."""


@dataclass
class Commands:
    """Ingests are killed one after another, until one has ended before it could be killed."""

    title: str = "By the local engine"
    options: str = ""
    by: By = LOCAL
    victims: tuple[Callable[[RunningIngest], str], ...] = (kill_command,)

    def told(self, rounds: list[Round]) -> str:
        kills = [kill for one in rounds for kill in one.kills]
        what = "of Spark's drivers" if self.by.words else "ingests"
        said = (
            f"{len(kills)} {what} were killed on {len(rounds)} lakes, up to {KILLS_OF_ROUND} of "
            "them one after\nanother on one lake, and one ingest ran to its end."
        )
        if not self.by.words:
            return said
        jvms = [kill for kill in kills if kill.victim == JVM]
        well = sum(kill.fault is None for kill in jvms)
        return (
            f"{said} {well} of {len(jvms)} commands that lost\ntheir JVM ended by themselves, "
            "with 0 or with an error of one line."
        )

    def kills_on(
        self, lake: Path, draw: random.Random, whole: list[tuple[str, float]], most: int
    ) -> Round:
        below: set[int] = set()
        killed = []
        for _ in range(most):
            line, after_s = _moment(draw, whole)
            victim = draw.choice(self.victims)
            kill = kill_second(
                lake, at_line=line, after_s=after_s, by=self.by, victim=victim, below=below
            )
            if kill is None:
                break
            killed.append(kill)
        if len(killed) == most:
            moments(lake, self.by)
        until(lambda: not any(map(_runs, below)), "processes of killed ingests don't end")
        return Round(tuple(killed))


def _moment(draw: random.Random, whole: list[tuple[str, float]]) -> tuple[str, float]:
    """A moment of an ingest, as seconds after a line: of all its time, or of a step of it, so that
    short steps are met, too."""
    if draw.random() < 0.5:
        return whole[0][0], draw.uniform(0.0, whole[-1][1])
    step = draw.randrange(len(whole) - 1)
    return whole[step][0], draw.uniform(0.0, whole[step + 1][1] - whole[step][1])


def _runs(pid: int) -> bool:
    """Whether the process runs: one that has ended, and that nobody waited for, doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass
class Executors:
    """While an ingest goes on, processes of its executors are killed. It is run again where it has
    failed."""

    cluster: Cluster
    by: By
    title: str = "Spark's executors"
    options: str = " --engine spark --executors"

    def told(self, rounds: list[Round]) -> str:
        kills = sum(len(one.kills) for one in rounds)
        again, lost = sum(one.again for one in rounds), sum(one.lost for one in rounds)
        return (
            f"{kills} executors and Python workers were killed during {len(rounds)} ingests, "
            f"up to {KILLS_OF_ROUND} of\nthem during one. Spark's driver logged {lost} lost "
            f"executors and tasks. {len(rounds) - again} ingests ended by themselves\nwith 0; "
            f"{again} ended with an error of one line, and the next run ended with 0."
        )

    def kills_on(
        self, lake: Path, draw: random.Random, whole: list[tuple[str, float]], most: int
    ) -> Round:
        running = self.by.start(lake)
        pause_s = whole[-1][1] / 4
        found = spark_kills.kill_executors(running, self.cluster, draw, most, pause_s)
        killed = [*found]
        code = running.wait()
        lost = len(re.findall(r": Lost (?:executor|task) ", running.said))
        if code and killed:
            killed[-1] = replace(killed[-1], fault=fault_of(code, running.said))
        if code:
            sys.stdout.write(f"exit {code}: {running.said.splitlines()[-1]}\n")
            moments(lake, self.by)
        return Round(tuple(killed), int(code != 0), lost)


def campaign(kind: Kind, kills: int, seed: int, folder: Path, until_s: float) -> list[Round]:
    """Makes at least `kills` random kills, up to KILLS_OF_ROUND of them on a fresh copy of the
    first ingest's lake. until_s: no round begins at this moment of time.monotonic or later."""
    draw = random.Random(seed)
    base, undisturbed = folder / "base", folder / "whole"
    first(base)
    shutil.copytree(base, undisturbed)
    whole = moments(undisturbed, kind.by)
    expected = tables(undisturbed)
    rounds: list[Round] = []
    while (done := sum(len(one.kills) for one in rounds)) < kills and time.monotonic() < until_s:
        lake = folder / "killed"
        shutil.copytree(base, lake)
        one = kind.kills_on(lake, draw, whole, min(KILLS_OF_ROUND, kills - done))
        one = replace(one, equal=tables(lake) == expected)
        _tell(done, one)
        if one.kills:
            rounds.append(one)
        shutil.rmtree(lake)
    return rounds


def _tell(before: int, done: Round) -> None:
    end = "equal" if done.equal else "NOT EQUAL"
    for number, kill in enumerate(done.kills, before + 1):
        fault = f", WRONG: {kill.fault}" if kill.fault else ""
        sys.stdout.write(f"{number}: {kill.victim}, {kill.after_s:.1f} s, {kill.said}{fault}\n")
    sys.stdout.write(f"{end} behind {before + len(done.kills)} kills\n")
    sys.stdout.flush()


def report(kind: Kind, rounds: list[Round], seed: int, seconds: float) -> str:
    """The section of INGEST_KILLS.md about a campaign."""
    kills = [kill for one in rounds for kill in one.kills]
    steps = Counter((kill.victim, kill.said.rpartition(": ")[2]) for kill in kills)
    rows = "\n".join(
        f"| {victim} | {line} | {count} |" for (victim, line), count in sorted(steps.items())
    )
    right = sum(one.is_right for one in rounds)
    words = f"--kills {len(kills)}{kind.options} --seed {seed} --write"
    return f"""## {kind.title}

`python -m tests.fuzz.ingest_kills {words}`, {seconds:,.0f} s

{kind.told(rounds)} On {right} of {len(rounds)} lakes all
bronze tables then held the rows of a run that nobody disturbed.

| killed | what the ingest had said last | kills |
|---|---|---|
{rows}
"""


def with_section(record: str, section: str) -> str:
    """The record with this section in the place of the one with the same title, or at its end."""
    head, *sections = re.split(r"^(?=## )", record, flags=re.MULTILINE)
    by_title = {one.splitlines()[0]: one.strip() for one in [*sections, section]}
    return "\n\n".join([head.strip(), *by_title.values()]) + "\n"


@contextmanager
def _kind(asked: argparse.Namespace, folder: Path) -> Iterator[Kind]:
    if asked.engine == "local":
        yield Commands()
    elif asked.executors:
        with spark_kills.cluster(folder) as (cluster, variables):
            yield Executors(cluster, By(BY_SPARK, variables))
    else:
        by = By(BY_SPARK, spark_kills.environment(folder))
        yield Commands("Spark's drivers", " --engine spark", by, (kill_command, kill_jvm))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--executors", action="store_true", help="kill those, not the driver")
    parser.add_argument("--minutes", type=float, default=600, help="no lake begins after these")
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    asked = parser.parse_args()
    os.environ.setdefault("PYTHONPATH", str(REPOSITORY))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, _kind(asked, Path(folder)) as kind:
        rounds = campaign(kind, asked.kills, asked.seed, Path(folder), began + asked.minutes * 60)
        text = report(kind, rounds, asked.seed, time.monotonic() - began)
    sys.stdout.write(text)
    if asked.write:
        RECORD.write_text(with_section(RECORD.read_text("utf-8"), text), encoding="utf-8")
    return 0 if all(one.is_right for one in rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
