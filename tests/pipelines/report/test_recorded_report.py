"""The report of both recorded clusters, whose captures were ingested in order."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from pipelines.report.page import render
from pipelines.report.view import ClusterView
from replica.doctor.verdict.verdict import Level
from tests.pipelines.report.pages import report_of
from tests.pipelines.report.reading import read_page, shortcomings

SENTENCES = {
    "Lr3UIdBxT-GFPYE5uprmrg": "933 of 1105 partitions (95 topics) have had no leader since "
    "2026-11-21 03:20:05 UTC. Broker 11 is down. The outage may have begun earlier: by default "
    "a broker is fenced 9 s or more after its last heartbeat. Nodes 2 and 11 held 22 records "
    "(offsets 1526 to 1547, epoch 5, written 2026-11-21 03:19:46 to 03:19:47 UTC) "
    "that were never committed and have discarded them between the captures of split and the "
    "captures of final: 5 topics with 15 partitions were never created.",
    "gT_wj4dEReaNt2vnLWy9Aw": "Nodes 2 and 11 held 22 records (offsets 750 to 771, epoch 7, "
    "written 2026-11-21 03:21:45 to 03:21:46 UTC) that were never committed and have discarded "
    "them between the captures of split and the captures of final: 5 topics with 15 partitions "
    "were never created. No committed record of the metadata log was lost; all 8 snapshots are "
    "valid; in the newest captures the metadata logs of all 5 nodes are the same up to offset "
    "1924, written 2026-11-21 03:22:13 UTC.",
}
FOLDERS = {
    "Lr3UIdBxT-GFPYE5uprmrg": "kafka-4.1.1-dynamic/split/",
    "gT_wj4dEReaNt2vnLWy9Aw": "kafka-3.7.2-static/split/",
}


def test_the_ghost_records_are_told_as_kafka_dumps_them(built_lake: Path, data: Path) -> None:
    report = report_of(built_lake)
    assert {one.cluster_id: one.verdict.sentence for one in report.clusters} == SENTENCES
    assert {one.cluster_id: one.verdict.level for one in report.clusters} == {
        "Lr3UIdBxT-GFPYE5uprmrg": Level.OUTAGE,
        "gT_wj4dEReaNt2vnLWy9Aw": Level.RECOVERED,
    }
    page = read_page(render(report))
    assert shortcomings(page) == []
    for cluster in report.clusters:
        dumped = _dumped(data, FOLDERS[cluster.cluster_id])
        (parting,) = cluster.partings
        kept, lost = parting.decoded.speakers
        shown = _branch(cluster, 1)
        assert (kept.node_id, lost.node_id) == (1, 2)
        assert len([offset for offset in shown if offset >= parting.decoded.parting.offset]) == 22
        for node, branch in ((1, _branch(cluster, 0)), (2, shown)):
            assert branch == {offset: dumped[node, offset] for offset in branch}
        (truncated,) = cluster.truncated
        assert len(truncated.records) == 22
        assert "ghost-" in truncated.records[0].cells[0].payload  # type: ignore[union-attr]
        assert {row["node_id"] for row in cluster.evidence.truncations.rows} == {2, 11}
        assert all(
            one.cells[0] is not None and one.cells[0].payload in page.text
            for one in truncated.records
        )


def _branch(cluster: ClusterView, place: int) -> dict[int, Any]:
    """Offset to (type, payload) of one branch."""
    (parting,) = cluster.partings
    found = {}
    for row in parting.records:
        cell = row.cells[0] if len(row.cells) == 1 else row.cells[place]
        if cell is not None:
            found[row.offset] = cell.payload
    return found


def _dumped(data: Path, folder: str) -> dict[tuple[int, int], str]:
    """(node, offset) to the payload that kafka-dump-log printed, of the logs in one folder."""
    found = {}
    with gzip.open(data / "kafka-dump-log.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            name = row["file"]
            if row["kind"] == "record" and name.startswith(folder) and name.endswith(".log"):
                node = int(name.removeprefix(folder).split("/")[0])
                text = json.dumps(row["data"], separators=(",", ":"), ensure_ascii=False)
                found[node, row["offset"]] = text
    return found
