"""SASL over a connection: who is let in, as whom, and what strangers may do."""

from __future__ import annotations

import asyncio
import time

import pytest

from replica.errors import (
    AuthenticationError,
    CorruptDataError,
    UnreachablePeerError,
    UnsupportedByPeerError,
)
from replica.wire.apis.quorum import VOTE
from replica.wire.client import ClientConfig, Connection
from replica.wire.limits import ListenerLimits
from replica.wire.sasl import scram
from replica.wire.sasl.client import Plain, Scram
from replica.wire.sasl.server import PlainExchange, RefusedError, ScramExchange
from replica.wire.server import ANONYMOUS
from tests.replica.wire.loopback import HOST, connected, running

MECHANISM = "SCRAM-SHA-256"
KEPT = scram.credential("sha256", "pencil", b"saltsalt", 4096)
AUTHENTICATOR = {
    "PLAIN": lambda: PlainExchange({"ann": "secret"}),
    MECHANISM: lambda: ScramExchange(MECHANISM, {"a=b,c": KEPT}),
}


async def whoami(client, request):
    return {"topics": [{"topicName": client.principal}]}


@pytest.mark.parametrize("who", [Plain("ann", "secret"), Scram("a=b,c", "pencil", MECHANISM)])
def test_an_authenticated_client_is_known_by_its_name(who):
    async def main():
        asked = running(whoami, authenticator=AUTHENTICATOR)
        async with asked as server, connected(server, sasl=who) as connection:
            answer = await connection.call(VOTE, {})
            assert answer.message["topics"][0]["topicName"] == who.user
        async with running(whoami) as server, connected(server) as connection:
            answer = await connection.call(VOTE, {})
            assert answer.message["topics"][0]["topicName"] == ANONYMOUS

    asyncio.run(main())


@pytest.mark.parametrize(
    ("who", "reason"),
    [
        (Plain("ann", "wrong"), "SASL_AUTHENTICATION_FAILED"),
        (Plain("bob", "secret"), "SASL_AUTHENTICATION_FAILED"),
        (Scram("a=b,c", "pen", MECHANISM), "SASL_AUTHENTICATION_FAILED"),
        (Scram("bob", "pencil", MECHANISM), "SASL_AUTHENTICATION_FAILED"),
        (Scram("bob", "pencil", "SCRAM-SHA-512"), "UNSUPPORTED_SASL_MECHANISM"),
    ],
)
def test_a_wrong_password_user_or_mechanism_is_refused(who, reason):
    async def main():
        async with running(whoami, authenticator=AUTHENTICATOR) as server:
            with pytest.raises(AuthenticationError, match=reason):
                await Connection.connect(HOST, server.port, ClientConfig(sasl=who))

    asyncio.run(main())


def test_a_client_with_sasl_learns_that_the_server_has_none():
    async def main():
        async with running(whoami) as server:
            with pytest.raises(UnsupportedByPeerError, match="SaslHandshake in versions 1 to 1"):
                await Connection.connect(HOST, server.port, ClientConfig(sasl=Plain("a", "b")))

    asyncio.run(main())


def test_nothing_is_served_before_authentication():
    async def main():
        limits = ListenerLimits(handshake_s=1.0)
        async with running(whoami, limits, authenticator=AUTHENTICATOR) as server:
            async with connected(server) as connection:
                with pytest.raises(UnreachablePeerError):
                    await connection.call(VOTE, {})
            reader, writer = await asyncio.open_connection(HOST, server.port)
            assert await reader.read() == b""
            writer.close()
            assert dict(server.refused) == {"DataError": 1, "time is over": 1}

    asyncio.run(main())


def test_scram_computes_what_rfc_7677_shows():
    first = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    salt = scram.bytes_of("W22ZaJ0SNY7soEsUEjb6gQ==")
    said = f"{first},r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,{scram.client_final(nonce)}"
    proof, signature = scram.client_proof("sha256", "pencil", salt, 4096, said.encode())
    assert scram.base64_of(proof) == "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert scram.base64_of(signature) == "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    kept = scram.credential("sha256", "pencil", salt, 4096)
    assert scram.is_proven("sha256", kept, proof, said.encode())
    assert scram.server_signature("sha256", kept, said.encode()) == signature


@pytest.mark.parametrize(
    "password", ["pen\N{SOFT HYPHEN}cil", "\N{FULLWIDTH LATIN SMALL LETTER P}encil"]
)
def test_passwords_that_only_saslprep_makes_equal_are_different_ones_as_in_kafka(password):
    one = scram.credential("sha256", "pencil", b"saltsaltsalt", 4096)
    assert scram.credential("sha256", password, b"saltsaltsalt", 4096) != one


def test_strangers_may_not_send_large_frames():
    async def main():
        limits = ListenerLimits(unknown_max_bytes=100)
        async with running(whoami, limits, authenticator=AUTHENTICATOR) as server:
            reader, writer = await asyncio.open_connection(HOST, server.port)
            writer.write(b"\x00\x00\x00\x65")
            assert await reader.read() == b""
            writer.close()
            async with connected(server, sasl=Plain("ann", "secret")) as connection:
                await connection.call(VOTE, {"clusterId": "x" * 200})

    asyncio.run(main())


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        ("0", "too few"),
        ("1", "too few"),
        ("4095", "too few"),
        ("100001", "too many"),
        ("9999999", "too many"),
        (str(2**31 - 1), "no number"),
        ("9" * 5000, "no number"),
        ("-1", "no number"),
        ("4096 ", "no number"),
        ("\N{SUPERSCRIPT TWO}", "no number"),
    ],
)
def test_a_client_computes_no_proof_for_a_servers_count_of_iterations_out_of_bounds(count, reason):
    exchange = Scram("ann", "pencil", MECHANISM).start()
    nonce = scram.attributes(next(exchange).decode().removeprefix("n,,"), "nr")["r"]
    began = time.process_time()
    with pytest.raises(CorruptDataError, match=reason):
        exchange.send(f"r={nonce}more,s=c2FsdA==,i={count}".encode())
    assert time.process_time() - began < 0.5


def test_a_client_proves_itself_to_a_server_of_many_iterations():
    many = scram.MOST_FOR_CLIENTS
    kept = scram.credential("sha256", "pencil", b"saltsalt", many)
    authenticator = {MECHANISM: lambda: ScramExchange(MECHANISM, {"ann": kept})}

    async def main():
        who = Scram("ann", "pencil", MECHANISM)
        asked = running(whoami, authenticator=authenticator)
        async with asked as server, connected(server, sasl=who) as connection:
            answer = await connection.call(VOTE, {})
            assert answer.message["topics"][0]["topicName"] == "ann"

    asyncio.run(main())


def first_answer(user, credentials=None):
    """(salt, iterations, the exchange) that a server gives to a user's first token."""
    exchange = ScramExchange(MECHANISM, {"ann": KEPT} if credentials is None else credentials)
    token = scram.with_prefix(scram.client_first(user, "nonce"))
    found = scram.attributes(exchange.next(token).decode(), "rsi")
    return found["s"], found["i"], exchange, found["r"]


def refusal(exchange, nonce):
    proof = scram.base64_of(bytes(32))
    with pytest.raises(RefusedError) as refused:
        exchange.next(f"{scram.client_final(nonce)},p={proof}".encode())
    return str(refused.value)


def test_a_user_that_does_not_exist_gets_the_exchange_of_one_that_does():
    known, unknown = first_answer("ann"), first_answer("bob")
    assert len(known[0]) == len(unknown[0])
    assert known[1] == unknown[1]
    assert unknown[0] == first_answer("bob")[0] != first_answer("cid")[0]
    assert refusal(*known[2:]) == refusal(*unknown[2:])


def test_an_unknown_users_salt_stays_where_users_are_added():
    more = {"ann": KEPT, "dan": scram.credential("sha256", "x", b"other", 8192)}
    assert first_answer("bob")[:2] == first_answer("bob", more)[:2]
    assert first_answer("bob", {})[0] == first_answer("bob", {})[0]


@pytest.mark.parametrize("who", [Plain("bob\n", "wrong"), Scram("bob\n", "wrong", MECHANISM)])
def test_a_failed_login_is_told_with_its_name_and_address_and_answered_late(who):
    told = []

    async def main():
        limits = ListenerLimits(failed_login_s=0.4)
        asked = running(
            whoami,
            authenticator=AUTHENTICATOR,
            limits=limits,
            on_refused_login=lambda client, user: told.append((client.peer[0], user)),
        )
        async with asked as server:
            began = time.monotonic()
            with pytest.raises(AuthenticationError):
                await Connection.connect(HOST, server.port, ClientConfig(sasl=who))
            assert time.monotonic() - began >= 0.4
            began = time.monotonic()
            async with connected(server, sasl=Plain("ann", "secret")):
                assert time.monotonic() - began < 0.4

    asyncio.run(main())
    assert told == [(HOST, "bob\n")]
