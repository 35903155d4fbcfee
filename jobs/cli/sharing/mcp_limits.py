"""Runs a command of kraftlake as a process within limits, for `kraftlake mcp`.

A process can be ended whatever it does, so a call never takes longer than its limit.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from jobs.cli.memory_bound import VARIABLE, default_bound
from replica.import_path import environment, python_of

_ERROR = "kraftlake: error: "
_MAX_LINE_BYTES = 1_000_000
_MAX_COMPLAINTS_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The limits of one call: rows, the bytes of their JSON, seconds, and bytes of memory."""

    rows: int = 200
    size_bytes: int = 200_000
    seconds: float = 60.0
    memory: int = field(default_factory=default_bound)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The output of a command."""

    rows: tuple[dict[str, Any], ...] = ()
    """The JSON lines; only the first lines where the output is cut."""
    why_cut: str = ""
    """The limit that was reached; empty where no limit was reached."""
    error: str = ""
    """The error line, without the command's name; empty where the command succeeded."""


async def output_of(
    words: Sequence[str], limits: CallLimits, fine: Collection[int] = (0,)
) -> CommandOutput:
    """Runs `kraftlake WORDS`, which must print JSON lines. fine: the exit codes that are no
    failure."""
    process = await anyio.open_process(
        python_of("jobs.cli", *words),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env={**environment(), VARIABLE: f"{limits.memory >> 20}m"},
    )
    complaints = bytearray()
    try:
        with anyio.move_on_after(limits.seconds) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_keep_end, process.stderr, complaints)
                rows, why_cut = await _read(process, limits)
                if why_cut:
                    process.kill()
            await process.wait()
        if scope.cancelled_caught:
            return CommandOutput(error=f"no answer within {limits.seconds:g} s: ask for less")
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
            await process.aclose()
    if not why_cut and process.returncode not in fine:
        return CommandOutput(error=_error_in(complaints, process.returncode))
    return CommandOutput(tuple(rows), why_cut)


async def _read(process: Process, limits: CallLimits) -> tuple[list[dict[str, Any]], str]:
    """(the first rows, the limit that the rest exceeds; "" where all rows are within the
    limits)."""
    rows: list[dict[str, Any]] = []
    size = 0
    if process.stdout is None:
        return rows, ""
    lines = BufferedByteReceiveStream(process.stdout)
    while True:
        try:
            line = await lines.receive_until(b"\n", _MAX_LINE_BYTES)
        except anyio.IncompleteRead:
            return rows, ""
        except anyio.DelimiterNotFound:
            return rows, f"a row of more than {_MAX_LINE_BYTES} bytes"
        size += len(line)
        if len(rows) == limits.rows:
            return rows, f"{limits.rows} rows"
        if size > limits.size_bytes:
            return rows, f"{limits.size_bytes} bytes"
        rows.append(json.loads(line))


async def _keep_end(stream: ByteReceiveStream | None, kept: bytearray) -> None:
    """Reads a stream to its end, so that its writer never waits, and keeps the last bytes."""
    if stream is None:
        return
    async for piece in stream:
        kept += piece
        del kept[:-_MAX_COMPLAINTS_BYTES]


def _error_in(complaints: bytes | bytearray, code: int | None) -> str:
    lines = complaints.decode(errors="replace").splitlines()
    errors = [line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)]
    return errors[-1] if errors else f"the command ended with exit code {code}"
