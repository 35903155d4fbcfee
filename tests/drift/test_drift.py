"""`make kafka-drift` on the jars of real releases, with our tables as they are, and with something
taken out of them or changed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from replica.message.schema import RecordSchema, declare
from replica.wire.schema import Api
from tests.docs.pages import ROOT
from tests.drift.comparing import drift
from tests.drift.facts import facts_of
from tests.drift.tables import Tables
from tests.interop.kafka_jars import NEWEST, VERSIONS, broker_class_path
from tests.interop.matrix import hold
from tests.interop.maven_jars import or_skip

OURS = Tables()
CHANGING = ("ApiVersions", "Fetch", "FetchSnapshot", "Vote", "AddRaftVoter", "UnregisterController")
"""Requests of a quorum that one of the releases has in another version, or has not."""
RENAMED = [
    "Vote request, versions 0 to 1: our table lacks the field topics.partitions.candidateEpoch",
    "Vote request, versions 0 to 1: our table lacks the field topics.partitions.candidateId",
    "Vote request, versions 0 to 1: our table has the field topics.partitions.replicaEpoch",
    "Vote request, versions 0 to 1: our table has the field topics.partitions.replicaId",
    "Vote request, version 1: our table lacks the field topics.partitions.candidateDirectoryId",
    "Vote request, version 1: our table has the field topics.partitions.replicaDirectoryId",
]
"""Other names for the same bytes."""
NULL_RECORDS = (
    "FetchSnapshot response, versions 0 to 1: the field topics.partitions.unalignedRecords is "
    "bytes, null allowed"
)
"""Kafka's language told of every field of records that it may be null, up to 4.2."""


def facts_or_skip(version: str) -> dict[str, Any]:
    """Skipped only where the jars can't be had: a class that is not as it was fails the test."""
    or_skip(lambda: broker_class_path(version), f"Kafka {version}")
    return facts_of(version)


@pytest.mark.slow
def test_our_tables_have_all_of_the_newest_release_and_nothing_otherwise() -> None:
    facts = facts_or_skip(NEWEST)
    assert drift(facts, OURS, is_newest=True) == []
    hold_spoken(NEWEST, facts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "said"),
    list(zip(VERSIONS[:-1], ([*RENAMED, NULL_RECORDS], [NULL_RECORDS], []), strict=True)),
)
def test_our_tables_have_every_fact_of_an_older_release(version: str, said: list[str]) -> None:
    facts = facts_or_skip(version)
    lines = drift(facts, OURS, is_newest=False)
    assert len(lines) == len(said), lines
    for line, start in zip(lines, said, strict=True):
        assert line.startswith(f"{APIS_FOLDER}: {start}")
    hold_spoken(version, facts)


def hold_spoken(version: str, facts: dict[str, Any]) -> None:
    """What docs/reference/kafka-releases.md says of levels, and of requests that both speak."""
    stable = [int(level) for level, row in facts["levels"].items() if row["isProduction"]]
    hold(version, "level", f"{max(stable)} ({OURS.releases[max(stable)]})")
    newest = {
        row["name"]: min(row["newestStable"], OURS.apis[row["key"]].versions[-1])
        for row in facts["apis"]
        if row["key"] in OURS.apis
    }
    spoken = ", ".join(f"{name} {newest[name]}" for name in CHANGING if name in newest)
    hold(version, "requests", f"{len(newest)}, among them {spoken}")


def without_record(name: str) -> Tables:
    return replace(OURS, records=tuple(each for each in OURS.records if each.name != name))


def with_record(name: str, change: Callable[[RecordSchema], RecordSchema]) -> Tables:
    records = (change(each) if each.name == name else each for each in OURS.records)
    return replace(OURS, records=tuple(records))


def older(schema: RecordSchema) -> RecordSchema:
    """As it was before its newest version."""
    fields = tuple(each for each in schema.fields if each.since < schema.newest)
    return replace(schema, newest=schema.newest - 1, fields=fields)


def with_field(schema: RecordSchema, number: int, **changes: Any) -> RecordSchema:
    fields = list(schema.fields)
    fields[number] = replace(fields[number], **changes)
    return replace(schema, fields=tuple(fields))


def with_api(key: int, change: Callable[[Api], Api]) -> Tables:
    return replace(OURS, apis={**OURS.apis, key: change(OURS.apis[key])})


def up_to(api: Api, newest: int) -> Api:
    """As it was when `newest` was its newest version."""
    versions = range(api.versions.start, newest + 1)

    def cut(structure: Any) -> Any:
        fields = tuple(each for each in structure.fields if each.since <= newest)
        return replace(structure, versions=versions, fields=fields)

    return replace(api, versions=versions, request=cut(api.request), response=cut(api.response))


def without(mapping: Any, *keys: Any) -> dict[Any, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}


def said_of(tables: Tables) -> list[str]:
    """Beside what is said of our tables as they are, which another test is about."""
    facts = facts_or_skip(NEWEST)
    known_before = drift(facts, OURS, is_newest=True)
    return [line for line in drift(facts, tables, is_newest=True) if line not in known_before]


RECORDS_FILE = "replica/metadata/records.py"
APIS_FOLDER = "replica/wire/apis/"
RELEASES_FILE = "replica/metadata/changes/releases.py"
CHOICES = "tests/drift/known.py"
TAKEN = {
    "a record": (
        RECORDS_FILE,
        without_record("UNREGISTER_CONTROLLER_RECORD"),
        [
            "UNREGISTER_CONTROLLER_RECORD: no record of ours; key 29, versions 0 to 0: "
            "controllerId (int32, default 0)"
        ],
    ),
    "a version of a record": (
        RECORDS_FILE,
        with_record("REGISTER_BROKER_RECORD", older),
        [
            "REGISTER_BROKER_RECORD: version 4 is not in our table",
            "REGISTER_BROKER_RECORD, version 4: our table lacks the field cordonedLogDirs ([]uuid, "
            "null allowed, tag 1, default null)",
        ],
    ),
    "a version of another": (
        RECORDS_FILE,
        with_record("BROKER_REGISTRATION_CHANGE_RECORD", older),
        [
            "BROKER_REGISTRATION_CHANGE_RECORD: version 3 is not in our table",
            "BROKER_REGISTRATION_CHANGE_RECORD, version 3: our table lacks the field "
            "cordonedLogDirs ([]uuid, null allowed, tag 3, default null)",
        ],
    ),
    "a request": (
        APIS_FOLDER,
        replace(OURS, apis=without(OURS.apis, 59)),
        [
            "FetchSnapshot: no request of ours, and not left out by choice (UNSPOKEN in "
            "tests/drift/known.py); key 59, versions 0 to 1"
        ],
    ),
    "a version of a request": (
        APIS_FOLDER,
        with_api(80, lambda api: up_to(api, 0)),
        [
            "AddRaftVoter request: version 1 is not in our table",
            "AddRaftVoter request, version 1: our table lacks the field ackWhenCommitted (bool, "
            "default True)",
            "AddRaftVoter response: version 1 is not in our table",
        ],
    ),
    "the version of ApiVersions with cluster and node": (
        APIS_FOLDER,
        with_api(18, lambda api: up_to(api, 4)),
        [
            "ApiVersions request: version 5 is not in our table",
            "ApiVersions request, version 5: our table lacks the field clusterId (string, null "
            "allowed, default null)",
            "ApiVersions request, version 5: our table lacks the field nodeId (int32, default -1)",
            "ApiVersions response: version 5 is not in our table",
        ],
    ),
    "an error code": (
        "replica/model/kafka_errors.py",
        replace(OURS, error_names=without(OURS.error_names, 129)),
        ["error code 129 REBOOTSTRAP_REQUIRED: not in our table"],
    ),
    "levels": (
        RELEASES_FILE,
        replace(OURS, releases=without(OURS.releases, 31, 32, 33, 34)),
        [
            "metadata.version 31 4.4-IV0: not in our table",
            "metadata.version 32 4.4-IV1: not in our table",
            "metadata.version 33 4.4-IV2: not in our table",
            "metadata.version 34 4.5-IV0: not in our table",
        ],
    ),
    "a release": (
        RELEASES_FILE,
        replace(OURS, newest_levels=without(OURS.newest_levels, "4.4")),
        ["NEWEST_LEVELS, 4.4: 33 in Kafka, None in our table"],
    ),
    "what a level writes": (
        "replica/metadata/image/snapshot.py",
        replace(OURS, answers={**OURS.answers, "registerBrokerRecordVersion": {7: 1, 8: 2, 17: 3}}),
        [
            "metadata.version, levels 30 to 34: registerBrokerRecordVersion is 4 in Kafka, 3 in "
            "our tables"
        ],
    ),
    "what a level may": (
        CHOICES,
        replace(OURS, answers=without(OURS.answers, "isCidrAclSupported")),
        [
            "metadata.version: isCidrAclSupported is not in our tables: False from level 7 on, "
            "True from level 32 on"
        ],
    ),
    "a config": (
        "replica/node/settings.py",
        replace(OURS, configs=without(OURS.configs, "controller.quorum.auto.join.enable")),
        [
            "config controller.quorum.auto.join.enable: a replica does not read it, and it is not "
            "left out by choice (UNREAD in tests/drift/known.py); default false"
        ],
    ),
    "a secret": (
        "replica/metadata/redact.py",
        replace(OURS, is_secret=lambda name: name != "ssl.keystore.key"),
        ["config ssl.keystore.key: a PASSWORD in Kafka, and no secret in ours: it would be shown"],
    ),
    "a config that may be shown": (
        "replica/metadata/known_configs.py",
        replace(OURS, known_configs=OURS.known_configs - {"min.insync.replicas"}),
        [
            "config min.insync.replicas: Kafka knows it, and our table does not: it would be "
            "withheld"
        ],
    ),
    "a level of a feature": (
        CHOICES,
        replace(OURS, features={**OURS.features, "share.version": 1}),
        ["feature share.version: up to level 2 in Kafka, 1 in our table"],
    ),
    "a feature": (
        CHOICES,
        replace(OURS, features=without(OURS.features, "streams.version")),
        ["feature streams.version: levels 0 to 1, not in our table"],
    ),
    "a control record": (
        "replica/format/control.py",
        replace(OURS, controls=without(OURS.controls, "KRAFT_VOTERS")),
        ["control record 6 KRAFT_VOTERS: not in our table"],
    ),
    "a field of a control record": (
        "replica/format/control_records.py",
        replace(OURS, written=OURS.written | {"KRaftVersionRecord": {0: frozenset({"version"})}}),
        ["KRaftVersionRecord, version 0: our code lacks the field kRaftVersion (int16, default 0)"],
    ),
    "a version of quorum-state": (
        "replica/format/quorum_state.py",
        replace(
            OURS,
            written=OURS.written | {"QuorumStateData": without(OURS.written["QuorumStateData"], 1)},
        ),
        ["QuorumStateData: version 1 is not in our code"],
    ),
}


@pytest.mark.parametrize("what", TAKEN)
def test_drift_names_facts_that_our_tables_lack(what: str) -> None:
    place, tables, lines = TAKEN[what]
    assert said_of(tables) == [f"{place}: {line}" for line in lines]
    assert (ROOT / place).exists()


def broker(**changes: Any) -> Tables:
    """cordonedLogDirs, the last field of REGISTER_BROKER_RECORD, changed."""
    return with_record("REGISTER_BROKER_RECORD", lambda record: with_field(record, -1, **changes))


CHANGED = {
    "a default": (broker(default=()), "null allowed, tag 1, default null in Kafka, []uuid, null"),
    "nullability": (broker(nullable_since=None), "in Kafka, []uuid, tag 1, default null"),
    "a tag": (broker(tag=5), "null allowed, tag 5, default null in our table"),
    "the first version of a field": (
        broker(since=2),
        "REGISTER_BROKER_RECORD, versions 2 to 3: our table has the field cordonedLogDirs",
    ),
    "a type": (
        with_record(
            "TOPIC_RECORD", lambda record: with_field(record, 0, kind=declare("", "bytes").kind)
        ),
        "TOPIC_RECORD, version 0: the field name is string, default '' in Kafka, bytes, default ''",
    ),
    "an order": (
        with_record("TOPIC_RECORD", lambda record: replace(record, fields=record.fields[::-1])),
        "TOPIC_RECORD, version 0: the fields come in the order name, topicId in Kafka, not in ours",
    ),
    "a name": (
        with_record("TOPIC_RECORD", lambda record: replace(record, name="TOPICS_RECORD")),
        "TOPIC_RECORD: our record of key 2 is called TOPICS_RECORD",
    ),
    "a version too many": (
        with_record("TOPIC_RECORD", lambda record: replace(record, newest=1)),
        "TOPIC_RECORD: our table has version 1, Kafka has not",
    ),
    "a first flexible version": (
        with_api(53, lambda api: replace(api, request=replace(api.request, flexible_since=0))),
        "BeginQuorumEpoch request, version 0: Kafka's message is not flexible, ours is flexible",
    ),
    "a number of an error": (
        replace(
            OURS, error_names=without(OURS.error_names, 104) | {999: "INCONSISTENT_CLUSTER_ID"}
        ),
        "error code INCONSISTENT_CLUSTER_ID: 104 in Kafka, 999 in our table",
    ),
    "a level's name": (
        replace(OURS, releases={**OURS.releases, 33: "4.4-IV9"}),
        "metadata.version 33: 4.4-IV2 in Kafka, 4.4-IV9 in our table",
    ),
    "the newest level of a release": (
        replace(OURS, newest_levels={**OURS.newest_levels, "4.4": 32}),
        "replica/metadata/changes/releases.py: NEWEST_LEVELS, 4.4: 33 in Kafka, 32 in our table",
    ),
    "the newest release": (
        replace(OURS, newest_kafka="4.3"),
        "replica/metadata/records.py: NEWEST_KAFKA is 4.3, and the release is 4.4",
    ),
    "a config's default": (
        replace(OURS, configs={**OURS.configs, "metadata.max.retention.ms": "1"}),
        "config metadata.max.retention.ms: default '604800000' in Kafka, '1' in ours",
    ),
    "a dynamic config that Kafka leaves out of its image": (
        replace(OURS, kept_configs={**OURS.kept_configs, 2: frozenset({"message.format.version"})}),
        "config message.format.version of resource type 2: Kafka leaves it out, ours not",
    ),
    "a config that Kafka has not": (
        replace(OURS, configs={**OURS.configs, "metadata.log.colour": "blue"}),
        "config metadata.log.colour: a replica reads it, and Kafka does not have it",
    ),
}


@pytest.mark.parametrize("what", CHANGED)
def test_drift_names_facts_in_which_our_tables_differ(what: str) -> None:
    tables, text = CHANGED[what]
    (line,) = said_of(tables)
    assert text in line


def test_a_request_version_that_kafka_may_still_change_is_not_missed() -> None:
    facts = facts_or_skip(NEWEST)
    (row,) = (each for each in facts["apis"] if each["name"] == "AddRaftVoter")
    unstable = row | {"newestStable": 0}
    changed = facts | {"apis": [unstable if each is row else each for each in facts["apis"]]}
    tables = with_api(80, lambda api: up_to(api, 0))
    assert drift(changed, tables, is_newest=True) == []
    assert drift(changed, OURS, is_newest=True) == []


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.drift", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_command_is_silent_and_content_where_nothing_differs() -> None:
    facts_or_skip(NEWEST)
    done = ran(NEWEST)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"Kafka {NEWEST}: nothing differs\n"


@pytest.mark.slow
def test_the_command_fails_where_something_differs() -> None:
    facts_or_skip(VERSIONS[0])
    done = ran(VERSIONS[0])
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == len(RENAMED) + 1
    assert done.stderr == f"Kafka {VERSIONS[0]}: {len(RENAMED) + 1} differences\n"


@pytest.mark.parametrize("version", ["4.x", "", "trunk"])
def test_the_command_refuses_what_is_no_release(version: str) -> None:
    done = ran(version)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"kafka-drift: {version!r} is no release of Kafka; name one, such as {NEWEST}\n"
    )
