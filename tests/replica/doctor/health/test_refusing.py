"""Since when partitions refuse writes, read backwards."""

from __future__ import annotations

from replica.doctor.health.cluster import Beginning
from replica.doctor.health.min_isrs import MIN_ISR
from replica.doctor.health.refusing import refusing_partitions, refusing_since
from replica.doctor.health.rewound import VisibleChange
from replica.doctor.verdict.evidence import Since, refusing
from replica.metadata.image.state import TOPIC_RESOURCE
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import a_partition, cluster_after, healthy
from tests.replica.metadata.image.made import config

LESS = a_partition(isr=(11,))
FULL = a_partition()
(KEY,) = cluster_after(healthy()).partitions


def began(records: list[object], *steps: VisibleChange) -> Beginning | None:
    cluster = cluster_after([*healthy(), config("2", MIN_ISR), *records])
    assert refusing_partitions(cluster) == {KEY}
    return refusing_since(cluster, frozenset({KEY}), steps).get(KEY)


def of_partition(offset: int, before: object) -> VisibleChange:
    """The step with which the partition was changed from this state, or created."""
    state = None if before is None else cluster_after([*healthy(), before]).partitions[KEY]
    return VisibleChange(offset, 1000 * offset, (("partitions", KEY, state),))


def test_it_began_with_the_change_that_left_too_few_in_sync() -> None:
    two, none = a_partition(isr=(11, 12)), a_partition(isr=(11,), leader=NO_NODE)
    assert began([LESS], of_partition(8, two), of_partition(7, FULL)) == Beginning(8, 8000)
    meanwhile = of_partition(9, none), of_partition(8, LESS), of_partition(7, two)
    assert began([LESS], *meanwhile) == Beginning(7, 7000), "without leader it refused them, too"
    assert began([LESS], of_partition(5, None)) == Beginning(5, 5000), "its creation"
    assert began([LESS], of_partition(8, LESS)) is None, "it did before all that is known"


def test_it_began_with_a_larger_number_that_the_topic_demands() -> None:
    raised = (("configs", (TOPIC_RESOURCE, "orders", MIN_ISR), "1"),)
    steps = VisibleChange(9, 9000, raised), of_partition(8, FULL)
    assert began([LESS], *steps) == Beginning(9, 9000)
    other = (("configs", (TOPIC_RESOURCE, "orders", "retention.ms"), "1"),)
    steps = VisibleChange(9, 9000, other), of_partition(8, FULL)
    assert began([LESS], *steps) == Beginning(8, 8000)


def test_the_verdict_s_time_is_read_only_where_partitions_refuse_writes() -> None:
    cluster = cluster_after([*healthy(), config("2", MIN_ISR), LESS])
    assert refusing(cluster, lambda: [of_partition(8, FULL)]) == Since(8000, 8000)
    assert refusing(cluster, lambda: []) is None

    def unread() -> list[VisibleChange]:
        raise AssertionError("no partition refuses writes")

    assert refusing(cluster_after(healthy()), unread) is None
