"""A leader-epoch-checkpoint with very many wrong entries: few findings, which say how many there
are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from replica.format.leader_epoch_checkpoint import FILE_NAME, encode
from replica.model.epochs import EpochStart
from tests.kraftlake_process import kraftlake

RECORDED = Path(__file__).parents[3] / "data/kafka-4.4.0-dynamic/final/1"
COUNT = 20_000


def test_wrong_entries_beyond_a_hundred_are_counted_in_one_finding(tmp_path: Path) -> None:
    node = tmp_path / "1"
    shutil.copytree(RECORDED, node)
    entries = tuple(EpochStart(number, number) for number in range(COUNT))
    (node / "__cluster_metadata-0" / FILE_NAME).write_bytes(encode(entries))
    rows = map(json.loads, kraftlake("check", "--json", node).stdout.splitlines())
    found = [row for row in rows if row.get("file", "").endswith(FILE_NAME)]
    each = [row for row in found if "more entries" not in row["message"]]
    assert 100 <= len(each) < 150
    (rest,) = [row for row in found if "more entries" in row["message"]]
    assert COUNT - 150 < int(rest["message"].split()[0]) < COUNT
    assert rest["offset"] is not None
    assert rest["position"] is not None
