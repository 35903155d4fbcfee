"""`kraftlake replica append`: appends an administrator's records, and says when they are
committed."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jobs.cli.commands.engine import AppendOptions
from jobs.cli.engine.connecting import addresses, client_config
from jobs.cli.output import complain, write_json, write_line
from replica.admin.appending import (
    Appended,
    Appender,
    AppendRefusedError,
    UnknownOutcomeError,
)
from replica.admin.records import batch_of, record_of_json, record_of_value
from replica.errors import KraftlakeError, NoLeaderError, UsageError, reading
from replica.format.record import Record
from replica.wire.client import ClientConfig

_CHUNK_BYTES = 256 * 1024
"""The most bytes that are read at once. They become one batch, so the lines of a slow writer are
sent without waiting for further lines."""


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Consecutive lines of the input, from number `first` on, parsed."""

    first: int
    records: tuple[Record, ...]

    @property
    def place(self) -> str:
        last = self.first + len(self.records) - 1
        return f"line {last}" if last == self.first else f"lines {self.first} to {last}"


_NOBODY_KNOWS = "nobody knows whether that is in the log"


class IncompleteError(KraftlakeError):
    """An append failed. The message says what was appended, what was not, and what may have been
    appended."""


def run(options: AppendOptions) -> int:
    """Appends the records. Returns 0 when all records are committed; else raises
    IncompleteError."""
    bootstrap = addresses(options.bootstrap)
    config = client_config(options.command_config, ClientConfig(timeout_s=options.timeout_s))
    with asyncio.Runner() as runner:
        appender = Appender(bootstrap, options.topic, config, options.timeout_s)
        count = 0
        try:
            for numbered in _numbered(options):
                appended = runner.run(_append(appender, numbered, count, options))
                _show(appended, len(numbered.records), options)
                count += len(numbered.records)
        except UsageError as error:
            if not count:
                raise
            raise IncompleteError(f"{error}; {_before(count)}") from error
        finally:
            runner.run(appender.close())
    return 0


async def _append(
    appender: Appender, numbered: _Numbered, before: int, options: AppendOptions
) -> Appended:
    batch = batch_of(numbered.records, time.time_ns() // 1_000_000)
    while True:
        try:
            return await appender.append(batch)
        except asyncio.CancelledError:  # ctrl-C
            complain(f"{numbered.place}: {_NOBODY_KNOWS}; {_before(before)}")
            raise
        except UnknownOutcomeError as error:
            if not options.at_least_once:
                raise IncompleteError(
                    f"{numbered.place}: {_NOBODY_KNOWS}: {error}; {_before(before)}; look with "
                    "`kraftlake consume` before you send them again"
                ) from error
            complain(f"{numbered.place}: sent again, and may be there twice: {error}")
        except (AppendRefusedError, NoLeaderError) as error:
            raise IncompleteError(f"{numbered.place}: {error}; {_before(before)}") from error


def _before(count: int) -> str:
    return f"{count or 'no'} records before are in the log, and none behind"


def _show(appended: Appended, count: int, options: AppendOptions) -> None:
    first, last = appended.base_offset, appended.base_offset + count - 1
    if options.json_output:
        for offset in range(first, last + 1):
            write_json({"offset": offset, "epoch": appended.epoch})
        sys.stdout.flush()
        return
    offsets = f"offset {first}" if first == last else f"offsets {first} to {last}"
    write_line(offsets if appended.epoch is None else f"{offsets}, epoch {appended.epoch}")
    sys.stdout.flush()


def _numbered(options: AppendOptions) -> Iterator[_Numbered]:
    if options.raw:
        yield _Numbered(1, (record_of_value(b"".join(_chunks(options.source))),))
        return
    first = 1
    for lines in _lines(options.source):
        records = tuple(_record(line, first + at, options) for at, line in enumerate(lines))
        yield _Numbered(first, records)
        first += len(lines)


def _record(line: bytes, number: int, options: AppendOptions) -> Record:
    if not options.as_json:
        return record_of_value(line)
    try:
        return record_of_json(line)
    except UsageError as error:
        raise UsageError(f"{options.source or 'stdin'}, line {number}: {error}") from error


def _lines(source: str | None) -> Iterator[list[bytes]]:
    """The whole lines of each chunk, without line ends. The last line may lack a line end."""
    rest = b""
    for chunk in _chunks(source):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _chunks(source: str | None) -> Iterator[bytes]:
    """The input in pieces. From a pipe, a piece is what is available, however little. source: the
    file; None or `-` for stdin."""
    if source in (None, "-"):
        yield from _chunks_of(sys.stdin.fileno())
        return
    assert source is not None
    with reading(source), Path(source).open("rb") as opened:
        yield from _chunks_of(opened.fileno())


def _chunks_of(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        yield chunk
