"""Gives damaged frames to the decoders of replica.wire, or sends them to a server over TCP.

    python -m tests.fuzz.wire_campaign --seed 1 --frames 1000000
    python -m tests.fuzz.wire_campaign --seed 1 --frames 20000 --server

The frames are recorded from real Kafka (tests/golden/wire.jsonl), or are empty messages of every
API and version; then they are damaged. Frame number n of a seed is the same in every run, so --only
n repeats a failure. A decoder must raise an error of kraftlake, or return a message that encodes
and decodes to itself. The memory of the process must not grow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path

from replica.errors import KraftlakeError
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID
from replica.node.rpcs import TRANSLATIONS
from replica.node.translate.partition import ReplicatedPartition
from replica.wire.apis import APIS
from replica.wire.apis.quorum import VOTE
from replica.wire.client import Connection
from replica.wire.frame import framed
from replica.wire.header import (
    WireRequest,
    correlation_id_of,
    decode_request,
    decode_response,
    encode_request,
)
from replica.wire.schema import Api, Message
from replica.wire.server import Client, Server, Service
from tests.replica.wire.frames import encode_response

_GOLDEN = Path(__file__).parents[1] / "golden" / "wire.jsonl"
_PARTITION = ReplicatedPartition(METADATA_TOPIC, METADATA_TOPIC_ID)
_BY_KEY = {each.api.key: each for each in TRANSLATIONS.values()}
_SERVED = {key: each.versions for key, each in _BY_KEY.items() if each.server is not None}
_EXTREMES = (
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xff\xff\xff\xff\x0f",
    b"\0\0",
    b"\xff",
)
_HOST = "127.0.0.1"
_MOST_GROWTH = 200 * 1024 * 1024

Seed = tuple[Api, int, bool, bytes]
"""(API, version, whether it is a request, the frame)."""


def seeds() -> list[Seed]:
    """The frames before they are damaged."""
    by_name = {api.name: api for api in APIS.values()}
    recorded = [json.loads(line) for line in _GOLDEN.read_text().splitlines()]
    found = [
        (
            by_name[each["api"]],
            each["version"],
            each["side"] == "request",
            bytes.fromhex(each["hex"]),
        )
        for each in recorded
    ]
    for api in APIS.values():
        for version in api.versions:
            found.append(
                (api, version, True, encode_request(WireRequest(api, version, 1, "c", {})))
            )
            found.append((api, version, False, encode_response(api, version, 1, {})))
    return found


def damaged(frame: bytes, chance: random.Random) -> bytes:
    """The frame with one to four faults: bytes changed, removed, inserted or made extreme, or the
    end cut off."""
    data = bytearray(frame)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        fault = chance.randrange(6)
        if fault == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif fault == 1 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif fault == 2:
            data[at:at] = chance.randbytes(chance.randint(1, 8))
        elif fault == 3:
            del data[at : at + chance.randint(1, 8)]
        elif fault == 4:
            extreme = chance.choice(_EXTREMES)
            data[at : at + len(extreme)] = extreme
        else:
            del data[at:]
    return bytes(data)


def one(pool: list[Seed], seed: int, number: int) -> Seed:
    chance = random.Random(f"{seed} {number}")
    api, version, is_request, frame = chance.choice(pool)
    return api, version, is_request, damaged(frame, chance)


def decode(case: Seed) -> str:
    """The result of decoding a frame. Raises any exception except KraftlakeError."""
    api, version, is_request, frame = case
    try:
        return _request(frame) if is_request else _response(api, version, frame)
    except KraftlakeError as error:
        return type(error).__name__


def _request(frame: bytes) -> str:
    request = decode_request(frame)
    again = decode_request(encode_request(request))
    assert again == request, "a request must come back from its own bytes"
    if request.version in _SERVED.get(request.api.key, ()):
        _BY_KEY[request.api.key].server.read(_PARTITION, request.message, request.version)
    return "request"


def _response(api: Api, version: int, frame: bytes) -> str:
    message = decode_response(api, version, frame)
    again = encode_response(api, version, correlation_id_of(frame), message)
    assert decode_response(api, version, again) == message, "a response must come back"
    translation = _BY_KEY.get(api.key)
    if translation is not None and translation.client and version in translation.versions:
        translation.client.read(_PARTITION, message, version)
    return "response"


async def _served(client: Client, request: WireRequest) -> Message | None:
    """Reads and serves a request as a replica does before its core. A KraftlakeError closes the
    connection."""
    _BY_KEY[request.api.key].server.read(_PARTITION, request.message, request.version)
    return {}


async def at_server(pool: list[Seed], seed: int, frames: int) -> Counter[str]:
    """Sends each frame on a connection of its own, and then a correct request, which must be
    answered."""
    server = Server(Service(_served, _SERVED))
    port = await server.start(_HOST, 0)
    answered: Counter[str] = Counter()
    asked = [each for each in pool if each[2] and each[0].key in _SERVED]
    for number in range(frames):
        _, _, _, frame = one(asked, seed, number)
        reader, writer = await asyncio.open_connection(_HOST, port)
        writer.write(framed(frame))
        writer.write_eof()
        async with asyncio.timeout(30):
            answered["answered" if await reader.read() else "closed"] += 1
        writer.close()
    connection = await Connection.connect(_HOST, port)
    good = {"topics": [{"topicName": METADATA_TOPIC, "partitions": [{}]}]}
    await connection.call(VOTE, good)
    await connection.close()
    await server.close()
    return answered + Counter({f"refused: {why}": count for why, count in server.refused.items()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--server", action="store_true")
    options = parser.parse_args()
    pool = seeds()
    if options.only is not None:
        sys.stdout.write(f"{decode(one(pool, options.seed, options.only))}\n")
        return 0
    began, memory = time.monotonic(), _peak()
    if options.server:
        counts = asyncio.run(at_server(pool, options.seed, options.frames))
    else:
        counts = campaign(pool, options.seed, options.frames)
    grown = _peak() - memory
    sys.stdout.write(
        f"{options.frames} frames, {time.monotonic() - began:.0f} s, peak memory grew by "
        f"{grown // 1024} KiB: {dict(counts)}\n"
    )
    return 1 if grown > _MOST_GROWTH else 0


def campaign(pool: list[Seed], seed: int, frames: int) -> Counter[str]:
    """The results of decoding the frames. Names the frame at which another exception was raised."""
    counts: Counter[str] = Counter()
    for number in range(frames):
        try:
            counts[decode(one(pool, seed, number))] += 1
        except BaseException:
            sys.stdout.write(f"frame {number}: repeat it by --seed {seed} --only {number}\n")
            raise
    return counts


def _peak() -> int:
    """The peak memory of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    sys.exit(main())
