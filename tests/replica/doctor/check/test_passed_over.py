"""Records of types that a user passes over are a note, and the log is replayed behind them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from replica.doctor.check.examined import examine
from replica.doctor.check.record_findings import note_records, passed_over
from replica.doctor.check.replaying import replay_log
from replica.format.discovery import discover
from replica.metadata.passed_over import NOTHING, PassedOver
from tests.replica.doctor.check.editing import append, metadata, segment
from tests.replica.metadata.image.made import TOPIC
from tests.replica.scan.readers import only_the_bulk_reader, only_the_scalar_reader

DATA = Path(__file__).parents[3] / "data"
TYPE_501 = b"\x01\xf5\x03\x00\x2a"
END = 3674


@pytest.mark.parametrize("is_bulk", [False, True])
@pytest.mark.parametrize("types", [NOTHING, PassedOver(vendors=True), PassedOver(frozenset({501}))])
def test_the_replay_goes_on_behind_such_records_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, types: PassedOver, is_bulk: bool
) -> None:
    node = Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/3", tmp_path / "node"))
    append(segment(node, 2722), TYPE_501, TYPE_501)
    append(segment(node, 2722), metadata("TOPIC_RECORD", name="after", topicId=TOPIC))
    (only_the_bulk_reader if is_bulk else only_the_scalar_reader)(monkeypatch)
    examined = replace(examine(next(iter(discover([str(node)])))), passed_over=types)
    rules = {one.rule.id for one in note_records(examined).findings}
    newest = replay_log(examined, (), newest=True).newest
    assert newest is not None
    if types:
        assert "record-passed-over" in rules
        assert passed_over(examined) == "2 records of type 501"
        assert (newest.end.offset, newest.is_whole) == (END + 3, True)
        assert newest.image.tables["topics"].values[TOPIC] == "after"
    else:
        assert "vendor-record-type" in rules
        assert passed_over(examined) == ""
        assert not newest.is_whole
