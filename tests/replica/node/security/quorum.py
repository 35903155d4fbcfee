"""Quorums of three `kraftlake replica run` processes on 127.0.0.1 with TLS and SASL, and the
clients that may connect. Their certificates and passwords are made for the test."""

from __future__ import annotations

import asyncio
import re
import time
import urllib.request
from contextlib import contextmanager

from replica.errors import KraftlakeError
from replica.format.whole_batch import value_batch
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.security.client import client_config_in
from replica.node.settings import settings_in
from replica.storage.filesystem import LocalDisk
from replica.wire.apis.cluster import METADATA
from replica.wire.apis.writing import PRODUCE
from replica.wire.client import ClientConfig, Connection
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import started
from tests.replica.node.running import TOPIC, TOPIC_ID, at, the
from tests.replica.node.security.files import PLAIN, SCRAM
from tests.replica.wire.certificates import make_authority, make_certificate

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
WITHIN_S = 90.0
OPAQUE = f"kraftlake.topic.name={TOPIC}\nkraftlake.topic.id={TOPIC_ID}\n"
ROLES = """kraftlake.principals.voter={voters}
kraftlake.principals.observer=nobody
kraftlake.principals.reader={reader}
kraftlake.principals.administrator={administrator}
"""
MTLS = """listener.security.protocol.map=CONTROLLER:SSL
ssl.keystore.type=PEM
ssl.keystore.location={folder}/node{node_id}.both.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.pem
ssl.client.auth=required
""" + ROLES.format(
    voters="CN=node1,O=kraftlake;CN=node2,O=kraftlake;CN=node3,O=kraftlake",
    reader="CN=reader,O=kraftlake",
    administrator="CN=admin,O=kraftlake",
)
SASL_SSL = f"""listener.security.protocol.map=CONTROLLER:SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location={{folder}}/node{{node_id}}.both.pem
ssl.truststore.type=PEM
ssl.truststore.location={{folder}}/ca.pem
sasl.mechanism.controller.protocol=PLAIN
listener.name.controller.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.controller.plain.sasl.jaas.config={PLAIN} required \\
  username="voter" password="of-voters" user_voter="of-voters";
kraftlake.scram.credentials.file={{folder}}/scram
""" + ROLES.format(voters="voter", reader="reader", administrator="admin")


def make_certificates(folder):
    """Makes certificates: of nodes, of clients with and without rights, of another authority, and
    an expired one."""
    for name in ("ca", "other"):
        make_authority(folder, name)
    for name in ("node1", "node2", "node3", "reader", "admin", "stranger"):
        make_certificate(folder, name, f"/O=kraftlake/CN={name}")
    make_certificate(folder, "foreign", "/O=kraftlake/CN=reader", authority="other")
    make_certificate(folder, "expired", "/O=kraftlake/CN=reader", days=-1)


class SecureQuorum:
    """A quorum. lines: the security settings in each node's server.properties, with {folder},
    {node_id}. topic: the settings of another topic than __cluster_metadata."""

    def __init__(self, folder, lines, topic):
        self.folder = folder
        ports = free_ports(6)
        self.ports = dict(enumerate(ports[:3], 1))
        self.metrics = dict(enumerate(ports[3:], 1))
        self.processes = {}
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in self.ports.items())
        for node_id, port in self.ports.items():
            properties = self.properties(node_id)
            properties.write_text(
                f"process.roles=controller\nnode.id={node_id}\nlog.dirs={folder}/{node_id}\n"
                f"listeners=CONTROLLER://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n"
                f"controller.quorum.voters={voters}\n"
                f"{topic}"
                f"kraftlake.metrics.listener=127.0.0.1:{self.metrics[node_id]}\n"
                + lines.format(folder=folder, node_id=node_id)
            )
            properties.chmod(0o600)
            format_node(LocalDisk(), settings_in(read_properties(str(properties))), CLUSTER_ID)

    @property
    def bootstrap(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def properties(self, node_id):
        return self.folder / f"node{node_id}.properties"

    def said(self, node_id):
        return (self.folder / f"said{node_id}.txt").read_text(errors="replace")

    def log(self, node_id):
        partition = self.folder / str(node_id) / f"{TOPIC}-0"
        return b"".join(path.read_bytes() for path in sorted(partition.glob("*.log")))

    def start(self, node_id):
        said = self.folder / f"said{node_id}.txt"
        self.processes[node_id] = started(said, "replica", "run", "-c", self.properties(node_id))

    def kill(self, node_id):
        process = self.processes.pop(node_id)
        process.kill()
        process.wait()

    def refused(self, *reasons):
        """The number of connections that the nodes have closed for these reasons, by
        their metrics."""
        return sum(
            float(count)
            for port in self.metrics.values()
            for reason, count in _refused(port)
            if reason in reasons
        )

    def denied(self):
        """The number of requests that were refused for lack of a role."""
        found = re.compile(r"^kraftlake_requests_denied_total ([\d.]+)$", re.MULTILINE)
        return sum(float(found.search(metrics_of(port))[1]) for port in self.metrics.values())

    def append(self, config, *values):
        """Appends as an administrator, as soon as there is a leader. Gives the offset after the
        last value."""
        return asyncio.run(self._append(config, values))

    async def _append(self, config, values):
        deadline = time.monotonic() + WITHIN_S
        said = ""
        while time.monotonic() < deadline:
            for port in self.ports.values():
                try:
                    end, said = await _append_at(port, config, values)
                except KraftlakeError as error:
                    said = str(error)
                    continue
                if end is not None:
                    return end
            await asyncio.sleep(0.2)
        every = "\n".join(self.said(node_id) for node_id in self.ports)
        raise AssertionError(f"nothing is appended: {said}\n{every}")

    def try_to_append(self, config, *values):
        """The answer of each node to an append."""

        async def each():
            return [(await _append_at(port, config, values))[1] for port in self.ports.values()]

        return asyncio.run(each())


@contextmanager
def running(folder, lines, topic=OPAQUE):
    quorum = SecureQuorum(folder, lines, topic)
    try:
        for node_id in quorum.ports:
            quorum.start(node_id)
        yield quorum
    finally:
        for node_id in list(quorum.processes):
            quorum.kill(node_id)


def client_file(folder, name, lines):
    """A client's properties. `lines` are as in Kafka's documentation."""
    path = folder / f"{name}.client.properties"
    path.write_text(lines)
    path.chmod(0o600)
    return path


def with_certificate(folder, name):
    """A client's properties for mTLS."""
    lines = (
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={folder}/ca.pem\n"
    )
    if name:
        lines += f"ssl.keystore.type=PEM\nssl.keystore.location={folder}/{name}.both.pem\n"
    return client_file(folder, name or "anonymous", lines)


def with_password(folder, user, password, mechanism, authority="ca"):
    """A client's properties for SASL_SSL, or for SASL_PLAINTEXT if `authority` is None."""
    module = PLAIN if mechanism == "PLAIN" else SCRAM
    protocol = "SASL_PLAINTEXT\n"
    if authority is not None:
        truststore = f"ssl.truststore.location={folder}/{authority}.pem\n"
        protocol = f"SASL_SSL\nssl.truststore.type=PEM\n{truststore}"
    return client_file(
        folder,
        f"{user}-{password}-{mechanism}",
        f"security.protocol={protocol}sasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={module} required username="{user}" password="{password}";\n',
    )


def config_of(path):
    """The settings by which a command would connect with the file."""
    return client_config_in(read_properties(str(path)), ClientConfig(timeout_s=20.0))[0]


async def _append_at(port, config, values):
    """(end, ""); or (None, why) from a node that doesn't lead."""
    connection = await Connection.connect("127.0.0.1", port, config)
    try:
        request = {"topics": [{"name": TOPIC}]}
        told = (await connection.call(METADATA, request)).message["topics"][0]
        if told["errorCode"]:
            return None, f"Metadata: error {told['errorCode']}"
        batch = value_batch(0, 0, 1, list(values))
        asked = {"acks": -1, "timeoutMs": 10_000, "topicData": at(PRODUCE, records=batch)}
        answer = await connection.call(PRODUCE, asked)
        found = the(answer.message["responses"], "partitionResponses")
        if found["errorCode"]:
            return None, f"Produce: error {found['errorCode']}"
        return found["baseOffset"] + len(values), ""
    finally:
        await connection.close()


def metrics_of(port):
    """The metrics that Prometheus would get."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def _refused(port):
    pattern = r'kraftlake_connections_refused_total\{[^}]*reason="([^"]*)"\} ([\d.]+)'
    return re.findall(pattern, metrics_of(port))
