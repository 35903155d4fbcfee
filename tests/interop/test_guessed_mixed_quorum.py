"""Strangers who guess passwords at the voters of a quorum of kraftlake's and Kafka's, which goes on
committing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from replica.node.security.scram_file import line_for
from replica.wire.client import ClientConfig
from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.mixed_quorum import KAFKAS, OURS, MixedQuorum
from tests.replica.node.floods.flooded import guessing
from tests.replica.node.security.files import PLAIN, SCRAM
from tests.replica.node.security.quorum import config_of, with_password

pytestmark = pytest.mark.slow

GUESSERS = 5
"""Strangers who guess passwords at each voter."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-512")


def properties(folder: Path) -> dict[str, object]:
    """The properties of all voters, which log in to each other by PLAIN."""
    listener = "listener.name.controller"
    return {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
        "sasl.mechanism.controller.protocol": "PLAIN",
        f"{listener}.sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{listener}.plain.sasl.jaas.config": f"{PLAIN} required "
        'username="voter" password="of-voters" user_voter="of-voters" user_admin="of-admin";',
        f"{listener}.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
        "kraftlake.scram.credentials.file": folder / "scram",
        "kraftlake.principals.voter": "voter",
        "kraftlake.principals.administrator": "admin",
        "kraftlake.principals.reader": "admin",
        "kraftlake.principals.observer": "admin",
    }


def login(folder: Path, user: str, password: str, mechanism: str) -> ClientConfig:
    return config_of(with_password(folder, user, password, mechanism, authority=None))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("guessed")
    (made / "scram").write_text(line_for("admin", "SCRAM-SHA-512", "of-admin", 4096))
    (made / "scram").chmod(0o600)
    return made


@pytest.fixture(scope="module", params=[2, 1], ids=["2+1", "1+2"])
def quorum(folder: Path, request: pytest.FixtureRequest) -> Iterator[MixedQuorum]:
    class_path_or_skip()
    # Elections here are the guesses' fault, so a busy machine must not cause any.
    with MixedQuorum(
        folder / f"{request.param}-of-ours",
        request.param,
        fetch_timeout_ms=10_000,
        properties=properties(folder),
        client=login(folder, "admin", "of-admin", "PLAIN"),
    ) as running:
        running.leader()
        yield running


def test_a_mixed_quorum_commits_while_strangers_guess_passwords_and_none_is_let_in(
    quorum: MixedQuorum, folder: Path
) -> None:
    """The guesses are for users that there are and for others. Each guess waits for its answer:
    kraftlake's voters answer after a second, and Kafka's after 0.1 s."""
    assert {voter.kind for voter in quorum.voters.values()} == {OURS, KAFKAS}
    guesses = [
        login(folder, user, "guessed", mechanism)
        for mechanism in MECHANISMS
        for user in ("voter", "admin", "nobody")
    ]
    election, before = quorum.leader().election, quorum.committed()
    ports = [voter.port for voter in quorum.voters.values()]
    began = time.monotonic()
    with guessing(ports, GUESSERS, guesses) as tried:
        reached = before
        while reached < before + 300 or time.monotonic() < began + 10:
            assert time.monotonic() < began + 60, f"{reached - before} records within a minute"
            reached = quorum.wait_for_commits(reached)
    assert tried.entered == []
    assert tried.refused > GUESSERS * len(ports)
    assert quorum.leader().election == election
    assert "Traceback" not in quorum.outputs()


def test_a_new_leader_is_elected_while_strangers_guess(quorum: MixedQuorum, folder: Path) -> None:
    """The last test of its quorum, because it ends a leader."""
    lost = quorum.leader()
    guesses = [login(folder, "voter", "guessed", mechanism) for mechanism in MECHANISMS]
    ports = [voter.port for voter in quorum.running if voter is not lost]
    with guessing(ports, GUESSERS, guesses) as tried:
        epoch = lost.election[0]
        lost.kill()
        try:
            assert quorum.leader(above_epoch=epoch) is not lost
            quorum.wait_for_commits(quorum.committed())
        finally:
            lost.start()
    assert tried.entered == []
    quorum.wait_for_commits(quorum.committed())
