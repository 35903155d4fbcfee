"""Makes lakes as a stranger might send them, and says what every command must not do with them.

    python -m tests.fuzz.hostile_lakes --minutes 30 --seed 1 [--spark] [--write]

A sound lake of a recorded cluster gets some faults from a seed: Delta logs with each action and
feature of the protocol, odd paths, compacted logs, checkpoints of version 2, deletion vectors,
paths of the change feed, Parquet with odd footers, small files of others. Then commands are run on
copies of it, each in a process forked from this one; with --spark those that need Spark, here.

A command must end by itself within its time (twice as long with Spark) and memory, with a
documented exit code and without a traceback. Nothing outside of the lake and of -o may be opened,
made or changed: the folder beside the lake, which the faults name, is watched with inotify. A
command that reads leaves the lake as it was.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.fuzz.lake_faults import FAULTS

REPOSITORY = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("HOSTILE_LAKES.md")
DATA = REPOSITORY / "tests/data/kafka-4.4.0-dynamic/final"
MAX_SECONDS, MAX_SPARK_SECONDS, MAX_MIB = 60, 120, 1500
TOO_LONG = -1
"""Stands for the exit code of a command that was ended after its time."""
CODES = {0, 1, 2, 3, 75}
TABLES = (
    "bronze.captures", "bronze.log_records", "bronze.snapshots", "silver.committed_log",
    "gold.findings", "gold.metadata_history", "gold.metadata_changes", "gold.state_ranges",
    "gold.replica_status", "gold.quality_results",
)  # fmt: skip
"""The tables that get faults: those that most commands open."""
_SHOWS_A_BUG = ("Traceback", "panicked at", "internal error", "Exception in thread", "Segmentation")


@dataclass(frozen=True)
class Command:
    """A command. words: with {lake} and {out}. writes: whether it may change the lake."""

    words: tuple[str, ...]
    writes: bool = False


def _commands(*texts: str, writes: bool = False) -> list[Command]:
    return [Command(tuple(text.split("|")), writes) for text in texts]


PLAIN = [
    *_commands(
        *(f"sql|--lake|{{lake}}|--engine|{engine}|--json|SELECT * FROM {table} LIMIT 50"
          for engine in ("delta-rs", "duckdb") for table in TABLES),
        "sql|--lake|{lake}|SHOW TABLES", "sql|--lake|{lake}|--tables|--json",
        "sql|--lake|{lake}|--engine|duckdb|SHOW TABLES",
        "sql|--lake|{lake}|SELECT * FROM gold.topics_at",
        "sql|--lake|{lake}|--engine|duckdb|SELECT * FROM gold.partition_leaders_at",
        "lake|--lake|{lake}", "state|--lake|{lake}", "state|--lake|{lake}|--exposure",
        "history|--lake|{lake}", "report|--lake|{lake}|-o|{out}/report.html",
        "export|--lake|{lake}|-o|{out}/lake.sql", "export|--lake|{lake}|-o|{out}/lake.duckdb",
        "export|--lake|{lake}|--to|parquet|-o|{out}/tables",
        "export|--lake|{lake}|-o|{out}/lake.sqlite",
        "publish|--lake|{lake}|--table|gold.metadata_changes|--to|{out}/changes.jsonl",
        "restore|--lake|{lake}|-o|{out}/restored", "plan|--lake|{lake}|--stop-broker|1",
    ),
    *_commands(
        "build|--lake|{lake}", "quality|--lake|{lake}", f"ingest|--lake|{{lake}}|{DATA}",
        "forget|--lake|{lake}|--capture|nothing|--yes", writes=True,
    ),
]  # fmt: skip
BY_SPARK = [
    *_commands(
        *(f"sql|--lake|{{lake}}|--engine|spark|--json|SELECT * FROM {table} LIMIT 20"
          for table in TABLES),
    ),
    *_commands("maintain|--lake|{lake}", "maintain|--lake|{lake}|--dry-run", writes=True),
]  # fmt: skip


def make_base(place: Path) -> None:
    """Makes a sound lake of a recorded cluster."""
    words = ["ingest", "--lake", str(place), "--build", str(DATA)]
    ended, said, _ = _run(words, place.parent, 900)  # it may compile the bulk reader first
    assert ended == 0, said


def make_hostile(base: Path, lake: Path, seed: int) -> list[str]:
    """Makes a copy of the base with faults from a seed. Gives a text about each fault."""
    rng = random.Random(seed)
    shutil.copytree(base, lake)
    told = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        fault = rng.choice(FAULTS)
        table = rng.choice(TABLES)
        with suppress(
            OSError, LookupError, ValueError, TypeError, AttributeError
        ):  # an earlier fault has removed what it needs
            told.append(f"{fault.__name__} {table}: {fault(rng, lake.joinpath(*table.split('.')))}")
    return told


def make_outside(place: Path) -> None:
    """Makes the files beside the lake that the faults name, and that no command may open."""
    place.mkdir()
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"secret": ["outside"]}), place / "secret.parquet")
    (place / "secret.txt").write_text("secret\n")


def _tree(place: Path) -> dict[str, tuple[int, int]]:
    """The size and time of each file, without lock files."""
    return {
        str(path.relative_to(place)): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in place.rglob("*")
        if not path.is_dir() and path.name != "_ingest.lock"
    }


@contextmanager
def _watching(folder: Path) -> Iterator[list[str]]:
    """The names of the folder's files that were opened, made, changed or removed in the block."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    # IN_OPEN, IN_ACCESS, IN_MODIFY, IN_CREATE, IN_DELETE, IN_MOVED_TO
    assert (
        libc.inotify_add_watch(watch, os.fsencode(folder), 0x20 | 0x1 | 0x2 | 0x100 | 0x200 | 0x80)
        > 0
    )
    seen: list[str] = []
    try:
        yield seen
        while select.select([watch], [], [], 0)[0]:
            data = os.read(watch, 65536)
            while data:
                _, mask, _, length = struct.unpack_from("iIII", data)
                name = data[16 : 16 + length].rstrip(b"\0").decode(errors="replace")
                if not mask & 0x40000000:  # IN_ISDIR: a listing
                    seen.append(name)
                data = data[16 + length :]
    finally:
        os.close(watch)


def _run(words: Sequence[str], folder: Path, seconds: float = MAX_SECONDS) -> tuple[int, str, int]:
    """(exit code or TOO_LONG, its stderr, peak MiB) of a command in a forked process."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as out:
        child = os.fork()
        if child == 0:
            _as_command(words, folder, said.fileno(), out.fileno())
        end = os.pidfd_open(child)
        ended = select.select([end], [], [], seconds)[0]
        if not ended:
            os.kill(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
        os.close(end)
        said.seek(0)
        text = said.read(1 << 20).decode(errors="replace")
        code = os.waitstatus_to_exitcode(status) if ended else TOO_LONG
        return code, text, used.ru_maxrss >> 10


def _as_command(words: Sequence[str], folder: Path, said: int, out: int) -> None:
    try:
        os.dup2(said, 2)
        os.dup2(out, 1)
        os.chdir(folder)
        from jobs.cli.main import main

        main([*words])
    except SystemExit as ending:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(ending.code or 0))
    except BaseException:  # noqa: BLE001 - this process ends here
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(99)


class _TookTooLongError(BaseException):
    """Ends a block after its time. It passes through every handler of Exception."""


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raises _TookTooLongError in the block after these seconds, also where it waits for Spark."""

    def end(*_: object) -> None:
        raise _TookTooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _start_spark(lake: Path) -> None:
    from pipelines.spark.session import spark_session

    spark_session("hostile lakes", lake=str(lake))


def _end_spark() -> None:
    """Ends Spark after a command that took too long, because py4j's connection is in the middle of
    an answer."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.proc.kill()
        gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _run_here(words: Sequence[str], folder: Path) -> tuple[int, str, int]:
    """Runs the command as `_run` does, but in this process, whose Spark session
    the commands share."""
    from jobs.cli.main import app
    from jobs.cli.outcome import run

    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as out:
        kept = os.dup(1), os.dup(2), os.getcwd()
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(said.fileno(), 2)
            with _within(MAX_SPARK_SECONDS):
                code = run(app, [*words])
            sys.stderr.flush()
        except _TookTooLongError:
            code = TOO_LONG
            _end_spark()
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
        said.seek(0)
        return code, said.read(1 << 20).decode(errors="replace"), 0


@dataclass(frozen=True)
class Broken:
    """A forbidden act of a command."""

    seed: int
    words: str
    what: str
    faults: tuple[str, ...]


def judge(base: Path, work: Path, seed: int, command: Command, *, here: bool) -> Broken | None:
    """Runs a command on the seed's lake. None where it did nothing forbidden."""
    lake, outside, out, current = (work / n for n in ("lake", "outside", "out", "current"))
    for place in (lake, out, current):
        shutil.rmtree(place, ignore_errors=True)
    out.mkdir()
    current.mkdir()
    if not outside.exists():
        make_outside(outside)
    faults = make_hostile(base, lake, seed)
    before, beside = _tree(lake), _tree(outside)
    words = [word.format(lake=lake, out=out) for word in command.words]
    with _watching(outside) as opened:
        code, said, peak = (_run_here if here else _run)(words, current)
    limit = MAX_SPARK_SECONDS if here else MAX_SECONDS
    if code == TOO_LONG:  # its output about its end means nothing
        problems = [f"took longer than {limit} s"]
    else:
        problems = [f"exit code {code}"] if code not in CODES else []
        problems += [f"said {word!r}: {said[-1500:]}" for word in _SHOWS_A_BUG if word in said][:1]
    problems += [f"opened {sorted(set(opened))}"] if opened else []
    problems += [f"{peak} MiB"] if peak > MAX_MIB else []
    problems += ["changed what lies beside"] if _tree(outside) != beside else []
    problems += ["wrote to the current folder"] if any(current.iterdir()) else []
    problems += ["changed the lake"] if not command.writes and _tree(lake) != before else []
    others = {each.name for each in work.iterdir()} - {"lake", "outside", "out", "current", "base"}
    problems += [f"made {sorted(others)}"] if others else []
    for name in others:
        (work / name).unlink(missing_ok=True)
    if not problems:
        return None
    return Broken(seed, " ".join(command.words), "; ".join(problems), tuple(faults))


def campaign(
    work: Path, first: int, seconds: float, *, by_spark: bool
) -> tuple[Counter[str], list[Broken]]:
    """Runs until the time is over. Gives how often each command ran, and what was broken."""
    base = work / "base"
    if not base.exists():
        make_base(base)
    ran: Counter[str] = Counter()
    found: list[Broken] = []
    until = time.monotonic() + seconds
    seed = first
    commands = BY_SPARK if by_spark else PLAIN
    while time.monotonic() < until:
        rng = random.Random(f"{seed} commands")
        for command in rng.sample(commands, 4):
            if time.monotonic() >= until:
                break
            if by_spark:
                _start_spark(base)  # so that no command's time includes the start
            ran[command.words[0]] += 1
            broken = judge(base, work, seed, command, here=by_spark)
            if broken is not None:
                found.append(broken)
                sys.stdout.write(f"{broken}\n")
                sys.stdout.flush()
        seed += 1
    ran["lakes"] = seed - first
    return ran, found


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--write", action="store_true", help="add a row to HOSTILE_LAKES.md")
    parser.add_argument("--only", type=int, help="all commands on the lake of this seed")
    return parser.parse_args()


def main() -> int:
    asked = _parsed()
    with tempfile.TemporaryDirectory(prefix="kraftlake-hostile-") as place:
        work = Path(place)
        if asked.only is not None:
            make_base(work / "base")
            commands = BY_SPARK if asked.spark else PLAIN
            each = (judge(work / "base", work, asked.only, c, here=asked.spark) for c in commands)
            found = [one for one in each if one is not None]
            sys.stdout.write("".join(f"{one}\n" for one in found))
            return bool(found)
        seconds = asked.minutes * 60
        ran, found = campaign(work, asked.seed, seconds, by_spark=asked.spark)
    lakes = ran.pop("lakes")
    row = (
        f"| {datetime.now(UTC):%Y-%m-%d} | {'spark' if asked.spark else 'plain'} | {asked.seed} | "
        f"{asked.minutes:g} | {lakes} | {sum(ran.values())} | {len(found) or 'none'} |\n"
    )
    sys.stdout.write(f"{row}{dict(ran)}\n")
    if asked.write:
        text = RECORD.read_text()
        end = text.index("\n\n", text.index("| date |")) + 1
        RECORD.write_text(text[:end] + row + text[end:])
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
