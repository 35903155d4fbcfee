"""What commands print: JSON lines and tables on stdout, one-line messages and progress on stderr.

Only this module writes to the two streams. Nothing here imports rich, pyarrow or pyspark: a
command must print its first line within a tenth of a second.
"""

from __future__ import annotations

import base64
import csv
import itertools
import json
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TextIO

from jobs.cli.table_text import cut, row_lines, widths_of, wrapped
from replica.terminal_text import one_line, safe_json, safe_json_bytes, to_stderr

MEASURED_ROWS = 500
"""The number of rows that are read before a table's column widths are fixed. Further rows are
printed as they arrive."""
_LEAST_ROOM = 20
"""The fewest columns in which a text is wrapped."""
_PROGRESS_AFTER = 1.0
_PROGRESS_EVERY = 0.2
_COLOURS = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}
_OURS = f"\x1b{os.urandom(8).hex()}"
"""Stands for the escape character before a colour of `coloured`, so that no name contains it."""
_COLOUR_CODE = re.compile(f"{_OURS}(\\[[0-9]+m)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT: ContextVar[list[dict[str, Any]] | None] = ContextVar("kept rows", default=None)
_MILLISECOND = timedelta(milliseconds=1)


def use_utf8() -> None:
    """Makes both streams UTF-8, whatever the locale. Bytes of odd file names are kept."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def coloured(text: str, colour: str) -> str:
    """The text for `write_line`: in an ANSI colour where stdout is a terminal and NO_COLOR isn't
    set. Colour "" leaves it as it is."""
    if not colour or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"{_OURS}[{_COLOURS[colour]}m{text}{_OURS}[0m"


def write_line(text: str) -> None:
    """Print one line on stdout.

    It is escaped as by terminal_text.one_line, so that no name in a record changes what is shown.
    The colours of `coloured` stay.
    """
    parts = _COLOUR_CODE.split(text)
    parts[::2] = map(one_line, parts[::2])
    parts[1::2] = (f"\x1b{code}" for code in parts[1::2])
    sys.stdout.write("".join(parts) + "\n")


def terminal_width() -> int | None:
    """The number of the terminal's columns where stdout is a terminal. None where stdout is no
    terminal, so that nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def write_wrapped(before: str, text: str, indent: int) -> None:
    """Prints `before` and `text` as one line. On a narrower terminal the text continues on the next
    line, from column `indent` on, which is the width of `before`."""
    text = one_line(text)
    width = terminal_width()
    room = 0 if width is None else width - indent
    lines = wrapped(text, room) if room >= _LEAST_ROOM else [text]
    for number, line in enumerate(lines):
        write_line(f"{' ' * indent if number else before}{line}".rstrip())


def write_text(text: str) -> None:
    """Prints lines that kraftlake made, or a whole document, on stdout. Nothing in it is
    escaped."""
    sys.stdout.write(text)


def csv_writer() -> Any:
    """A writer of the module csv to stdout. Nothing that it writes is escaped."""
    return csv.writer(sys.stdout, lineterminator="\n")


def is_standard_output(path: str) -> bool:
    """Whether an option's value means stdout: `-`, or the file to which stdout goes."""
    if path == "-":
        return True
    try:
        return os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False


def write_bytes(lines: memoryview) -> None:
    """Prints whole lines of JSON in UTF-8, escaped as by safe_json, after all text that was printed
    before."""
    sys.stdout.flush()
    lines = memoryview(safe_json_bytes(bytes(lines)))
    while lines:  # with PYTHONUNBUFFERED a write may take only a part
        lines = lines[sys.stdout.buffer.write(lines) :]


def write_json(value: Mapping[str, Any]) -> None:
    """Prints one JSON object on its own line, or keeps it within `kept_rows`."""
    kept = _KEPT.get()
    if kept is None:
        sys.stdout.write(json_text(value) + "\n")
    else:
        kept.append(json_value(value))


@contextmanager
def kept_rows() -> Iterator[list[dict[str, Any]]]:
    """The objects that this thread writes by `write_json` within the block. They
    are not printed."""
    rows: list[dict[str, Any]] = []
    before = _KEPT.set(rows)
    try:
        yield rows
    finally:
        _KEPT.reset(before)


def json_text(value: Any) -> str:
    """Compact JSON, with keys in the given order. json_value says how values that JSON lacks are
    written."""
    try:
        return safe_json(_ENCODER.encode(value))
    except (TypeError, ValueError):  # keys that are no text, or NaN
        return safe_json(_ENCODER.encode(json_value(value)))


def json_value(value: Any) -> Any:
    """The value in JSON's types: a time is ms since 1970, binary is base64, NaN and infinities are
    text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return _json_scalar(value)


# One encoder for all lines: making one takes longer than encoding a row.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=json_value
)


def _json_scalar(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, datetime):
        return ms_of(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def cell_text(value: Any) -> str:
    """A value as a table or CSV shows it: NULL as a word, plain digits, times as ISO 8601 in UTC,
    nested values as JSON."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _plain_float(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping | list | tuple):
        return json_text(_with_iso_times(value))
    return str(_json_scalar(value)) if not isinstance(value, str | int) else str(value)


def _with_iso_times(value: Any) -> Any:
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, Mapping):
        return {key: _with_iso_times(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_iso_times(item) for item in value]
    return value


def _plain_float(value: float) -> str:
    return format(Decimal(repr(value)), "f") if math.isfinite(value) else str(value)


def time_text(moment: datetime) -> str:
    """ISO-8601 in UTC with milliseconds, and with microseconds where there are any."""
    moment = as_utc(moment)
    precision = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def ms_text(milliseconds: int) -> str:
    """A record's time (ms since 1970) as ISO-8601. A time that no calendar has (hostile input) is
    the number with `ms`."""
    try:
        return time_text(_EPOCH + milliseconds * _MILLISECOND)
    except OverflowError:
        return f"{milliseconds}ms"


def ms_of(moment: datetime) -> int:
    """The moment in ms since 1970, rounded down."""
    return (as_utc(moment) - _EPOCH) // _MILLISECOND


def as_utc(moment: datetime) -> datetime:
    """The same moment in UTC. A moment without a zone, as SQL engines give it, is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Print the lines of table_lines. Returns the number of rows."""
    count = 0

    def counting() -> Iterator[Sequence[Any]]:
        nonlocal count
        for row in rows:
            count += 1
            yield row

    for line in table_lines(columns, counting()):
        write_line(line)
    return count


def write_section(title: str, rows: Sequence[Mapping[str, Any]], *, left_out: str) -> None:
    """Print a table below its title, without the column `left_out` and without columns that have
    no value. A list in a cell is shown with commas."""
    columns = [
        name for name in rows[0] if name != left_out and any(row[name] is not None for row in rows)
    ]
    write_line(f"{title}:")
    cells = (
        [", ".join(v) if isinstance(v := row[name], list) else v for name in columns]
        for row in rows
    )
    write_table(columns, cells)


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The lines of an aligned table, with numbers on the right. On a narrower terminal, cells
    continue on the lines below, and very long cells are cut."""
    room = terminal_width()
    remaining = iter(rows)
    head = list(itertools.islice(remaining, MEASURED_ROWS))
    right = [_is_numeric(row[index] for row in head) for index in range(len(columns))]
    wrap = room is not None
    shown = [_cells(row, wrap) for row in head]
    names = [one_line(name) for name in columns]
    widths = widths_of(names, shown, room)
    yield from row_lines(names, widths, [False] * len(names), wrap=wrap)
    yield "  ".join("-" * width for width in widths)
    for row in itertools.chain(shown, (_cells(row, wrap) for row in remaining)):
        yield from row_lines(row, widths, right, wrap=wrap)


def _cells(row: Sequence[Any], on_terminal: bool) -> list[str]:
    cells = [one_line(cell_text(value)) for value in row]
    return [cut(cell) for cell in cells] if on_terminal else cells


def _is_numeric(values: Iterable[Any]) -> bool:
    seen = [value for value in values if value is not None]
    return bool(seen) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in seen
    )


def write_rows(rows: Sequence[Mapping[str, Any]], *, json_output: bool) -> None:
    """Print rows with the same columns as lines of JSON, or as a table; nothing where there are
    none."""
    if json_output:
        for row in rows:
            write_json(row)
    elif rows:
        write_table(tuple(rows[0]), [tuple(row.values()) for row in rows])


def write_either(
    rows: Iterable[Mapping[str, Any]], lines: Iterable[str], *, json_output: bool
) -> None:
    """Print the rows as lines of JSON, or else the lines of text."""
    if json_output:
        for row in rows:
            write_json(row)
    else:
        for line in lines:
            write_line(line)


def more_line(shown: int, total: int) -> Iterator[str]:
    """The line after the first `shown` of `total` items; none where there are no more items. shown:
    the value of --limit."""
    if total > shown:
        yield f"... and {total - shown} more; --limit {total} or --json lists all"


def write_counts(counts: Mapping[str, int], *, json_output: bool) -> None:
    """Prints the number of rows of each table, for `ingest` and `build`."""
    rows = [{"table": table, "rows": count} for table, count in counts.items()]
    write_rows(rows, json_output=json_output)


def complain(text: str) -> None:
    """Prints one line on stderr about the input, after all text that was printed before."""
    sys.stdout.flush()
    for progress in list(_SHOWN):
        progress.clear()
    to_stderr(text)


def error_line(text: str) -> None:
    """Prints the line that ends a command that can't do its work."""
    complain(f"kraftlake: error: {text}")


class ProgressLine:
    """Shows the progress of long work on stderr. It shows nothing unless stderr is a terminal."""

    def __init__(self, stream: TextIO | None = None, *, output_waits: bool = False) -> None:
        """output_waits: whether the command writes nothing to stdout before the progress is
        cleared."""
        self._given = stream
        # a terminal shows both streams, and would show the progress inside the output
        self._enabled = self._stream.isatty() and (output_waits or not sys.stdout.isatty())
        self._next = time.monotonic() + _PROGRESS_AFTER
        self._shown = False

    @property
    def _stream(self) -> TextIO:
        return self._given or sys.stderr  # sys.stderr changes once libraries' text is escaped

    def show(self, text: str) -> None:
        """Show `text` instead of the last progress: at most five times a second, and not in the
        first second."""
        now = time.monotonic()
        if not self._enabled or now < self._next:
            return
        self._next = now + _PROGRESS_EVERY
        self._shown = True
        _SHOWN.add(self)
        self._stream.write(f"\r{one_line(text)[:100]:<100}")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the progress, before a message or at the end."""
        if self._shown:
            self._stream.write(f"\r{'':<100}\r")
            self._stream.flush()
            self._shown = False
            _SHOWN.discard(self)


_SHOWN: set[ProgressLine] = set()
"""The progress lines that are on the terminal now."""
