"""The directories of a quorum of which a majority was put back to older copies and went on, so that
there are two histories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from replica.format.partition_metadata import FILE_NAME, encode
from replica.simulate import metadata_records as records
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum, Unwatched
from replica.simulate.scenarios.writing import write_capture
from tests.replica.doctor.check.editing import batches, segment

FIRST, SECOND = (3,), (1, 2, 4, 5)
"""The nodes with each history. Voters 1 and 2 were put back, and led the brokers 4 and 5 after
it."""
SEAM = 28
"""The first offset of the second history in a mixed log."""


def two_histories(folder: Path, mixed: tuple[int, ...] = (), seam: int = SEAM) -> Path:
    """In the first history topic orders was deleted and created again; in the second topic refunds
    was created. mixed: brokers whose disks were not put back, and followed the leader of the second
    history, which has the epochs 3, 5 and 6 of the first: Kafka truncates their logs to offset 28
    where epoch 7 begins."""
    quorum = ScriptedQuorum("a majority put back", Layout(3, 2), invariants=Unwatched)
    quorum.begin("orders")
    quorum.crash(2, 4, 5)
    backup = {node: quorum.disk_image(node) for node in (2, 4, 5)}
    quorum.start(2, 4, 5)
    quorum.settle()
    quorum.resign(1)
    quorum.elect(2)
    quorum.crash(1)  # it has voted, and not yet fetched what the new leader wrote
    backup[1] = quorum.disk_image(1)
    quorum.start(1)
    for leader, change in (
        (1, records.remove_topic("orders")),
        (2, records.create_topic("orders", quorum.brokers, partitions=1, incarnation=1)),
        (1, records.topic_config("orders", "retention.ms", "1")),
    ):
        quorum.run_ms(5_000)
        if (former := quorum.simulation.leader()) is not None:
            quorum.resign(former.node_id)
        quorum.elect(leader)
        quorum.commit(leader, change)
        quorum.settle()
    not_put_back = quorum.capture().files[3]
    quorum.crash(*quorum.nodes)
    for node, image in backup.items():
        quorum.restore(node, image)
    quorum.run_ms(30_000)
    quorum.start(*SECOND)
    quorum.elect(2)
    for leader in (1, 2, 1, 2) if mixed else ():
        quorum.commit(3 - leader, records.no_op())
        quorum.settle(*SECOND)
        quorum.run_ms(2_000)
        quorum.resign(3 - leader)
        quorum.elect(leader)
    quorum.commit(2, records.create_topic("refunds", quorum.brokers), *[records.no_op()] * 20)
    quorum.commit(2, records.topic_config("refunds", "retention.ms", "1"))
    quorum.settle(*SECOND)
    capture = quorum.capture()
    write_capture(replace(capture, files={**capture.files, 3: not_put_back}), str(folder))
    for broker in mixed:
        _mix(folder / str(broker), folder / "3", seam)
    return folder


def _mix(node: Path, first: Path, seam: int) -> None:
    """The node's log gets the entries of the first history below the seam."""
    parts = []
    for one in (first, node):
        path = segment(one, 0)
        (at,) = (each.position for each in batches(path) if each.header.base_offset == seam)
        parts.append((path.read_bytes()[:at], path.read_bytes()[at:]))
    segment(node, 0).write_bytes(parts[0][0] + parts[1][1])


def with_folders(folder: Path) -> Path:
    """The same nodes, where the brokers' disks also hold folders of deleted topics and of topics
    that the second history lacks."""
    for broker in ("4", "5"):
        for number, (topic, state) in enumerate((("orders", "delete"), ("fares", "stray"))):
            path = folder / broker / f"{topic}-0.{number:032x}-{state}"
            path.mkdir()
            (path / f"{0:020d}.log").write_bytes(b"records")
            (path / FILE_NAME).write_bytes(encode(records.topic_id_of(topic)))
    return folder
