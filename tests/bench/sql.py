"""How soon `kraftlake sql` answers the ten commonest questions, as a process of its own.

python -m tests.bench.sql LAKE [--rounds N] [--write]

Each round asks every question once, beside two yardsticks: the interpreter that does nothing, and
delta-rs that counts one table's rows without any code of kraftlake. Measured is the time from the
start of the process to the first byte it prints that is no header, and to its end. Everything is
read once before, so it comes from the page cache. --write: into SQL.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from jobs.cli.asking.questions import question
from pipelines.lake import Lake
from tests.bench.rounds import Spread
from tests.kraftlake_process import command_line

COMMONEST = (
    "leaders",
    "leader-epochs",
    "divergences",
    "truncations",
    "broken-snapshots",
    "findings",
    "captures",
    "changes",
    "topics",
    "voters",
)
GOAL_S = 0.5
RECORD = Path(__file__).with_name("SQL.md")
_ROOT = Path(__file__).parents[2]
_NOTHING = "`python -c pass` (to its end)"
_BARE = "delta-rs alone, count of gold.leader_epoch_history"
_COUNT = (
    "import sys; from deltalake import DeltaTable, QueryBuilder; "
    "b = QueryBuilder(); b.register('t', DeltaTable(sys.argv[1])); "
    "print(b.execute('select count(*) from t').read_all()[0][0])"
)


@dataclass(frozen=True)
class Answered:
    """The seconds from the start of a process to its first row, or to its end where it has none.

    cpu: CPU seconds, user and system, which other work on the machine hardly changes.
    """

    first_row: float
    end: float
    cpu: float
    rows: int


def ask(command: list[str], header: int) -> Answered:
    """Runs the command. header: the number of output lines that are no rows."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, env=_environment()) as child:
        assert child.stdout is not None
        first = None
        rows = -header
        for _ in child.stdout:
            rows += 1
            if rows == 1:
                first = time.perf_counter() - began
    end = time.perf_counter() - began
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Answered(end if first is None else first, end, cpu, max(rows, 0))


def _environment() -> dict[str, str]:
    """This process's environment, but Python keeps bytecode and buffers output, as it does by
    default."""
    unwanted = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "PYTHONPATH": str(_ROOT)}


def contenders(lake: str) -> dict[str, tuple[list[str], int]]:
    """Name -> command and the number of lines of its header."""
    sql = command_line("sql", "--lake", lake)
    bare = [sys.executable, "-c", _COUNT, Lake(lake).table_uri("gold.leader_epoch_history")]
    asked = {name: ([*sql, "--question", name], 2) for name in COMMONEST}
    return {_NOTHING: ([sys.executable, "-c", "pass"], 0), _BARE: (bare, 0), **asked}


def measure(lake: str, rounds: int) -> dict[str, list[Answered]]:
    """Every contender in turn, `rounds` times, after a round that only warms up."""
    found: dict[str, list[Answered]] = {name: [] for name in contenders(lake)}
    for number in range(rounds + 1):
        for name, (command, header) in contenders(lake).items():
            answered = ask(command, header)
            if number:
                found[name].append(answered)
        sys.stderr.write(f"round {number} of {rounds}\n")
    return found


def page(found: Mapping[str, list[Answered]], lake: str) -> Iterator[str]:
    """The page in Markdown."""
    rounds = len(found[_NOTHING])
    yield "# Questions to a warm lake\n"
    yield (
        f"`python -m tests.bench.sql LAKE`: {rounds} rounds in turn on {os.cpu_count()} cores, "
        f"load {os.getloadavg()[1]:.1f} in the last five minutes, {datetime.now(UTC):%Y-%m-%d}; "
        f"Python {platform.python_version()}, deltalake {version('deltalake')}. The lake is the "
        f"demo's, {_size(lake) / 1e6:.1f} MB. Seconds from the start of the process to its first "
        f"row; goal: {GOAL_S} s.\n"
    )
    yield "| what | asks | rows | first row: least | median | most | end (median) | CPU (median) |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, answers in found.items():
        first = Spread.of([one.first_row for one in answers])
        end = Spread.of([one.end for one in answers]).median
        cpu = Spread.of([one.cpu for one in answers]).median
        title = question(name).title if name in COMMONEST else ""
        yield (
            f"| {name} | {title} | {answers[0].rows} | {first.least:.3f} | {first.median:.3f} "
            f"| {first.most:.3f} | {end:.3f} | {cpu:.3f} |"
        )
    slowest = max(one.first_row for name in COMMONEST for one in found[name])
    verdict = "held" if slowest <= GOAL_S else "missed"
    yield f"\nThe slowest first row of all rounds: {slowest:.3f} s: the goal is {verdict}."


def _size(lake: str) -> int:
    return sum(file.stat().st_size for file in Path(lake).rglob("*.parquet"))


def main() -> None:
    """Runs as a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = "\n".join(page(measure(options.lake, options.rounds), options.lake)) + "\n"
    if options.write:
        RECORD.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
