"""Records that can't be decoded are damage of the capture that holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.capture.capture import Capture
from pipelines.lake import Lake
from pipelines.tables import bronze
from tests.pipelines.lake_rows import rows
from tests.replica.format.encoded import encode_batch

NODES = (1, 2)


@pytest.mark.parametrize(
    "name", [f"{0:020d}.log", f"{1:020d}-{1:010d}.checkpoint"], ids=["segment", "snapshot"]
)
def test_replicas_whose_files_have_one_name_keep_their_own_damage(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two stores may have a bucket of one name, and a URI is shown without its query."""
    for node in NODES:
        folder = tmp_path / str(node) / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        properties = f"version=1\ncluster.id=x\nnode.id={node}\n"
        (folder.parent / "meta.properties").write_text(properties)
        content = encode_batch(
            base_offset=0,
            leader_epoch=1,
            records=b"\x02",
            record_count=2,
            last_offset_delta=1,
            base_timestamp=node,
            max_timestamp=node,
        )
        (folder / name).write_bytes(content)
    monkeypatch.setattr(
        Capture, "shown_file", lambda _, file: Path(getattr(file, "path", file)).name
    )
    lake = tmp_path / "lake"
    paths = [str(tmp_path / str(node)) for node in NODES]
    assert ingest.run(IngestOptions(paths, Lake(lake), accept_damage=True)) == 0
    found = rows(
        lake,
        f"SELECT c.node_id AS node_id FROM {bronze.DAMAGE.name} d JOIN {bronze.CAPTURES.name} c "
        "ON c.capture_id = d.capture_id WHERE d.kind = 'record' ORDER BY node_id",
    )
    assert [row.node_id for row in found] == [*NODES]
