"""What holds for every scenario. tests/jobs/test_scenarios.py tests what `check` reports of
each."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from replica.doctor.check.catalogue import RULES_BY_ID
from replica.format.batch import decode_header
from replica.format.frames import frames
from replica.format.record import records_of
from replica.metadata.codec import decode
from replica.metadata.record import MetadataRecord
from replica.simulate.node import key_of
from replica.simulate.scenarios.library import SCENARIOS, SCENARIOS_BY_NAME
from replica.simulate.scenarios.quorum import Capture
from replica.simulate.scenarios.scenario import NamedScenario

REPOSITORY = Path(__file__).parents[4]
LOG = "__cluster_metadata-0/00000000000000000000.log"
FILES = re.compile(
    r"meta\.properties|__cluster_metadata-0/("
    r"\d{20}\.(log|index|timeindex)|\d{20}-\d{10}\.checkpoint"
    r"|leader-epoch-checkpoint|quorum-state|partition\.metadata)"
)

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
tampered_ones = pytest.mark.parametrize(
    "scenario", [each for each in SCENARIOS if each.tampering], ids=lambda each: each.name
)


@cache
def untampered(scenario: NamedScenario) -> Capture:
    return scenario.play().capture()


def digest(capture: Capture) -> str:
    hashed = hashlib.sha256(repr((capture.cluster_id, capture.captured_at_ms)).encode())
    for node_id, files in sorted(capture.files.items()):
        for path, data in sorted(files.items()):
            hashed.update(repr((node_id, path, data)).encode())
    return hashed.hexdigest()


def test_scenario_names_are_words_and_unique() -> None:
    assert len(SCENARIOS_BY_NAME) == len(SCENARIOS)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in SCENARIOS_BY_NAME)


@every_scenario
def test_a_scenario_has_a_story_and_its_issues(scenario: NamedScenario) -> None:
    assert scenario.story.endswith(".")
    assert scenario.issues
    assert list(scenario.findings) == sorted(set(scenario.findings) & RULES_BY_ID.keys())


@pytest.mark.slow
def test_a_scenario_gives_the_same_bytes_in_every_process() -> None:
    script = (
        "from tests.replica.simulate.scenarios.test_library import *\n"
        "for each in SCENARIOS: print(each.name, digest(each.capture()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    digests = {each.name: digest(each.tampered(untampered(each))) for each in SCENARIOS}
    assert dict(line.split() for line in done.stdout.splitlines()) == digests


@every_scenario
def test_each_node_has_an_ordinary_log_directory(scenario: NamedScenario) -> None:
    capture = scenario.tampered(untampered(scenario))
    assert len(capture.files) == scenario.layout.voters + scenario.layout.observers
    for files in capture.files.values():
        assert all(FILES.fullmatch(path) for path in files), sorted(files)
        assert {"meta.properties", "__cluster_metadata-0/quorum-state"} <= files.keys()
        assert any(path.endswith(".log") for path in files)


@tampered_ones
def test_tampering_concerns_one_file_of_one_node(scenario: NamedScenario) -> None:
    assert scenario.tampering is not None
    node_id = scenario.tampering.node_id
    before = untampered(scenario)
    after = scenario.tampered(before)
    assert {n for n in before.files if before.files[n] != after.files[n]} == {node_id}
    old, new = before.files[node_id], after.files[node_id]
    differing = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    if len(old) == len(new):  # one changed, or it has another name
        assert len(differing) == 1 + len(old.keys() - new.keys())
    else:  # a segment's three files are gone
        assert old.keys() - new.keys() == differing
        assert len({path.partition(".")[0] for path in differing}) == 1


def types_in(data: bytes) -> Iterator[str]:
    """The types of the metadata records in a segment or snapshot."""
    for frame in frames(data, start=0, expected_offset=None):
        batch = data[frame.position : frame.end_position]
        for record in records_of(decode_header(batch), batch):
            if not frame.is_control:
                assert record.value is not None
                decoded = decode(record.value)
                assert isinstance(decoded, MetadataRecord)
                yield decoded.type


@every_scenario
def test_the_log_holds_metadata_that_a_controller_writes(scenario: NamedScenario) -> None:
    """Brokers with their epochs, topics with partitions; every record decodes."""
    types = {
        record_type
        for files in untampered(scenario).files.values()
        for path, data in files.items()
        if path.endswith((".log", ".checkpoint"))
        for record_type in types_in(data)
    }
    assert {"REGISTER_BROKER_RECORD", "TOPIC_RECORD", "PARTITION_RECORD"} <= types


def test_figure_8_has_an_old_entry_on_a_majority_that_is_not_committed() -> None:
    quorum = SCENARIOS_BY_NAME["figure-8"].play()
    invariants = quorum.simulation.invariants
    logs = {
        node_id: {
            entry.base: entry.epoch for entry in invariants.shadows[key_of(node.running)].entries
        }
        for node_id, node in quorum.nodes.items()
        if node.host is not None
    }
    disputed = invariants.ledger.end
    assert {node_id: log.get(disputed) for node_id, log in logs.items()} == {
        **{1: 1, 2: 1, 3: 1, 4: None},
        **{6: None},
    }
    assert max(logs[1].values()) == 3
    crashed = quorum.capture().files[5][LOG]
    (other,) = [f for f in frames(crashed, start=0, expected_offset=None) if f.epoch == 2][:1]
    assert other.base_offset == disputed
