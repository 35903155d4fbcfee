"""The table of what a release reads is held to the release's classes, in each of its parts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from replica.metadata.changes.readers import reader_of
from replica.metadata.changes.releases import NEWEST_LEVELS
from replica.metadata.records import NEWEST_KAFKA, RECORDS
from tests.drift.comparing import drift
from tests.drift.tables import Tables
from tests.drift.test_drift import facts_or_skip
from tests.interop.kafka_jars import NEWEST, VERSIONS

WRONG: dict[str, Any] = {
    "levels": range(7, 20),
    "features": {"kraft.version": 2},
    "records": {"TOPIC_RECORD": 0},
    "controls": {"LEADER_CHANGE": 0},
    "quorum_state": 0,
    "bootstrap_level": 19,
}


@pytest.mark.parametrize(
    "version", [*(pytest.param(one, marks=pytest.mark.slow) for one in VERSIONS[:-1]), NEWEST]
)
@pytest.mark.parametrize("part", WRONG)
def test_drift_names_the_part_in_which_a_release_reads_otherwise(version: str, part: str) -> None:
    facts, release = facts_or_skip(version), version.rpartition(".")[0]
    ours = Tables()
    other = replace(ours.readers[release], **{part: WRONG[part]})
    changed = replace(ours, readers={**ours.readers, release: other})
    is_newest = version == NEWEST
    known = drift(facts, ours, is_newest=is_newest)
    if part == "bootstrap_level" and ours.readers[release].bootstrap_level is None:
        return
    (line,) = (one for one in drift(facts, changed, is_newest=is_newest) if one not in known)
    assert line.startswith(f"replica/metadata/changes/readers.py: {release}, {part}: ")


def test_the_newest_release_reads_every_record_and_none_reads_less_than_the_one_before() -> None:
    assert reader_of(NEWEST_KAFKA).records == {one.name: one.newest for one in RECORDS}
    rows = [reader_of(release) for release in NEWEST_LEVELS]
    for older, newer in pairwise(rows):
        for part in ("features", "records", "controls"):
            before, after = getattr(older, part), getattr(newer, part)
            assert all(after[name] >= number for name, number in before.items()), part
        assert newer.levels[-1] > older.levels[-1]
        assert newer.quorum_state >= older.quorum_state
