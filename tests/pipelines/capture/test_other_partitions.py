"""A lake holds metadata logs: a capture leaves other partitions out, and says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import capture_paths
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from replica.errors import UsageError
from replica.model.keys import ReplicaId

NODE = "kafka-3.7.2-static/final/11"


def test_a_partition_that_is_no_metadata_log_is_left_out_and_told(
    data: Path, tmp_path: Path
) -> None:
    node = Path(shutil.copytree(data / NODE, tmp_path / "11"))
    other = Path(shutil.copytree(node / "__cluster_metadata-0", node / "orders-0"))
    (other / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg")
    segment = min(other.glob("*.log"))
    as_replica = CaptureOptions(replica=ReplicaId("c", 1))
    with Spool.below(Lake(tmp_path / "lake")) as spool:
        captures = capture_paths([str(node)], CaptureOptions(), spool)
        ((group,),) = captures.rounds
        assert [capture.location.shown for capture in group.captures] == [
            f"{node}/__cluster_metadata-0"
        ]
        (left_out,) = captures.left_out
        assert left_out.startswith(f"{other}: partition orders-0 is no metadata log; a lake holds ")
        with pytest.raises(UsageError, match="partition orders-0 is no metadata log"):
            capture_paths([str(other)], CaptureOptions(), spool)
        with pytest.raises(UsageError, match="partition orders-0 is no metadata log"):
            capture_paths([str(segment)], as_replica, spool)
