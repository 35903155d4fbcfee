"""Every RPC that a replica serves, asked by a client of each role over a real connection."""

from __future__ import annotations

import asyncio

import pytest

from replica.errors import KraftlakeError
from replica.format.whole_batch import value_batch
from replica.model.kafka_errors import ErrorCode
from replica.node.exposure import open_reading
from replica.node.properties import read_properties
from replica.node.rpcs import RPCS
from replica.node.security.client import client_config_in
from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT
from replica.wire.apis.writing import PRODUCE
from replica.wire.client import ClientConfig, Connection
from tests.replica.node.running import CLUSTER, at, leads, running
from tests.replica.node.security.files import PLAIN
from tests.replica.node.security.quorum import with_password
from tests.replica.node.server_properties import settings
from tests.replica.node.test_rpcs import asked, codes

ROLES = ("voter", "observer", "reader", "administrator")
ANY_ROLE = set(ROLES)
MAY = {
    "Vote": {"voter"},
    "BeginQuorumEpoch": {"voter"},
    "EndQuorumEpoch": {"voter"},
    "UpdateRaftVoter": {"voter", "administrator"},
    "Fetch": {"voter", "observer"},
    "FetchSnapshot": {"voter", "observer"},
    "Fetch by a reader": ANY_ROLE,
    "DescribeQuorum": ANY_ROLE,
    "Metadata": ANY_ROLE,
    "DescribeCluster": ANY_ROLE,
    "ListOffsets": ANY_ROLE,
    "OffsetForLeaderEpoch": ANY_ROLE,
    "DescribeConfigs": ANY_ROLE,
    "AddRaftVoter": {"administrator"},
    "RemoveRaftVoter": {"administrator"},
    "UpdateFeatures": {"administrator"},
    "Produce": {"administrator"},
    "DeleteRecords": {"administrator"},
    "AlterConfigs": {"administrator"},
    "IncrementalAlterConfigs": {"administrator"},
    "UnregisterController": {"administrator"},
}
"""Which roles may send each request. A user without a role may send none of these requests, and
neither may a client that has not logged in."""
REFUSED = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.BROKER_NOT_AVAILABLE,
}
USERS = (*ROLES, "nobody")
SECURE = {
    "listener__security__protocol__map": "CONTROLLER:SASL_PLAINTEXT",
    "sasl__mechanism__controller__protocol": "PLAIN",
    "listener__name__controller__sasl__enabled__mechanisms": "PLAIN",
    "listener__name__controller__plain__sasl__jaas__config": (
        f'{PLAIN} required username="voter" password="of-voter" '
        + " ".join(f'user_{user}="of-{user}"' for user in USERS)
        + ";"
    ),
    **{f"kraftlake__principals__{role}": role for role in ROLES},
}
FOREIGN = 77
"""The id of a replica that is no voter."""


def requests():
    """Each request of the table in its newest version, under its name there."""
    for rpc in RPCS.values():
        version = max(rpc.api.versions)
        yield rpc.api.name, rpc.api, version, filled(rpc, asked(rpc, version))
    yield "Fetch by a reader", FETCH, 12, {**asked(RPCS[FETCH.key], 12), "replicaId": -1}


def filled(rpc, message):
    if rpc.api is PRODUCE:
        batch = value_batch(0, 0, 1, [b"value"])
        return {**message, "acks": -1, "timeoutMs": 5000, "topicData": at(PRODUCE, records=batch)}
    if rpc.api is FETCH:
        state = {"replicaId": FOREIGN, "replicaEpoch": -1}
        return {**message, "replicaState": state, "clusterId": CLUSTER, "maxWaitMs": 0}
    return {**message, "replicaId": FOREIGN} if rpc.api is FETCH_SNAPSHOT else message


def test_the_table_has_every_rpc():
    assert set(MAY) - {"Fetch by a reader"} == {rpc.api.name for rpc in RPCS.values()}


def test_each_role_may_send_what_the_table_says_and_nothing_else(tmp_path):
    found: dict[str, set[str]] = {name: set() for name in MAY}
    unclear: list[str] = []

    async def story():
        async with asyncio.timeout(60), running(tmp_path, **SECURE) as node:
            await leads(node)
            (listener,) = node.settings.listeners
            for name, api, version, message in requests():
                for user in USERS:
                    answer = await answer_to(tmp_path, listener.port, user, api, version, message)
                    if answer is None:
                        unclear.append(f"{name} by {user}")
                    elif not codes(answer) & REFUSED:
                        found[name].add(user)

    asyncio.run(story())
    assert unclear == []
    assert found == MAY


async def answer_to(folder, port, user, api, version, message):
    path = with_password(folder, user, f"of-{user}", "PLAIN", None)
    config = client_config_in(read_properties(str(path)), ClientConfig(timeout_s=5.0))[0]
    connection = await Connection.connect("127.0.0.1", port, config)
    return await answered(connection, api, version, message)


async def answered(connection, api, version, message):
    """None where the connection was closed."""
    try:
        return (await connection.call(api, message, version)).message
    except KraftlakeError:
        return None
    finally:
        await connection.close()


def test_a_client_that_has_not_logged_in_is_answered_nothing(tmp_path):
    async def story():
        async with asyncio.timeout(60), running(tmp_path, **SECURE) as node:
            await leads(node)
            (listener,) = node.settings.listeners
            for name, api, version, message in requests():
                connection = await Connection.connect(
                    "127.0.0.1", listener.port, ClientConfig(timeout_s=5.0)
                )
                assert await answered(connection, api, version, message) is None, name

    asyncio.run(story())


OPEN = "CONTROLLER://:9093"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"listeners": OPEN}, "everybody who can connect reads the whole log at CONTROLLER://*, "),
        (
            {"listeners": "CONTROLLER://127.0.0.1:9093"},
            "every user of this machine reads the whole log at CONTROLLER://127.0.0.1, ",
        ),
        ({"listeners": OPEN, "kraftlake__principals__reader": "ann"}, "principals.observer, and"),
        (
            {
                "listeners": OPEN,
                "kraftlake__principals__reader": "ann",
                "kraftlake__principals__observer": "bob",
            },
            None,
        ),
        ({**SECURE, "listeners": OPEN}, None),
    ],
)
def test_a_start_says_where_strangers_read_credentials(tmp_path, changed, said):
    found = settings(tmp_path, advertised__listeners="CONTROLLER://127.0.0.1:9093", **changed)
    notice = open_reading(found, found.listeners[0])
    if said is None:
        assert notice is None
        return
    assert said in notice.text
    assert "SCRAM credentials included" in notice.text
    assert "kraftlake.principals.observer" in notice.text


def test_a_replica_says_so_once_at_its_start(tmp_path):
    async def story():
        said = []
        async with asyncio.timeout(30), running(tmp_path, said=said) as node:
            await leads(node)
        return [notice.event for notice in said]

    assert asyncio.run(story()).count("open-listener") == 1
