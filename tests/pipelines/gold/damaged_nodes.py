"""Copies of one directory as separate replicas, each damaged in another way."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from replica.format.batch import HEADER
from tests.replica.doctor.check.editing import append, batches, flip, metadata, segment, snapshot

CLUSTER_ID = "ZGFtYWdlZENvcGllc0hlcg"
"""The id of no other directory's cluster, so that other tests' rows of the lake belong to other
clusters."""


def _flipped_byte(node: Path) -> None:
    path = snapshot(node, 2571, 6)
    flip(path, batches(path)[1].position + HEADER.size + 40)


def _no_footer(node: Path) -> None:
    path = snapshot(node, 2571, 6)
    path.write_bytes(path.read_bytes()[: batches(path)[-1].position])


def _another_epoch_in_the_name(node: Path) -> None:
    snapshot(node, 2571, 6).rename(snapshot(node, 2571, 5))


def _a_later_offset_in_the_name(node: Path) -> None:
    snapshot(node, 2571, 6).rename(snapshot(node, 2598, 6))


def _a_record_that_cannot_be_applied(node: Path) -> None:
    append(segment(node, 2722), metadata("FENCE_BROKER_RECORD", id=77, epoch=1))


DAMAGES: dict[int, tuple[Callable[[Path], None], set[str], str]] = {
    101: (_flipped_byte, {"crc-mismatch"}, "invalid"),
    102: (_no_footer, {"snapshot-footer"}, "invalid"),
    103: (_another_epoch_in_the_name, {"snapshot-epoch", "snapshot-log-epoch"}, "invalid"),
    104: (_a_later_offset_in_the_name, {"snapshot-content", "snapshot-timestamp"}, "invalid"),
    105: (_a_record_that_cannot_be_applied, {"unappliable-record"}, "valid"),
}
"""By node id: the change, the rules above info that name it, the verdict on the snapshot."""


def write_damaged_nodes(data: Path, nodes: Path) -> None:
    """Writes a folder below `nodes` for each of DAMAGES."""
    for node_id, (change, _, _) in DAMAGES.items():
        node = Path(shutil.copytree(data / "kafka-4.1.1-dynamic/final/3", nodes / str(node_id)))
        meta = node / "meta.properties"
        text = re.sub(r"(?m)^node\.id=.*$", f"node.id={node_id}", meta.read_text())
        text = re.sub(r"(?m)^cluster\.id=.*$", f"cluster.id={CLUSTER_ID}", text)
        directory_id = f"AAAAAAAAAAAAAAAAAA{node_id}w"
        meta.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={directory_id}", text))
        change(node)
