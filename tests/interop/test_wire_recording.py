"""Real Kafka controllers, recorded anew: their frames come back to the byte, and they take ours."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.node.rpcs import TRANSLATIONS
from replica.wire.apis import APIS
from replica.wire.header import correlation_id_of, decode_request, decode_response
from replica.wire.schema import Message
from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.wire_recording import record
from tests.replica.wire.frames import encode_response

BY_NAME = {api.name: api for api in APIS.values()}


@pytest.mark.slow
def test_real_controllers_and_our_wire_understand_each_other(tmp_path: Path) -> None:
    class_path_or_skip()
    frames = [json.loads(line) for line in asyncio.run(record(tmp_path)).lines()]
    answered = set()
    for frame in frames:
        raw, api, version = bytes.fromhex(frame["hex"]), BY_NAME[frame["api"]], frame["version"]
        if frame["side"] == "request":
            decode_request(raw)
            continue
        message = decode_response(api, version, raw)
        assert encode_response(api, version, correlation_id_of(raw), message) == raw
        assert ErrorCode.UNSUPPORTED_VERSION not in _codes(message)
        answered.add((api.key, version))
    asked = {(each.api.key, v) for each in TRANSLATIONS.values() for v in each.versions}
    assert asked <= answered


def _codes(message: Message) -> list[int]:
    """Every error code in a message, however deep."""
    found = [message["errorCode"]] if "errorCode" in message else []
    for value in message.values():
        for inner in value if isinstance(value, list) else ():
            found += _codes(inner) if isinstance(inner, dict) else []
    return found
