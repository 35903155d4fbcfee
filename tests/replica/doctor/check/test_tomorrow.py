"""A log that holds what this release doesn't know is told so, and is never called sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.doctor.check.group import JudgedGroup
from replica.metadata.records import NEWEST_KAFKA
from replica.severity import Severity
from tests.replica.doctor.check.editing import judged
from tests.replica.doctor.check.tomorrow import FIRST_OFFSET, write_tomorrow

DATA = Path(__file__).parents[3] / "data"
ABOVE = f"is not known to this release, which reads up to Kafka {NEWEST_KAFKA}"


@pytest.fixture(scope="module", params=["live", "final"])
def group(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> JudgedGroup:
    nodes = tmp_path_factory.mktemp("tomorrow") / "nodes"
    write_tomorrow(DATA / "kafka-4.4.0-dynamic" / request.param, nodes)
    return judged(nodes)


def test_each_log_has_one_warning_for_each_version_with_the_offset_from_which_nothing_is_known(
    group: JudgedGroup,
) -> None:
    for member in group.members:
        first = member.examined.directory.first_offset
        found = [f for f in member.findings if f.rule.id == "unknown-record-version"]
        in_log = [f for f in found if f.file.endswith("0.log")]
        assert {f.severity for f in found} == {Severity.WARNING}
        assert all(ABOVE in f.message for f in found)
        if first == 0:
            registration, change = in_log
            assert registration.offset == FIRST_OFFSET
            assert "REGISTER_BROKER_RECORD version 5" in registration.message
            assert f"the state from offset {FIRST_OFFSET} on {ABOVE}" in registration.message
            assert "BROKER_REGISTRATION_CHANGE_RECORD version 4" in change.message


def test_no_snapshot_is_called_valid_or_invalid(group: JudgedGroup) -> None:
    verdicts = {
        (verdict.id.offset > 0, str(verdict.validity))
        for member in group.members
        for verdict in member.verdicts
    }
    assert verdicts == {(False, "valid"), (True, "unverifiable")}
    told = [f for m in group.members for f in m.findings if f.rule.id == "snapshot-not-known"]
    assert len(told) == sum(v.id.offset > 0 for m in group.members for v in m.verdicts)
    assert {f.severity for f in told} == {Severity.WARNING}


def test_unknown_records_of_a_newer_release_are_no_errors(group: JudgedGroup) -> None:
    found = [*group.findings, *(f for m in group.members for f in m.findings)]
    assert [f for f in found if f.severity is Severity.ERROR] == []
