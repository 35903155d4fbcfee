"""The health of any log can be judged: of random logs, and of logs with extreme numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.doctor.health.cluster import Beginning, Cluster
from replica.doctor.health.exposure import exposures, min_isr_unknown
from replica.doctor.health.judging import judge_health
from replica.doctor.health.sizes import entity_counts, entity_sizes, topic_sizes
from replica.format.control import KRaftVersion, KRaftVoters
from replica.metadata.image.texts import image_of
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter
from tests.replica.doctor.health.clusters import a_partition, above_notes, healthy, judged
from tests.replica.doctor.health.test_recorded import DATA
from tests.replica.metadata.image.made import TOPIC, change, config
from tests.replica.metadata.image.test_properties import drawn, replayed

VOTERS = KRaftVoters(0, (Voter(ReplicaKey(1, TOPIC), (Endpoint("A", "h", 1),), 0, 1),))
FAR = 2**63 - 1


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_every_log_has_findings_an_exposure_and_sizes(seed: int) -> None:
    image = replayed([KRaftVersion(0, 1), VOTERS, *drawn(seed)]).image()
    cluster = Cluster(image, voters=frozenset({1}))
    for finding in judge_health(cluster):
        assert finding.message
        assert len({subject.name for subject in finding.subjects}) <= len(finding.subjects)
    now, *_ = exposures(cluster)
    assert now.harm.leaderless <= len(cluster.partitions)
    assert min_isr_unknown(cluster) <= len(cluster.partitions)
    assert sum(one.count for one in topic_sizes(image)) == len(cluster.partitions)
    assert sum(one.count for one in entity_sizes(entity_counts(image))) == sum(
        len(table.values) for table in image.tables.values()
    )


@given(st.integers(0, 2**32))
def test_the_texts_of_all_entities_give_the_image_again(seed: int) -> None:
    image = replayed([KRaftVersion(0, 1), VOTERS, *drawn(seed)]).image()
    rows = [(one.kind, one.value, one.offset) for one in image.entities()]
    again = image_of(reversed(rows))
    assert again == image
    assert {n: t.offsets for n, t in again.tables.items()} == {
        n: t.offsets for n, t in image.tables.items()
    }


@pytest.mark.parametrize("value", ["9" * 5000, "99999999999", "²", "-1", "1.5", ""])
def test_a_min_insync_replicas_that_kafka_would_not_take_is_unknown(value: str) -> None:
    records = [*healthy(), a_partition(isr=(11, 12)), config(value, "min.insync.replicas")]
    assert "min-isr-unknown" in judged(records)


def test_a_broker_resource_whose_name_is_no_id_is_an_orphan_at_most() -> None:
    few = a_partition(isr=(11, 12))
    found = judged([*healthy(), few, config("2", "min.insync.replicas", "9" * 5000, 4)])
    assert "config-without-resource" in found
    assert "min-isr-unknown" in found


@pytest.mark.parametrize(("start", "now"), [(-FAR, FAR), (FAR, -FAR), (0, FAR)])
def test_times_outside_of_the_calendar_are_judged_too(start: int, now: int) -> None:
    records = [*healthy(), change(addingReplicas=(13,))]
    found = judged(records, starts={(TOPIC, 0): Beginning(9, start)}, now=now)
    assert above_notes(found) == (["reassignment-stuck"] if now > start else [])


def test_a_log_of_all_record_types_is_judged() -> None:
    from tests.replica.metadata.image.recorded import records_in
    from tests.replica.metadata.image.recorded import replayed as replayed_log

    path = DATA / "generated-all-types/00000000000000000000.log"
    image = replayed_log(records_in(path))[0].image()
    assert judge_health(Cluster(image, file=str(path)))
