"""The limits that the two pages about security name are those of the code."""

from __future__ import annotations

import re

import pytest

from jobs.cli.directories import rehearsed
from jobs.cli.engine import live_state
from jobs.cli.option_values import MAX_REHEARSED
from pipelines.capture import bundle
from pipelines.capture.archive_members import (
    ALWAYS_STREAM_BYTES,
    MAX_STREAM_BYTES,
    MAX_STREAM_RATIO,
)
from replica.doctor.check.known_quorum import MAX_COMPARED
from replica.doctor.rehearsal import scenario_file
from replica.format.compression import (
    ALWAYS_INFLATED_BYTES,
    FILE_ALWAYS_INFLATED_BYTES,
    MAX_FILE_INFLATED_BYTES,
    MAX_FILE_RATIO,
    MAX_RATIO,
    MAX_RECORDS_BYTES,
)
from replica.format.control import MAX_CONTROL_BYTES
from replica.format.record import MAX_BATCH_ELEMENTS
from replica.message.reader import MAX_ELEMENTS
from replica.node.descriptors import LEAST_CONNECTIONS, RESERVED
from replica.node.http_server import MAX_CONNECTIONS, WITHIN_S
from replica.raft.epoch_bounds import MOST_AT_ONCE, MS_EACH
from replica.wire.header import MAX_REQUEST_ELEMENTS
from replica.wire.limits import ListenerLimits, NodeLimits
from replica.wire.memory import FREE_BYTES
from replica.wire.sasl import scram
from tests.kraftlake_process import REPOSITORY

_REFERENCE = REPOSITORY / "docs" / "reference"
_PAGES = [_REFERENCE / "security.md", _REFERENCE / "security-in-detail.md"]
_TEXT = "\n".join(page.read_text(encoding="utf-8") for page in _PAGES)
_ROW = re.compile(r"^\| `([a-z.]+)`(?:, `[a-z.]+`)? \| (\d+) \|", re.MULTILINE)
_LISTENER, _NODE = ListenerLimits(), NodeLimits()


def test_the_table_has_the_defaults_of_the_code() -> None:
    section = _TEXT.split("## Limits")[1].split("\n## ")[0]
    assert {name: int(value) for name, value in _ROW.findall(section)} == {
        "max.connections": _NODE.max_connections,
        "max.connections.per.ip": _NODE.per_address,
        "connections.max.idle.ms": 1000 * _LISTENER.idle_s,
        "socket.request.max.bytes": _LISTENER.request_max_bytes,
        "sasl.server.max.receive.size": _LISTENER.unknown_max_bytes,
        "queued.max.request.bytes": _NODE.request_bytes,
        "kraftlake.queued.max.response.bytes": _NODE.answer_bytes,
        "socket.receive.buffer.bytes": _LISTENER.receive_buffer_bytes,
    }
    assert _LISTENER.send_buffer_bytes == _LISTENER.receive_buffer_bytes


@pytest.mark.parametrize(
    "sentence",
    [
        f"{_LISTENER.handshake_s:.0f} s for TLS, then {_LISTENER.handshake_s:.0f} s for login",
        f"{_LISTENER.transfer_s:.0f} s to receive a whole request",
        f"requests before login have {_NODE.unknown_bytes >> 20} MiB of their own",
        f"keeps {RESERVED} files for its log",
        f"fewer than {RESERVED + LEAST_CONNECTIONS} files.",
        f"at most {MAX_REQUEST_ELEMENTS:,} elements of lists are read from one request",
        f"first {FREE_BYTES >> 10} KiB of a request are not counted",
        f"serves {MAX_CONNECTIONS} connections at once. "
        f"Each of them may send one request, within {WITHIN_S:.0f} s",
        f"raise the epoch by 2^{MOST_AT_ONCE.bit_length() - 1} at once "
        f"and by one for each {MS_EACH} ms",
        f"as holes, {bundle.MAX_ZERO_BYTES >> 30} GiB of them at most",
        f"A tar stream may inflate to {ALWAYS_STREAM_BYTES >> 30} GiB or {MAX_STREAM_RATIO} times "
        f"its size, {MAX_STREAM_BYTES >> 30} GiB at most",
        f"{bundle.MAX_FOLDERS:,} folders and {bundle.MAX_MEMBERS:,} members",
        f"half of the free disk, {bundle.MAX_TOTAL_BYTES >> 30} GiB",
        f"fewer than {scram.MIN_ITERATIONS:,} and more than {scram.MOST_FOR_CLIENTS:,} iterations",
        f"The records of one batch may have {MAX_RECORDS_BYTES >> 20} MiB, and may inflate to "
        f"{ALWAYS_INFLATED_BYTES >> 20} MiB or to {MAX_RATIO} times their size",
        f"All records of a file may inflate to {FILE_ALWAYS_INFLATED_BYTES >> 20} MiB or to "
        f"{MAX_FILE_RATIO} times the file's size, {MAX_FILE_INFLATED_BYTES >> 30} GiB at most",
        f"A batch may have 2^{MAX_BATCH_ELEMENTS.bit_length() - 1} records and headers, "
        f"a record {MAX_ELEMENTS:,} elements and tagged fields, "
        f"a control record {MAX_CONTROL_BYTES >> 20} MiB",
        f"At most {MAX_COMPARED} logs of a cluster are compared pair by pair",
        f"{scenario_file.MAX_FILE_BYTES >> 10} KiB, {scenario_file.MAX_STEPS} steps "
        "and one hour of",
        f"{rehearsed.MAX_BYTES >> 30} GiB of directories, which it holds in memory twice, "
        f"and {MAX_REHEARSED:,} seeds at most",
        f"the copy in `TMPDIR` has {live_state.MAX_BYTES >> 30} GiB at most",
        f"the log that `plan -b` fetches ({live_state.MAX_BYTES >> 30} GiB at most)",
    ],
)
def test_the_text_has_the_limits_of_the_code(sentence: str) -> None:
    assert " ".join(sentence.split()) in " ".join(_TEXT.split())
