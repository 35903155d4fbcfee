"""`kraftlake demo`: the main job on real input, from recorded directories to answers.

It ingests the captures of both recorded clusters in their order, builds the tables, and asks the
questions of jobs.cli.asking.questions, each shown with its SQL.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from jobs import ingest
from jobs.cli.asking import sql
from jobs.cli.asking.questions import DEMO
from jobs.cli.commands.asking import SqlOptions
from jobs.cli.commands.lake import DemoOptions, IngestOptions
from jobs.cli.lake.engines import stage_runs
from jobs.cli.output import complain, write_line, write_table, write_text
from pipelines.lake import Lake
from pipelines.lake.redaction import FILE_NAME
from pipelines.runners.chosen import Engine, chosen_engine
from pipelines.runners.runner import StageRun
from replica.shell_text import paths as paths_of

RECORDED = Path(__file__).resolve().parents[3] / "tests" / "data"
CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")
ORDER = ("live", "split", "final")
_ARCHIVE = Path(__file__).with_name("demo_logs.tar.xz")
"""The archive that packaging/demo_logs.py makes of RECORDED for the wheel."""
DEFAULT_LAKE = Lake(".demo/lake")
UNPACKED = Path(".demo/logs")
_FAILED = 1


def run(options: DemoOptions) -> int:
    """Runs the demo. Returns 0, or 1 where a step failed. A lake of an earlier demo at the default
    place is made anew.

    Outside a checkout, the recorded logs are unpacked to UNPACKED.
    """
    import deltalake  # noqa: F401, so that a package that is missing is named before any file

    recorded = RECORDED if RECORDED.is_dir() else unpacked_logs()
    paths = [recorded / name for name in CLUSTERS]
    lake = options.lake
    if lake is None:
        lake = DEFAULT_LAKE
        shutil.rmtree(lake.folder, ignore_errors=True)
    started = time.monotonic()
    engine = chosen_engine(options.engine)
    at = datetime.now(UTC).isoformat()
    asked = IngestOptions(
        [_relative(path) for path in paths],
        lake,
        order=",".join(ORDER),
        captured_at=at,
        then_build=True,
        engine=engine,
    )
    write_line("Two clusters, each captured three times: running (live), with a leader cut off and")
    write_line("writing alone (split), and healed (final). Real Kafka wrote every byte.")
    write_line("")
    shown = paths_of(asked.paths)
    words = ["--build", "--engine", engine, "--order", ",".join(ORDER), *shown]
    write_line(f"$ {lake.command('ingest', *words)}")
    with stage_runs() as ran:
        if ingest.run(asked):
            return _FAILED
    _show_stages(ran, engine)
    if engine is Engine.SPARK and not lake.is_remote and not _is_same_locally(asked):
        return _FAILED
    for question in DEMO:
        write_text(f"\n# {question.title}\n{question.sql};\n\n")
        sql.run(SqlOptions(lake, question.sql), "text")
    complain(f"demo: done in {time.monotonic() - started:.0f} s")
    write_line("")
    write_line(f"The lake stays in {lake}. Ask it anything: {lake.command('sql', '--tables')}")
    return 0


def _show_stages(ran: Sequence[StageRun], engine: Engine) -> None:
    """Prints a table of the stages. Rounds of captures that ran the same stage are one row."""
    tasks = "Spark tasks" if engine is Engine.SPARK else "tasks"
    counted = ("units", "tasks", "rows", "files")
    rows = []
    for name, grain in dict.fromkeys((one.name, one.grain) for one in ran):
        some = [one for one in ran if one.name == name]
        counts = [sum(getattr(one, of) for one in some) for of in counted]
        rows.append((name, grain, *counts, f"{sum(one.seconds for one in some):.1f}"))
    write_line("")
    write_table(("stage", "grain", "units", tasks, "rows", "files", "seconds"), rows)


def _is_same_locally(asked: IngestOptions) -> bool:
    """Makes a second lake of the same captures by the local engine. Gives whether its tables equal
    the first lake's tables."""
    from pipelines.lake.equality import differing_tables

    other = Lake(f"{asked.lake}-local")
    shutil.rmtree(other.folder, ignore_errors=True)
    other.folder.mkdir(parents=True)
    shutil.copyfile(asked.lake.folder / FILE_NAME, other.folder / FILE_NAME)
    write_line("")
    write_line("The same by the local engine, without Spark, into a second lake:")
    started = time.monotonic()
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        failed = ingest.run(replace(asked, lake=other, engine=Engine.LOCAL))
    if failed:
        complain(said.getvalue())
        return False
    seconds = time.monotonic() - started
    count, differing = differing_tables(asked.lake, other)
    write_line(f"{count - len(differing)} of {count} tables are equal ({seconds:.1f} s).")
    if differing:
        complain(f"demo: tables differ: {', '.join(differing)}")
    return not differing


def unpacked_logs() -> Path:
    """The folder UNPACKED with the recorded logs."""
    shutil.rmtree(UNPACKED, ignore_errors=True)
    with tarfile.open(_ARCHIVE) as archive:
        if hasattr(tarfile, "data_filter"):  # since Python 3.11.4
            archive.extractall(UNPACKED, filter="data")
        else:
            archive.extractall(UNPACKED)  # noqa: S202, an archive of our own
    return UNPACKED


def _relative(path: Path) -> str:
    """The path relative to the working directory where the path lies below it, else the path as it
    is."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
