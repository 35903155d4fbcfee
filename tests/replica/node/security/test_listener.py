"""A listener's security by Kafka's server.properties: which key counts, and what is refused."""

import pytest

from replica.errors import UnreadableFileError, UsageError
from replica.node.settings import settings_in
from replica.wire.limits import UNLIMITED
from replica.wire.sasl.client import Plain, Scram
from tests.replica.node.security.files import PLAIN, SCRAM, properties_of
from tests.replica.wire.certificates import make_authority, make_certificate

NODE = """process.roles=controller
node.id=1
log.dirs=/var/lib/node1
controller.listener.names=VOTERS
controller.quorum.bootstrap.servers=127.0.0.1:9093
listeners=VOTERS://127.0.0.1:9093,READERS://127.0.0.1:9094
"""
PEM = """ssl.keystore.type=PEM
ssl.keystore.location=/etc/node.pem
ssl.truststore.type=PEM
ssl.truststore.location=/etc/ca.pem
"""
SECRET = "tell-nobody"  # noqa: S105


def security(tmp_path, protocols, lines):
    names = f"listener.security.protocol.map={protocols}\n"
    found = settings_in(properties_of(tmp_path, NODE + names + lines, "server.properties"))
    assert SECRET not in repr(found)
    return found


def test_without_a_map_all_is_plain_text(tmp_path):
    found = security(tmp_path, "", "").security
    assert {each.tls for each in found.listeners.values()} == {None}
    assert (found.voters.tls, found.voters.sasl) == (None, None)


def test_a_key_below_the_listener_counts_before_the_plain_one(tmp_path):
    lines = (
        PEM + "ssl.client.auth=required\n"
        "listener.name.readers.ssl.client.auth=none\n"
        "listener.name.readers.ssl.keystore.location=/etc/readers.pem\n"
        "listener.name.readers.max.connections=7\nmax.connections=9\n"
    )
    found = security(tmp_path, "VOTERS:SSL,READERS:SSL", lines)
    voters, readers = found.security.listeners["VOTERS"], found.security.listeners["READERS"]
    assert (voters.client_auth, voters.tls.certificate) == ("required", "/etc/node.pem")
    assert (readers.client_auth, readers.tls.certificate) == ("none", "/etc/readers.pem")
    assert readers.tls.authorities == "/etc/ca.pem"
    assert (voters.limits.max_connections, readers.limits.max_connections) == (UNLIMITED, 7)
    assert found.security.limits.max_connections == 9
    assert found.security.voters.tls == voters.tls
    assert found.unknown == ()


def test_a_listener_with_sasl_asks_for_certificates_only_by_its_own_key(tmp_path):
    lines = (
        PEM + "ssl.client.auth=required\nsasl.enabled.mechanisms=PLAIN\n"
        "sasl.mechanism.controller.protocol=PLAIN\n"
        f"plain.sasl.jaas.config={PLAIN} required user_a=b username=a password=b;\n"
    )
    protocols = "VOTERS:SASL_SSL,READERS:SASL_SSL"
    own = lines + "listener.name.voters.ssl.client.auth=requested\n"
    found = security(tmp_path, protocols, own).security.listeners
    assert (found["VOTERS"].client_auth, found["READERS"].client_auth) == ("requested", "none")


def test_the_listeners_login_module_has_plains_users_and_this_nodes_own_login(tmp_path):
    jaas = (
        f"{PLAIN} required username=node1 password={SECRET} user_node1={SECRET} user_node2=other;"
    )
    lines = (
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512\n"
        "sasl.mechanism.controller.protocol=PLAIN\n"
        f"listener.name.voters.plain.sasl.jaas.config={jaas}\n"
        "listener.name.voters.sasl.enabled.mechanisms=PLAIN\n"
        "listener.name.readers.sasl.enabled.mechanisms=SCRAM-SHA-512\n"
        "kraftlake.scram.credentials.file=/etc/scram\n"
    )
    found = security(tmp_path, "VOTERS:SASL_PLAINTEXT,READERS:SASL_PLAINTEXT", lines)
    voters, readers = found.security.listeners["VOTERS"], found.security.listeners["READERS"]
    assert voters.passwords == {"node1": SECRET, "node2": "other"}
    assert (voters.mechanisms, voters.scram_file) == (("PLAIN",), "")
    assert (readers.mechanisms, readers.scram_file) == (("SCRAM-SHA-512",), "/etc/scram")
    assert found.security.voters.sasl == Plain("node1", SECRET)


def test_voters_may_authenticate_to_each_other_by_scram(tmp_path):
    lines = (
        "sasl.enabled.mechanisms=SCRAM-SHA-256\n"
        "sasl.mechanism.controller.protocol=SCRAM-SHA-256\n"
        "kraftlake.scram.credentials.file=/etc/scram\n"
        "listener.name.voters.scram-sha-256.sasl.jaas.config="
        f"{SCRAM} required username=n password={SECRET};\n"
    )
    found = security(tmp_path, "VOTERS:SASL_PLAINTEXT,READERS:PLAINTEXT", lines)
    assert found.security.voters.sasl == Scram("n", SECRET, "SCRAM-SHA-256")


def test_limits_have_kafkas_names(tmp_path):
    lines = (
        "socket.request.max.bytes=1000\nqueued.max.request.bytes=2000\n"
        "connections.max.idle.ms=1500\nsasl.server.max.receive.size=500\n"
        "socket.connection.setup.timeout.ms=250\n"
    )
    found = security(tmp_path, "", lines).security
    limits = found.listeners["READERS"].limits
    assert (limits.request_max_bytes, found.limits.request_bytes) == (1000, 2000)
    assert (limits.idle_s, limits.unknown_max_bytes) == (1.5, 500)
    assert found.to_voters(2.0).connect_timeout_s == 0.25
    assert security(tmp_path, "", "queued.max.request.bytes=-1\n").security.listeners


def test_limits_of_all_listeners_have_kafkas_names_too(tmp_path):
    lines = (
        "max.connections=90\nmax.connections.per.ip=20\n"
        "max.connections.per.ip.overrides=10.0.0.7:50, [2001:db8:1:2::9]:60\n"
        "kraftlake.queued.max.response.bytes=3000\nsocket.receive.buffer.bytes=-1\n"
        "listener.name.voters.socket.send.buffer.bytes=4096\n"
    )
    found = security(tmp_path, "", lines)
    limits, listeners = found.security.limits, found.security.listeners
    assert (limits.max_connections, limits.answer_bytes) == (90, 3000)
    assert limits.connections_of("10.0.0.1") == 20
    assert limits.connections_of("10.0.0.7") == 50
    assert limits.connections_of("2001:db8:1:2::/64") == 60
    assert listeners["VOTERS"].limits.receive_buffer_bytes is None
    assert listeners["VOTERS"].limits.send_buffer_bytes == 4096
    assert listeners["READERS"].limits.send_buffer_bytes == 100 * 1024
    assert found.unknown == ()


@pytest.mark.parametrize("wrong", ["host.example:5", "10.0.0.7", "10.0.0.7:many", ":5", "::1"])
def test_a_limit_for_something_other_than_an_address_is_refused(tmp_path, wrong):
    line = f"max.connections.per.ip.overrides={wrong}\n"
    with pytest.raises(UsageError, match=r"overrides: '.*' is not ADDRESS:COUNT"):
        security(tmp_path, "", line)


def test_files_with_secrets_that_others_may_read_are_told(tmp_path):
    store, kept = tmp_path / "node.pem", tmp_path / "scram"
    for path in (store, kept):
        path.write_text("x")
        path.chmod(0o644)
    lines = (
        f"ssl.keystore.type=PEM\nssl.keystore.location={store}\n"
        f"sasl.enabled.mechanisms=SCRAM-SHA-256\nkraftlake.scram.credentials.file={kept}\n"
    )
    found = security(tmp_path, "VOTERS:SSL,READERS:SASL_SSL", lines).security.warnings
    assert [warning.partition(":")[0] for warning in found] == [str(store), str(kept)]
    store.chmod(0o640)
    kept.chmod(0o600)
    assert security(tmp_path, "VOTERS:SSL,READERS:SASL_SSL", lines).security.warnings == ()


@pytest.mark.parametrize("newline", ["\\n", "\\\n  ", " ", ""])
def test_pem_may_stand_in_the_file_itself_in_any_layout(tmp_path, newline):
    make_authority(tmp_path, "ca")
    make_certificate(tmp_path, "node", "/CN=node")

    def text(name):
        return newline.join((tmp_path / name).read_text().strip().splitlines())

    lines = (
        f"ssl.keystore.type=PEM\nssl.keystore.key={text('node.key')}\n"
        f"ssl.keystore.certificate.chain={text('node.pem')}\n"
        f"ssl.truststore.type=PEM\nssl.truststore.certificates={text('ca.pem')}\n"
        "ssl.client.auth=required\n"
    )
    found = security(tmp_path, "VOTERS:SSL", lines)
    assert "PRIVATE" not in repr(found)
    _, context = found.security.listeners["VOTERS"].guard()
    assert [each["subject"] for each in context.get_ca_certs()] == [((("commonName", "ca"),),)]


def test_a_key_store_that_isnt_there_is_named_when_the_node_opens(tmp_path):
    found = security(tmp_path, "VOTERS:SSL", PEM.replace("/etc", str(tmp_path)))
    with pytest.raises(UnreadableFileError, match=r"/node\.pem: No such file"):
        found.security.listeners["VOTERS"].guard()


@pytest.mark.parametrize(
    ("protocol", "lines", "said"),
    [
        ("SSL", "", "ssl.keystore.location: missing; VOTERS needs it for TLS"),
        (
            "SSL",
            "ssl.keystore.type=PEM\nssl.keystore.location=/n\nssl.client.auth=required\n",
            "ssl.truststore.location: missing; ssl.client.auth=required needs it",
        ),
        ("SSL", PEM + "ssl.client.auth=maybe\n", "'maybe': expected none, requested or required"),
        ("SASL_PLAINTEXT", "", "sasl.enabled.mechanisms: missing"),
        ("SASL_PLAINTEXT", "sasl.enabled.mechanisms=GSSAPI\n", "'GSSAPI' isn't supported"),
        (
            "SASL_PLAINTEXT",
            "sasl.enabled.mechanisms=PLAIN\nlistener.name.voters.plain.sasl.jaas.config="
            f"{PLAIN} required password={SECRET};\n",
            "listener.name.voters.plain.sasl.jaas.config: no user may log in: expected user_NAME",
        ),
        ("SASL_PLAINTEXT", "sasl.enabled.mechanisms=PLAIN\n", "plain.sasl.jaas.config: missing"),
        (
            "SASL_PLAINTEXT",
            "sasl.enabled.mechanisms=SCRAM-SHA-256\n",
            "kraftlake.scram.credentials.file: missing",
        ),
        (
            "SASL_PLAINTEXT",
            f"sasl.enabled.mechanisms=PLAIN\nplain.sasl.jaas.config={PLAIN} required user_a=b;\n",
            "sasl.mechanism.controller.protocol: missing; expected one of PLAIN",
        ),
        (
            "PLAINTEXT",
            "queued.max.request.bytes=5\n",
            "5 is less than socket.request.max.bytes=16777216",
        ),
        ("PLAINTEXT", "max.connections=0\n", "max.connections: 0 is not between 1 and"),
    ],
)
def test_an_impossible_listener_setting_is_named_by_file_and_key(tmp_path, protocol, lines, said):
    with pytest.raises(UsageError) as caught:
        security(tmp_path, f"VOTERS:{protocol}", lines)
    assert str(caught.value).startswith(f"{tmp_path}/server.properties: ")
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)
