"""`kraftlake check --config`: whether a node starts and joins, held to what Kafka was seen to do:
tests/interop/STARTS.md, without Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.result_page import STARTS, rows
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.startup.answers import answer, cell
from tests.replica.doctor.startup.laid_out import Place
from tests.replica.doctor.startup.made import CASES

RELEASES = ("3.9", "4.1", "4.4")
KNOWN = {case: said for case, *said in rows(STARTS)}


@pytest.mark.parametrize("case", CASES)
def test_check_says_what_kafka_did(kraftlake: Kraftlake, tmp_path: Path, case: str) -> None:
    place = Place(tmp_path)
    CASES[case](place)
    told = []
    for release in RELEASES:
        ended = kraftlake("check", "--json", "--config", place.properties, "--release", release)
        told.append(cell(*answer(ended.rows, place)))
    assert told == KNOWN[case]


def test_the_table_has_every_case_and_no_other() -> None:
    assert KNOWN.keys() == CASES.keys()
