"""Directories that break each of the rules between directories."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.replica.doctor.check.editing import (
    append,
    batches,
    edit_quorum_state,
    edit_text,
    metadata,
    rename_initial_voter,
    segment,
    set_value,
    snapshot,
)
from tests.replica.doctor.check.first_start import format_only

STATIC, DYNAMIC = "kafka-3.7.2-static/final", "kafka-4.1.1-dynamic/final"
LATEST = "kafka-4.4.0-dynamic/live"
STATIC_ID, RENAMED_ID = "gT_wj4dEReaNt2vnLWy9Aw", "MkU3OEVBNTcwNTJENDM2Qg"
TWICE_ID = "VHdvRGlza3NDbHVzdGVyMQ"
LATER_ID, LATEST_ID = "TGF0ZXJLYWZrYUNsdXN0ZQ", "OLR1FFlQQCyXLM2zfhjyAg"


def write_disagreeing_nodes(data: Path, nodes: Path) -> None:
    """Writes six clusters in folders below `nodes`, and directories of nodes that never started."""
    _static_quorum(data, nodes / "static")
    _dynamic_quorum(data, nodes / "dynamic")
    _later_kafka(data, nodes / "later")
    _formatted_twice(data, nodes / "formatted")
    _two_disks(data, nodes / "twice")
    format_only(nodes / "new" / "4", 4)
    format_only(nodes / "later" / "second-disk", 1)  # beside node 1's disk of another cluster


def _static_quorum(data: Path, root: Path) -> None:
    """Nodes 1 and 2 agree on more records than node 3, which has a newer epoch. Node 2 has another
    list of voters. Node 11 was formatted anew."""
    for node in ("1", "2", "3", "11"):
        shutil.copytree(data / STATIC / node, root / node)
    for node in ("1", "2"):
        append(segment(root / node, 0), *[metadata("NO_OP_RECORD")] * 3)
    third = segment(root / "3", 519)
    append(third, metadata("NO_OP_RECORD"), epoch=batches(third)[-1].header.leader_epoch + 1)
    voters = [{"voterId": 2}, {"voterId": 3}]
    edit_quorum_state(root / "2", currentVoters=voters)
    edit_text(root / "11" / "meta.properties", STATIC_ID, RENAMED_ID)


def _formatted_twice(data: Path, root: Path) -> None:
    """Nodes 1 to 3 of Kafka 4.4. Node 1's bootstrap snapshot names no voters, which is right. Node
    3's snapshot names another disk of voter 1 than node 2's, and node 3 follows another leader."""
    for node in ("1", "2", "3"):
        shutil.copytree(data / LATEST / node, root / node)
    edit_quorum_state(root / "3", leaderId=1)
    rename_initial_voter(root / "3", "LEGXfSTrSpajWUbJq4SdfA", "AAAAAAAAAAAAAAAAAAA19g")


def _two_disks(data: Path, root: Path) -> None:
    """Writes a node that has a metadata log on each of two disks. The second log ends earlier."""
    for name in ("disk-1", "disk-2"):
        shutil.copytree(data / STATIC / "1", root / name)
        edit_text(root / name / "meta.properties", STATIC_ID, TWICE_ID)
    append(segment(root / "disk-1", 0), metadata("NO_OP_RECORD"))
    _set_property(root / "disk-2", "directory.id", "AAAAAAAAAAAAAAAAAA103A")


def _later_kafka(data: Path, root: Path) -> None:
    """Writes a cluster of one node. Its log has a record of a later Kafka, between two
    snapshots."""
    node = Path(shutil.copytree(data / STATIC / "1", root / "1"))
    edit_text(node / "meta.properties", STATIC_ID, LATER_ID)
    log = segment(node, 0)
    batch = next(
        b for b in batches(log) if b.header.base_offset > 600 and b.header.record_count == 1
    )
    set_value(log, batch, lambda _: bytes([1, 99, 0, 5]))


def _dynamic_quorum(data: Path, root: Path) -> None:
    """Node 2 has other bytes in its log. Its snapshots are those of nodes 3 and 12 with an
    additional topic, and with a config of no topic. A copy of node 3 has a directory id of its own,
    node 12 has node 3's."""
    for node in ("2", "3", "12"):
        shutil.copytree(data / DYNAMIC / node, root / node)
    for node, offset in (("3", 2571), ("12", 2598)):
        shutil.copy(snapshot(root / node, offset, 6), snapshot(root / "2", offset, 6))
    log = segment(root / "2", 2722)
    set_value(log, batches(log)[-1], lambda value: value[:-1] + b"\x01")
    changed = snapshot(root / "2", 2571, 6)
    topic = metadata("TOPIC_RECORD", name="t", topicId="A" * 22)
    set_value(changed, batches(changed)[-2], lambda _: topic)
    config = {"resourceType": 2, "resourceName": "gone", "name": "retention.ms", "value": "1"}
    _add_record(snapshot(root / "2", 2598, 6), metadata("CONFIG_RECORD", **config))
    shutil.copytree(root / "3", root / "3-restored")
    _set_property(root / "3-restored", "directory.id", "AAAAAAAAAAAAAAAAAA103w")
    of_node_3 = (root / "3" / "meta.properties").read_text()
    (directory_id,) = re.findall(r"(?m)^directory\.id=(.*)$", of_node_3)
    _set_property(root / "12", "directory.id", directory_id)


def _add_record(path: Path, record: bytes) -> None:
    """Inserts a record before the footer, and gives the footer the next offset."""
    footer = path.read_bytes()[batches(path)[-1].position :]
    path.write_bytes(path.read_bytes()[: -len(footer)])
    append(path, record)
    offset = batches(path)[-1].header.next_offset
    path.write_bytes(path.read_bytes() + offset.to_bytes(8, "big") + footer[8:])


def _set_property(node: Path, name: str, value: str) -> None:
    path = node / "meta.properties"
    path.write_text(re.sub(rf"(?m)^{re.escape(name)}=.*$", f"{name}={value}", path.read_text()))
