"""The table of record types: every type and version, and the declarations that are refused."""

from __future__ import annotations

import pytest

from replica.message.program import NO_TAG, Program
from replica.message.schema import Kind, declare
from replica.metadata.programs import programs
from replica.metadata.records import RECORDS, RECORDS_BY_NAME

PROGRAMS = {(program.schema.api_key, program.version): program for program in programs()}


def test_the_table_holds_kafka_4_4s_27_types_in_38_versions() -> None:
    assert len(RECORDS) == len(RECORDS_BY_NAME) == 27
    # Kafka gave up the keys 6, 13 and 16 before the first release.
    assert {schema.api_key for schema in RECORDS} == set(range(30)) - {6, 13, 16}
    several = {schema.name: schema.newest for schema in RECORDS if schema.newest > 0}
    assert several == {
        "REGISTER_BROKER_RECORD": 4,
        "PARTITION_RECORD": 2,
        "PARTITION_CHANGE_RECORD": 2,
        "BROKER_REGISTRATION_CHANGE_RECORD": 3,
    }
    assert len(programs()) == 27 + 4 + 2 + 2 + 3


@pytest.mark.parametrize("program", programs(), ids=lambda p: f"{p.schema.name}-v{p.version}")
def test_a_program_is_well_formed(program: Program) -> None:
    reached = [*range(program.width)]
    for step in program.steps:
        assert step.first <= step.end <= len(program.steps)
        assert (step.kind is Kind.STRUCT) == (step.end > step.first)
        assert step.first == 0 or step.first >= program.width
        reached.extend(range(step.first, step.end))
        assert step.default is not None or step.nullable
        assert step.least_size >= 1
    assert sorted(reached) == [*range(len(program.steps))], "every step belongs to one structure"
    tags = [step.tag for step in program.steps[: program.width] if step.is_tagged]
    assert len(tags) == len(set(tags))
    assert min(tags, default=0) >= 0
    assert list(program.names) == sorted({step.name for step in program.steps})


def test_wire_order_puts_tagged_fields_last_by_tag_and_json_order_stays_declared() -> None:
    program = PROGRAMS[5, 2]
    untagged, tagged = program.wire_order(0, program.width)
    assert [step.name for step in untagged] == ["partitionId", "topicId"]
    assert [step.tag for step in tagged] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    declared = [step.name for step in program.steps[: program.width]]
    assert declared[-3:] == ["directories", "eligibleLeaderReplicas", "lastKnownElr"]
    assert [step.name for step in tagged][-1] == "directories"


def test_a_version_has_only_the_fields_of_its_time() -> None:
    schema = RECORDS_BY_NAME["REGISTER_BROKER_RECORD"]
    counts = [len(schema.fields_at(version)) for version in schema.versions]
    assert counts == [7, 8, 9, 10, 11]
    assert [f.name for f in schema.fields_at(0)][-1] == "fenced"


def test_a_structure_without_fields_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="structure"):
        declare("x", "[]struct")
    with pytest.raises(ValueError, match="structure"):
        declare("x", "int32", declare("y", "int8"))


def test_the_least_size_of_a_structure_counts_its_fields_and_its_tag_count() -> None:
    program = PROGRAMS[27, 0]
    sizes = {step.name: step.least_size for step in program.steps[: program.width]}
    # name and host: a length each; port and protocol: 2 bytes each; the count of tagged fields.
    assert sizes["endPoints"] == 1 + 1 + 2 + 2 + 1
    assert all(step.tag == NO_TAG for step in program.steps)
