"""The own tables of a folder: NAME.sql, with one SELECT, is own.NAME.

The comment lines at its top are the rest of its contract:

    -- How many findings of each severity a node has.
    -- keys: cluster_id, node_id, severity
    -- column findings: how many there are
    -- expect stop: findings > 0
    -- expect warn: severity <> 'error'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from pipelines.lake import Lake
from pipelines.own_tables.errors import OwnTableError
from pipelines.own_tables.own_table import OwnTable, checked_name, checked_reads
from pipelines.own_tables.sql_rows import SqlRows
from pipelines.quality.expectation import Action, Expectation
from pipelines.sql_text import tables_named
from replica.errors import UsageError

_ENDING = ".sql"
_MOST_BYTES = 1024 * 1024
_KEYS = re.compile(r"keys:(.*)")
_COLUMN = re.compile(r"column (\w+):(.*)")
_EXPECT = re.compile(r"expect (warn|stop):(.*)")


def sql_tables(folder: str, lake: Lake) -> tuple[list[OwnTable], list[str]]:
    """The tables of a folder's .sql files, and a line for each file that defines none.

    Raises UsageError where there is no such folder, and where it lies in the lake: what a lake
    holds may be a stranger's, and must not run.
    """
    place = Path(folder)
    if not place.is_dir():
        raise UsageError(f"--own {folder}: no such folder: name one with .sql files")
    if not lake.is_remote and place.resolve().is_relative_to(lake.folder.resolve()):
        raise UsageError(
            f"--own {folder}: lies in the lake {lake}, of which nothing is run: name a folder "
            "outside of it"
        )
    tables, problems = [], []
    for file in sorted(place.glob(f"*{_ENDING}")):
        try:
            tables.append(_table(file))
        except OwnTableError as error:
            problems.append(f"{file}: {error}")
    return tables, problems


def _table(file: Path) -> OwnTable:
    name = checked_name(file.name.removesuffix(_ENDING))
    text = _text(file)
    header, query = _parted(text)
    keys: tuple[str, ...] = ()
    description: list[str] = []
    meanings: dict[str, str] = {}
    expected: dict[str, list[str]] = {"stop": [], "warn": []}
    for line in header:
        if found := _KEYS.fullmatch(line):
            keys = tuple(one.strip() for one in found[1].split(",") if one.strip())
        elif found := _COLUMN.fullmatch(line):
            meanings[found[1]] = found[2].strip()
        elif found := _EXPECT.fullmatch(line):
            expected[found[1]].append(found[2].strip())
        else:
            description.append(line)
    if not keys:
        raise OwnTableError("no line says its keys: add `-- keys: COLUMN, ...` at its top")
    reads = checked_reads(tables_named(query))
    return OwnTable(
        name,
        str(file),
        " ".join(one for one in description if one) or f"as {file.name} gives it",
        keys,
        reads,
        SqlRows(query),
        sha256(text.encode()).hexdigest(),
        meanings,
        expectations_of(expected["stop"], expected["warn"], keys),
    )


def expectations_of(
    stop: Sequence[str], warn: Sequence[str], keys: tuple[str, ...]
) -> tuple[Expectation, ...]:
    """The expectations of an own table. stop, warn: SQL conditions that each row must meet; a row
    that breaks one stops the build, or causes a warning. keys: the table's keys."""
    both = (*((Action.STOP, one) for one in stop), *((Action.WARN, one) for one in warn))
    return tuple(action.unless(one, one, keys) for action, one in both if one)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise OwnTableError(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise OwnTableError("is no UTF-8 text") from error
    if len(data) > _MOST_BYTES:
        raise OwnTableError("has more than 1 MiB")
    return text


def _parted(text: str) -> tuple[list[str], str]:
    """The comment lines at the top, without the signs of a comment, and the query."""
    lines = text.splitlines()
    header = []
    for line in lines:
        bare = line.strip()
        if bare and not bare.startswith("--"):
            break
        header.append(bare.removeprefix("--").strip())
    return header, "\n".join(lines[len(header) :]).strip().rstrip(";")
