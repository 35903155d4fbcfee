"""Three processes with mTLS, and three with PLAIN and SCRAM over TLS, elect and replicate; who
hasn't what it takes is refused by one clear line, and counted."""

import asyncio
import json
import re
import time

import confluent_kafka
import pytest

from replica.format.segment import scan
from replica.model.kafka_errors import ErrorCode
from replica.node.security.scram_file import line_for
from replica.wire.apis.membership import REMOVE_RAFT_VOTER
from replica.wire.client import Connection
from tests.kraftlake_process import kraftlake
from tests.replica.node.running import TOPIC
from tests.replica.node.security.quorum import (
    MTLS,
    SASL_SSL,
    client_file,
    config_of,
    make_certificates,
    running,
    with_certificate,
    with_password,
)

VALUES = [b"value %d" % n for n in range(20)]
PASSWORDS = {"admin": "of-admin", "reader": "of-reader", "stranger": "of-stranger"}
ASKED = ("--topic", TOPIC, "--until-end", "--json", "--timeout", "1.5")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("secure")
    make_certificates(made)
    return made


@pytest.fixture(scope="module")
def mtls(folder):
    """The quorum with VALUES in its log."""
    own = folder / "mtls"
    own.mkdir()
    lines = MTLS.replace("{folder}", str(folder))
    with running(own, lines) as quorum:
        quorum.append(config_of(with_certificate(folder, "admin")), *VALUES)
        yield quorum


@pytest.fixture(scope="module")
def sasl(folder):
    """The same, with users of SCRAM."""
    own = folder / "sasl"
    own.mkdir()
    kept = [
        line_for(user, mechanism, password, 4096)
        for user, password in PASSWORDS.items()
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
    ]
    (folder / "scram").write_text("\n".join(kept))
    (folder / "scram").chmod(0o600)
    lines = SASL_SSL.replace("{folder}", str(folder))
    with running(own, lines) as quorum:
        admin = with_password(folder, "admin", "of-admin", "SCRAM-SHA-512")
        quorum.append(config_of(admin), *VALUES)
        yield quorum


def consumed(quorum, client):
    """What `kraftlake consume` reads there."""
    ended = kraftlake("consume", "-b", quorum.bootstrap, "--command-config", client, *ASKED)
    assert ended.returncode == 0, ended.stderr
    rows = (json.loads(line) for line in ended.stdout.splitlines())
    return [row["value"].encode() for row in rows if "value" in row]


def refused(quorum, client, *reasons):
    """The lines that `kraftlake consume` ends with; connections are counted by these reasons."""
    before = quorum.refused(*reasons)
    options = () if client is None else ("--command-config", client)
    ended = kraftlake("consume", "-b", quorum.bootstrap, *options, *ASKED)
    assert ended.returncode == 1, ended.stdout
    assert "Traceback" not in ended.stderr
    lines = ended.stderr.splitlines()
    assert 1 <= len(lines) <= 2, lines  # what goes wrong, and that there is no use in going on
    assert quorum.refused(*reasons) > before or not reasons
    return lines[-1]


def survives_a_leaders_death(quorum, config):
    """The others elect, go on, and have the same bytes in their logs once the dead one is back."""
    ends = {node_id: re.findall(r"leader (\d)", quorum.said(node_id)) for node_id in quorum.ports}
    leader = int(max(ends.values(), key=len)[-1])
    quorum.kill(leader)
    end = quorum.append(config, b"after the leader")
    quorum.start(leader)
    deadline = time.monotonic() + 60
    while len({below(quorum.log(node_id), end) for node_id in quorum.ports}) > 1:
        assert time.monotonic() < deadline, "a log lacks what is committed"
        time.sleep(0.1)
    assert not any("Traceback" in quorum.said(node_id) for node_id in quorum.ports)


def below(data, end):
    batches = [b for b in scan(data).batches if b.header.next_offset <= end]
    last = batches[-1]
    return data[: last.position + last.header.size_bytes], last.header.next_offset


def test_voters_with_certificates_serve_clients_with_a_certificate_and_a_role(mtls, folder):
    assert consumed(mtls, with_certificate(folder, "reader"))[: len(VALUES)] == VALUES


def test_voters_with_passwords_serve_readers_by_scram(sasl, folder):
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        reader = with_password(folder, "reader", "of-reader", mechanism)
        assert consumed(sasl, reader)[: len(VALUES)] == VALUES


def removal_at(port, config):
    """The error with which a node answers an administrator's RemoveRaftVoter."""

    async def ask():
        connection = await Connection.connect("127.0.0.1", port, config)
        try:
            gone = {"voterId": 9, "voterDirectoryId": "B" * 21 + "A"}
            return (await connection.call(REMOVE_RAFT_VOTER, gone)).message["errorCode"]
        finally:
            await connection.close()

    return asyncio.run(ask())


def administered(quorum, admin, reader):
    """By each node, so by two that send it on: the leader trusts them, and they judge the caller.
    The leader's own answer is that voters of kraft.version 0 are static."""
    for port in quorum.ports.values():
        assert removal_at(port, config_of(admin)) == ErrorCode.UNSUPPORTED_VERSION
        assert removal_at(port, config_of(reader)) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_administrators_with_certificates_are_served_by_every_node(mtls, folder):
    administered(mtls, with_certificate(folder, "admin"), with_certificate(folder, "reader"))


def test_administrators_with_passwords_are_served_by_every_node(sasl, folder):
    admin = with_password(folder, "admin", "of-admin", "SCRAM-SHA-512")
    reader = with_password(folder, "reader", "of-reader", "SCRAM-SHA-256")
    administered(sasl, admin, reader)


@pytest.mark.parametrize(
    ("name", "reasons", "said"),
    [
        ("foreign", ("TLS: unable to get local issuer certificate",), "want another certificate"),
        ("expired", ("TLS: certificate has expired",), "want another certificate"),
        ("", ("TLS: PEER_DID_NOT_RETURN_A_CERTIFICATE",), "want another certificate"),
    ],
)
def test_a_certificate_that_isnt_good_is_refused(mtls, folder, name, reasons, said):
    assert said in refused(mtls, with_certificate(folder, name), *reasons)


def test_a_good_certificate_without_a_role_may_not_read(mtls, folder):
    before = mtls.denied()
    line = refused(mtls, with_certificate(folder, "stranger"))
    assert "not allowed to read the topic" in line
    assert mtls.denied() > before


def test_a_client_without_tls_learns_that_the_server_may_want_it(mtls, sasl):
    for quorum in (mtls, sasl):
        line = refused(quorum, None, "TLS: HTTP_REQUEST", "TLS: WRONG_VERSION_NUMBER")
        assert "it may want TLS (security.protocol)" in line


def test_a_client_without_sasl_learns_that_the_server_may_want_it(sasl, folder):
    line = refused(sasl, with_certificate(folder, ""), "DataError")
    assert "it may want SASL (security.protocol, sasl.mechanism)" in line


def test_a_server_of_another_authority_is_not_trusted(sasl, folder):
    client = with_password(folder, "reader", "of-reader", "SCRAM-SHA-256", "other")
    assert "TLS: CERTIFICATE_VERIFY_FAILED" in refused(sasl, client)
    with_password(folder, "reader", "of-reader", "SCRAM-SHA-256")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_refused_and_not_repeated(sasl, folder, mechanism):
    client = with_password(folder, "reader", "not-the-one", mechanism)
    line = refused(sasl, client, "SASL")
    assert "authentication failed: SASL_AUTHENTICATION_FAILED" in line
    assert "not-the-one" not in line
    said = "".join(sasl.said(node_id) for node_id in sasl.ports)
    assert "not-the-one" not in said
    assert "of-voters" not in said


def test_a_mechanism_that_isnt_enabled_is_refused_with_those_that_are(mtls, sasl, folder):
    client = client_file(
        folder,
        "sasl-to-mtls",
        with_certificate(folder, "reader")
        .read_text()
        .replace(
            "security.protocol=SSL",
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
            "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
            "username=a password=b;",
        ),
    )
    assert "SaslHandshake in versions 1 to 1 isn't served" in refused(mtls, client)


def test_a_user_without_a_role_may_log_in_and_nothing_else(sasl, folder):
    before = sasl.denied()
    line = refused(sasl, with_password(folder, "stranger", "of-stranger", "SCRAM-SHA-256"))
    assert "not allowed to read the topic" in line
    assert sasl.denied() > before


def test_a_reader_may_not_append(sasl, mtls, folder):
    for quorum, client in (
        (sasl, with_password(folder, "reader", "of-reader", "SCRAM-SHA-512")),
        (mtls, with_certificate(folder, "reader")),
    ):
        ends = [len(quorum.log(node_id)) for node_id in quorum.ports]
        said = quorum.try_to_append(config_of(client), b"no")
        assert set(said) <= {"Produce: error 29", "Produce: error 6"}
        assert "Produce: error 29" in said
        assert [len(quorum.log(node_id)) for node_id in quorum.ports] == ends


def read_by_librdkafka(bootstrap, **config):
    """The values that it reads from the beginning, as many as VALUES."""
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False, **config}
    )
    try:
        reader.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
        found = reader.consume(len(VALUES), 60)
        assert not [message.error() for message in found if message.error()]
        return [message.value() for message in found]
    finally:
        reader.close()


def read_by_kafka_python(bootstrap, **config):
    import kafka  # warns of what Python will drop

    reader = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap.split(","), enable_auto_commit=False, **config
    )
    try:
        partition = kafka.TopicPartition(TOPIC, 0)
        reader.assign([partition])
        reader.seek(partition, 0)
        found = []
        deadline = time.monotonic() + 60
        while len(found) < len(VALUES) and time.monotonic() < deadline:
            for records in reader.poll(1000).values():
                found += [record.value for record in records]
        return found[: len(VALUES)]
    finally:
        reader.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kafkas_clients_read_by_scram_over_tls(sasl, folder, mechanism):
    dotted = {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": f"{folder}/ca.pem",
        "sasl.mechanism": mechanism,
        "sasl.username": "reader",
        "sasl.password": "of-reader",
    }
    assert read_by_librdkafka(sasl.bootstrap, **dotted) == VALUES
    named = {
        "security_protocol": "SASL_SSL",
        "ssl_cafile": f"{folder}/ca.pem",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "reader",
        "sasl_plain_password": "of-reader",
    }
    assert read_by_kafka_python(sasl.bootstrap, **named) == VALUES


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafkas_clients_read_by_their_certificate(mtls, folder):
    dotted = {
        "security.protocol": "SSL",
        "ssl.ca.location": f"{folder}/ca.pem",
        "ssl.certificate.location": f"{folder}/reader.pem",
        "ssl.key.location": f"{folder}/reader.key",
    }
    assert read_by_librdkafka(mtls.bootstrap, **dotted) == VALUES
    named = {
        "security_protocol": "SSL",
        "ssl_cafile": f"{folder}/ca.pem",
        "ssl_certfile": f"{folder}/reader.pem",
        "ssl_keyfile": f"{folder}/reader.key",
    }
    assert read_by_kafka_python(mtls.bootstrap, **named) == VALUES


def test_an_administrator_by_scram_appends_and_describes_and_a_reader_only_describes(sasl, folder):
    admin = with_password(folder, "admin", "of-admin", "SCRAM-SHA-512")
    reader = with_password(folder, "reader", "of-reader", "SCRAM-SHA-512")
    append = ("replica", "append", "-b", sasl.bootstrap, "--topic", TOPIC, "--command-config")
    ended = kraftlake(*append, admin, text="by hand\n")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert b"by hand" in consumed(sasl, reader)
    ended = kraftlake(*append, reader, text="not me\n")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert "kraftlake.principals.administrator" in line
    describe = ("replica", "describe", "-b", sasl.bootstrap, "--topic", TOPIC, "--command-config")
    for client in (admin, reader):
        told = kraftlake(*describe, client)
        assert told.returncode == 0, told.stderr


def test_a_quorum_with_certificates_survives_its_leader(mtls, folder):
    survives_a_leaders_death(mtls, config_of(with_certificate(folder, "admin")))


def test_a_quorum_with_passwords_survives_its_leader(sasl, folder):
    admin = with_password(folder, "admin", "of-admin", "SCRAM-SHA-256")
    survives_a_leaders_death(sasl, config_of(admin))


def test_a_voter_with_a_wrong_password_says_so_and_takes_no_part(sasl, folder):
    properties = sasl.properties(3)
    right = properties.read_text()
    sasl.kill(3)
    before = len(sasl.said(3))
    properties.write_text(right.replace('password="of-voters" user', 'password="a-typo" user'))
    sasl.start(3)
    deadline = time.monotonic() + 60
    while "authentication failed: SASL_AUTHENTICATION_FAILED" not in sasl.said(3)[before:]:
        assert time.monotonic() < deadline, sasl.said(3)[before:]
        time.sleep(0.1)
    admin = config_of(with_password(folder, "admin", "of-admin", "SCRAM-SHA-256"))
    end = sasl.append(admin, b"without node 3")
    assert below(sasl.log(3), end)[1] < end
    assert "a-typo" not in sasl.said(3)
    assert "Traceback" not in sasl.said(3)
    sasl.kill(3)
    properties.write_text(right)
    sasl.start(3)
    while below(sasl.log(3), end)[1] < end:
        assert time.monotonic() < deadline + 60, sasl.said(3)[before:]
        time.sleep(0.1)
