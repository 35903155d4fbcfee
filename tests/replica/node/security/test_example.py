"""conf/secure is what it says: three nodes made from it are a quorum that its client reads."""

import asyncio
import time
from contextlib import contextmanager

import pytest

from replica.errors import KraftlakeError
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.wire.apis.cluster import METADATA
from replica.wire.client import Connection
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import REPOSITORY, kraftlake, started
from tests.replica.node.security.quorum import CLUSTER_ID, config_of
from tests.replica.wire.certificates import make_authority, make_certificate

EXAMPLE = REPOSITORY / "conf" / "secure"
NODES = (1, 2, 3)
DIRECTORIES = {node_id: f"{'directory' * 2}AB{node_id}A" for node_id in NODES}
WITHIN_S = 90


def written(folder, ports, node_id):
    """The example for one node, its hosts on 127.0.0.1, its folders below `folder`."""
    text = (EXAMPLE / "node1.properties").read_text()
    controllers, clients = (
        {n: f"127.0.0.1:{ports[kind][n]}" for n in NODES} for kind in ("CONTROLLER", "CLIENTS")
    )
    text = text.replace(
        "node1.example:9093,node2.example:9093,node3.example:9093", ",".join(controllers.values())
    )
    text = text.replace("node1.example:9093", controllers[node_id])
    text = text.replace("node1.example:9094", clients[node_id])
    text = text.replace("node.id=1", f"node.id={node_id}")
    text = text.replace("/etc/kraftlake/node1.pem", f"{folder}/node{node_id}.both.pem")
    text = text.replace("/etc/kraftlake", str(folder))
    text = text.replace("/var/lib/kraftlake", f"{folder}/{node_id}")
    path = folder / f"node{node_id}.properties"
    path.write_text(text)
    path.chmod(0o600)
    return path


@contextmanager
def running(folder, ports):
    processes = []
    voters = ",".join(f"{n}@127.0.0.1:{ports['CONTROLLER'][n]}:{DIRECTORIES[n]}" for n in NODES)
    try:
        for node_id in NODES:
            path = written(folder, ports, node_id)
            assert settings_in(read_properties(str(path))).unknown == ()
            made = kraftlake(
                "replica",
                "format",
                "-c",
                path,
                "-t",
                CLUSTER_ID,
                "--initial-controllers",
                voters,
            )
            assert made.returncode == 0, made.stderr
            said = folder / f"said{node_id}.txt"
            processes.append(started(said, "replica", "run", "-c", path))
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


async def told_brokers(port, config):
    """Where the clients of a listener are told that the nodes are."""
    connection = await Connection.connect("127.0.0.1", port, config)
    try:
        answer = await connection.call(METADATA, {"topics": None})
        return {node["nodeId"]: node["port"] for node in answer.message["brokers"]}
    finally:
        await connection.close()


@pytest.mark.slow
def test_the_example_is_a_quorum_that_tells_clients_where_their_listener_is(tmp_path):
    ports = {
        kind: dict(zip(NODES, free_ports(3), strict=True)) for kind in ("CONTROLLER", "CLIENTS")
    }
    make_authority(tmp_path, "ca")
    for node_id in NODES:
        make_certificate(tmp_path, f"node{node_id}", f"/CN=node{node_id}.example")
    kept = kraftlake("replica", "scram", "--user", "ann", text="a b\n")
    (tmp_path / "scram.jsonl").write_text(kept.stdout)
    (tmp_path / "scram.jsonl").chmod(0o600)
    client = tmp_path / "client.properties"
    text = (EXAMPLE / "client.properties").read_text()
    client.write_text(text.replace("/etc/kraftlake", str(tmp_path)).replace('"..."', '"a b"'))
    client.chmod(0o600)
    with running(tmp_path, ports):
        deadline = time.monotonic() + WITHIN_S
        while True:
            try:
                told = asyncio.run(told_brokers(ports["CLIENTS"][1], config_of(client)))
            except KraftlakeError as error:
                told = error
            if told == ports["CLIENTS"]:
                break
            said = "\n".join((tmp_path / f"said{n}.txt").read_text() for n in NODES)
            assert time.monotonic() < deadline, f"{told}\n{said}"
            time.sleep(0.3)
        bootstrap = f"127.0.0.1:{ports['CLIENTS'][2]}"
        read = kraftlake(
            "consume",
            "-b",
            bootstrap,
            "--command-config",
            client,
            "--until-end",
            "--json",
            "--timeout",
            "5",
        )
        assert read.returncode == 0, read.stderr
        assert read.stderr == ""
        assert "VOTERS" in read.stdout
