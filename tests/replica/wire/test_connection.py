"""Server and client on 127.0.0.1: versions, order, limits, hostile clients."""

from __future__ import annotations

import asyncio
import random
import socket

import pytest

from replica.errors import (
    CorruptDataError,
    TruncatedDataError,
    UnreachablePeerError,
    UnsupportedByPeerError,
    UsageError,
)
from replica.model.kafka_errors import ErrorCode
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS, DESCRIBE_CLUSTER
from replica.wire.apis.fetching import FETCH
from replica.wire.apis.quorum import VOTE
from replica.wire.client import Connection
from replica.wire.frame import framed, read_frame
from replica.wire.header import (
    WireRequest,
    decode_request,
    decode_response,
    encode_request,
)
from replica.wire.limits import ListenerLimits
from replica.wire.server import Server, Service
from replica.wire.versions import Features, Identity, supported_feature
from tests.replica.wire.frames import encode_response
from tests.replica.wire.loopback import HOST, SERVED, connected, echo, running


def test_the_newest_common_version_is_used():
    async def main():
        async with running() as server, connected(server) as connection:
            assert (await connection.call(VOTE, {"voterId": 7})).version == 2
            assert (await connection.call(FETCH, {})).version == 12
            with pytest.raises(UnsupportedByPeerError, match="Fetch in versions 13 to 18"):
                connection.version_of(FETCH, least=13)
            with pytest.raises(UnsupportedByPeerError, match="DescribeCluster"):
                await connection.call(DESCRIBE_CLUSTER, {})

    asyncio.run(main())


def test_features_are_asked_for_anew_each_time():
    levels = iter((0, 1))

    def features():
        return Features({"kraft.version": (0, 1)}, {"kraft.version": next(levels)}, 5)

    async def main():
        async with running(features=features) as server, connected(server) as connection:
            told = connection.api_versions
            assert supported_feature(told, "kraft.version") == (0, 1)
            assert supported_feature(told, "metadata.version") == (0, 0)
            assert told["finalizedFeatures"][0]["maxVersionLevel"] == 0
            again = await connection.call(API_VERSIONS, {})
            assert again.message["finalizedFeatures"][0]["maxVersionLevel"] == 1

    asyncio.run(main())


def test_an_unknown_version_of_api_versions_is_answered_in_version_0():
    async def main():
        async with running() as server:
            reader, writer = await asyncio.open_connection(HOST, server.port)
            writer.write(framed(bytes.fromhex("0012 0063 00000009 ffff 00")))
            answer = decode_response(API_VERSIONS, 4, await read_frame(reader, 1000))
            writer.close()
        assert answer["errorCode"] == 35
        assert answer["apiKeys"] == [{"apiKey": 18, "minVersion": 0, "maxVersion": 5}]

    asyncio.run(main())


IDENTITY = Identity("cluster", 3)


@pytest.mark.parametrize(
    ("named", "error"),
    [
        ({}, ErrorCode.NONE),
        ({"clusterId": "cluster", "nodeId": 3}, ErrorCode.NONE),
        ({"clusterId": "cluster", "nodeId": 4}, ErrorCode.REBOOTSTRAP_REQUIRED),
        ({"clusterId": "another", "nodeId": 3}, ErrorCode.REBOOTSTRAP_REQUIRED),
        ({"clusterId": "", "nodeId": 3}, ErrorCode.REBOOTSTRAP_REQUIRED),
        ({"clusterId": "cluster", "nodeId": -2}, ErrorCode.REBOOTSTRAP_REQUIRED),
        ({"clusterId": "cluster"}, ErrorCode.INVALID_REQUEST),
        ({"nodeId": 3}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_client_that_meant_another_node_or_cluster_is_told_to_rebootstrap(named, error):
    async def main():
        async with running(identity=IDENTITY) as server, connected(server) as connection:
            answer = (await connection.call(API_VERSIONS, named, 5)).message
            assert answer["errorCode"] == error
            assert bool(answer["apiKeys"]) == (error is ErrorCode.NONE)
            older = await connection.call(API_VERSIONS, named, 4)
            assert older.message["errorCode"] == ErrorCode.NONE
            assert (await connection.call(VOTE, {"voterId": 3})).message["errorCode"] == 3

    asyncio.run(main())


@pytest.mark.parametrize("version", range(6))
def test_features_from_level_0_on_are_told_from_version_4_on(version):
    """Older clients refuse a whole answer that has such a range (KAFKA-17011)."""

    def features():
        return Features({"kraft.version": (0, 1), "metadata.version": (7, 33)}, {})

    async def main():
        async with running(features=features) as server, connected(server) as connection:
            told = (await connection.call(API_VERSIONS, {}, version)).message["supportedFeatures"]
            names = [feature["name"] for feature in told]
            assert names == (["kraft.version"] * (version >= 4) + ["metadata.version"]) * (
                version >= 3
            )

    asyncio.run(main())


def test_a_client_goes_back_to_an_older_version_of_api_versions():
    async def main():
        old = {**SERVED, API_VERSIONS.key: range(3)}
        async with running(served=old) as server, connected(server) as connection:
            assert (await connection.call(VOTE, {"voterId": 3})).message["errorCode"] == 3
            assert connection.versions[API_VERSIONS.key] == range(3)

    asyncio.run(main())


def test_a_client_asks_a_server_again_that_answered_in_version_0_without_an_error():
    """As kafka.tools.TestRaftServer does; what only newer versions tell would be missing."""
    served = [{"apiKey": API_VERSIONS.key, "minVersion": 0, "maxVersion": 4}]
    features = [{"name": "kraft.version", "minVersion": 0, "maxVersion": 1}]
    asked = []

    async def answer(reader, writer):
        while (frame := await read_frame(reader, 1000)) is not None:
            request = decode_request(frame)
            asked.append(request.version)
            version = request.version if request.version <= 4 else 0
            told = {"apiKeys": served, "supportedFeatures": features}
            writer.write(
                framed(encode_response(API_VERSIONS, version, request.correlation_id, told))
            )
        writer.close()

    async def main():
        server = await asyncio.start_server(answer, HOST, 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            connection = await Connection.connect(HOST, port)
            assert asked == [5, 4]
            assert connection.api_versions["supportedFeatures"] == features
            await connection.close()

    asyncio.run(main())


def test_pipelined_requests_are_answered_in_their_order():
    async def main():
        async with running() as server, connected(server, max_in_flight=3) as connection:
            calls = [
                connection.call(FETCH, {"maxWaitMs": wait, "sessionId": index})
                for index, wait in enumerate((60, 0, 20, 0, 0))
            ]
            answers = await asyncio.gather(*calls)
            assert [answer.message["sessionId"] for answer in answers] == [0, 1, 2, 3, 4]

    asyncio.run(main())


def test_a_late_answer_ends_the_connection():
    async def main():
        async with running() as server, connected(server, timeout_s=0.2) as connection:
            with pytest.raises(UnreachablePeerError, match=r"no answer to Fetch within 0\.2 s"):
                await connection.call(FETCH, {"maxWaitMs": 30_000})
            assert not connection.is_open
            with pytest.raises(UnreachablePeerError, match="no answer to Fetch"):
                await connection.call(VOTE, {})

    asyncio.run(main())


def test_a_server_that_closes_tells_all_that_wait():
    async def main():
        async with running() as server, connected(server) as connection:
            call = asyncio.create_task(connection.call(FETCH, {"maxWaitMs": 30_000}))
            await asyncio.sleep(0.05)
            await server.close()
            with pytest.raises(UnreachablePeerError, match="connection lost"):
                await call

    asyncio.run(main())


def test_a_task_that_is_cancelled_while_it_closes_a_connection_ends():
    async def main():
        async with running() as server:
            connection = await Connection.connect(HOST, server.port)
            closing = asyncio.create_task(connection.close())
            await asyncio.sleep(0)  # it waits for the end of what reads answers
            closing.cancel()
            await asyncio.wait((closing,))
            assert closing.cancelled()

    asyncio.run(main())


def test_an_address_without_a_listener_is_unreachable():
    async def main():
        async with running() as server:
            port = server.port
        with pytest.raises(UnreachablePeerError, match=f"127.0.0.1:{port}: no connection"):
            await Connection.connect(HOST, port)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\x7f\xff\xff\xff", "CorruptDataError"),
        (b"\xff\xff\xff\xff", "CorruptDataError"),
        (b"\x00\x00", "TruncatedDataError"),
        (b"\x00\x00\x00\x09abc", "TruncatedDataError"),
        (framed(b""), "TruncatedDataError"),
        (framed(b"GET / HTTP/1.1\r\n\r\n"), "UnsupportedDataError"),
        (framed(encode_request(WireRequest(FETCH, 18, 1, None, {}))), "UnsupportedVersionError"),
        (framed(encode_request(WireRequest(VOTE, 2, 1, None, {})) + b"x"), "CorruptDataError"),
    ],
)
def test_a_bad_frame_closes_its_connection_and_no_other(sent, reason):
    async def main():
        async with running() as server, connected(server) as other:
            reader, writer = await asyncio.open_connection(HOST, server.port)
            writer.write(sent)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            assert dict(server.refused) == {reason: 1}
            assert (await other.call(VOTE, {"voterId": 4})).message["errorCode"] == 4

    asyncio.run(main())


def test_an_error_of_the_handler_ends_its_connection_and_no_other():
    async def picky(client, request):
        if request.message["voterId"] == 1:
            raise UsageError("not this one")
        return await echo(client, request)

    async def main():
        async with running(picky) as server, connected(server) as other:
            async with connected(server) as connection:
                with pytest.raises(UnreachablePeerError, match="closed by the peer"):
                    await connection.call(VOTE, {"voterId": 1})
            assert dict(server.refused) == {"UsageError": 1}
            assert (await other.call(VOTE, {"voterId": 4})).message["errorCode"] == 4

    asyncio.run(main())


def test_random_frames_never_break_the_server():
    draw = random.Random(5)
    starts = [
        encode_request(WireRequest(api, v, 1, "c", {}))
        for api in APIS.values()
        for v in api.versions
    ]

    async def main():
        async with running() as server, connected(server) as other:
            for _ in range(300):
                frame = bytearray(draw.choice(starts))
                for _ in range(draw.randrange(4)):
                    frame[draw.randrange(len(frame))] = draw.randrange(256)
                reader, writer = await asyncio.open_connection(HOST, server.port)
                writer.write(framed(bytes(frame[: draw.randrange(len(frame) + 1)])))
                writer.write_eof()
                await reader.read()
                writer.close()
            assert (await other.call(VOTE, {"voterId": 4})).message["errorCode"] == 4
        known = {"CorruptDataError", "TruncatedDataError", "UnsupportedDataError"}
        assert set(server.refused) <= known | {"UnsupportedVersionError"}

    asyncio.run(main())


def test_idle_and_slow_connections_are_closed():
    async def main():
        async with running(limits=ListenerLimits(idle_s=0.5, transfer_s=0.5)) as server:
            first, one = await asyncio.open_connection(HOST, server.port)
            second, two = await asyncio.open_connection(HOST, server.port)
            two.write(b"\x00\x00\x00\x09ab")
            assert [await r.read() for r in (first, second)] == [b"", b""]
            for writer in (one, two):
                writer.close()
            assert dict(server.refused) == {"time is over": 2}

    asyncio.run(main())


def test_a_connection_without_a_first_request_is_closed_in_time():
    async def main():
        limits = ListenerLimits(handshake_s=0.3)
        async with running(limits=limits) as server, connected(server) as other:
            reader, writer = await asyncio.open_connection(HOST, server.port)
            assert await reader.read() == b""
            writer.close()
            assert dict(server.refused) == {"time is over": 1}
            assert (await other.call(VOTE, {"voterId": 4})).message["errorCode"] == 4

    asyncio.run(main())


def test_a_frame_is_read_as_it_comes_and_refused_by_its_size():
    async def main():
        reader = asyncio.StreamReader()
        reader.feed_data(framed(b"ab") + framed(b"") + b"\x00\x00\x00\x04x")
        assert [await read_frame(reader, 4), await read_frame(reader, 4)] == [b"ab", b""]
        reader.feed_eof()
        with pytest.raises(TruncatedDataError, match="4 bytes ends after 1"):
            await read_frame(reader, 4)
        reader = asyncio.StreamReader()
        reader.feed_data(b"\x00\x00\x00\x05")
        with pytest.raises(CorruptDataError, match="a frame of 5 bytes; at most 4 are taken"):
            await read_frame(reader, 4)

    asyncio.run(main())


def test_a_client_that_takes_the_end_of_an_answer_late_leaves_no_trace():
    records = bytes(60_000)  # more than the sockets take, less than is waited for

    async def large(client, request):
        partition = {"partitionIndex": 0, "records": records}
        return {"responses": [{"topic": "t", "partitions": [partition]}]}

    async def main():
        faults = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, what: faults.append(what))
        async with running(large) as server:
            server._acceptor.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            late = socket.socket()
            late.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            late.connect((HOST, server.port))
            late.sendall(framed(encode_request(WireRequest(FETCH, 12, 1, None, {"topics": []}))))
            late.shutdown(socket.SHUT_WR)
            await asyncio.sleep(0.2)  # the server has closed, and lingers
            reader, writer = await asyncio.open_connection(sock=late)
            assert len(await reader.read()) > len(records)
            writer.close()
        assert not faults

    asyncio.run(main())


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "a..example", "\xad\xad"])
def test_a_host_that_no_name_server_can_be_asked_for_is_unreachable(host: str) -> None:
    with pytest.raises(UnreachablePeerError, match="no host name"):
        asyncio.run(Connection.connect(host, 9092))


def test_a_listener_s_host_that_is_no_name_is_an_error_of_the_operating_system() -> None:
    server = Server(Service(echo, SERVED))
    with pytest.raises(OSError, match="no host name"):
        asyncio.run(server.start("a" * 64, 0))
