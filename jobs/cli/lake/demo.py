"""`kraftlake demo`: the main job on real input, from recorded directories to answers.

It ingests the captures of both recorded clusters in their order, builds the tables, and asks the
questions of jobs.cli.asking.questions, each shown with its SQL.
"""

from __future__ import annotations

import shutil
import tarfile
import time
from pathlib import Path

from jobs.cli.asking import sql
from jobs.cli.asking.questions import DEMO
from jobs.cli.commands.asking import SqlOptions
from jobs.cli.commands.lake import DemoOptions, IngestOptions
from jobs.cli.lake import ingest
from jobs.cli.output import complain, write_line, write_text
from pipelines.lake import Lake
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
    """Run the demo. Returns 0, or 1 where a step failed. A lake of an earlier demo at the default
    place is made anew.

    Outside a checkout, the recorded logs are unpacked to UNPACKED.
    """
    import deltalake  # noqa: F401, so that a package that is missing is named before any file

    recorded = RECORDED if RECORDED.is_dir() else unpacked()
    paths = [recorded / name for name in CLUSTERS]
    lake = options.lake
    if lake is None:
        lake = DEFAULT_LAKE
        shutil.rmtree(lake.folder, ignore_errors=True)
    started = time.monotonic()
    shown = [_relative(path) for path in paths]
    write_line("Two clusters, each captured three times: running (live), with a leader cut off and")
    write_line("writing alone (split), and healed (final). Real Kafka wrote every byte.")
    write_line("")
    order = ",".join(ORDER)
    write_line(f"$ {lake.command('ingest', '--build', '--order', order, *paths_of(shown))}")
    if ingest.run(IngestOptions(shown, lake, order=order, then_build=True)):
        return _FAILED
    for question in DEMO:
        write_text(f"\n# {question.title}\n{question.sql};\n\n")
        sql.run(SqlOptions(lake, question.sql), "text")
    complain(f"demo: done in {time.monotonic() - started:.0f} s")
    write_line("")
    write_line(f"The lake stays in {lake}. Ask it anything: {lake.command('sql', '--tables')}")
    return 0


def unpacked() -> Path:
    """The folder UNPACKED with the recorded logs."""
    shutil.rmtree(UNPACKED, ignore_errors=True)
    with tarfile.open(_ARCHIVE) as archive:
        if hasattr(tarfile, "data_filter"):  # Python has it since 3.11.4.
            archive.extractall(UNPACKED, filter="data")
        else:
            archive.extractall(UNPACKED)  # noqa: S202, an archive of our own
    return UNPACKED


def _relative(path: Path) -> str:
    """The path relative to the working directory, where it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
