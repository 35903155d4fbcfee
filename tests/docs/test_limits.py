"""The limits that docs/security.md names are those of the code."""

from __future__ import annotations

import re

import pytest

from replica.node.descriptors import LEAST_CONNECTIONS, RESERVED
from replica.wire.limits import Limits, NodeLimits
from tests.kraftlake_process import REPOSITORY

_PAGE = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| `([a-z.]+)`(?:, `[a-z.]+`)? \| (\d+) \|", re.MULTILINE)
_LISTENER, _NODE = Limits(), NodeLimits()


def test_the_table_has_the_defaults_of_the_code() -> None:
    section = _PAGE.split("## Limits")[1].split("\n## ")[0]
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
        f"{_LISTENER.transfer_s:.0f} s for a request to come",
        f"{_NODE.unknown_bytes >> 20} MiB of their own for those before login",
        f"keeps {RESERVED} for its log",
        f"fewer than {RESERVED + LEAST_CONNECTIONS}.",
    ],
)
def test_the_text_has_the_limits_of_the_code(sentence: str) -> None:
    assert " ".join(sentence.split()) in " ".join(_PAGE.split())
