"""The replicas of partitions on combined nodes."""

from __future__ import annotations

from replica.doctor.health.hosted import HostedReplica, hosted_replicas
from replica.model.keys import ZERO_UUID
from tests.replica.doctor.health.clusters import (
    a_broker,
    a_partition,
    cluster_after,
    directory_of,
    healthy,
    voters,
)


def test_combined_voters_have_their_replicas_by_name_and_other_nodes_are_left_out() -> None:
    lies = [directory_of(1), ZERO_UUID, directory_of(12)]
    records = [
        *healthy(),
        voters(1, 2, 3),
        a_broker(1),
        a_broker(2),
        a_partition(2, (1, 11, 12), isr=(1,), directories=lies),
        a_partition(1, (11, 1), isr=(11, 1), directories=[directory_of(11), ZERO_UUID]),
    ]
    assert hosted_replicas(cluster_after(records)) == {
        1: (
            HostedReplica("orders-1", None, is_alone=False),
            HostedReplica("orders-2", directory_of(1), is_alone=True),
        ),
        2: (),
    }
