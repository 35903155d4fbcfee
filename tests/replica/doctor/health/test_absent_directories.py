"""A broker with several disks that died with one of them: its start with an empty one in that place
would bring leaders without records."""

from __future__ import annotations

import pytest

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.copy_first import copies_first, copy_step, steps_if_lost
from replica.message.primitives import uuid_text
from tests.replica.doctor.health.clusters import a_broker, a_partition, cluster_after, healthy

DEAD, WHOLE, OF_11 = (
    uuid_text(f"directory-{name}".encode()) for name in ("012-1x", "012-2x", "0110")
)


def of_12(*given: str, waiting: int = -1, fenced: bool = True) -> Cluster:
    """orders-0 waits for the dead disk of broker 12, orders-1 for its whole one; orders-2, led by
    broker 11, is on the dead one, and nothing waits for orders-3."""
    where = (OF_11, DEAD), (OF_11, WHOLE), (OF_11, DEAD)
    records = [
        *healthy(),
        a_broker(11, logDirs=(OF_11, uuid_text(b"directory-011-2x"))),
        a_broker(12, fenced=fenced, logDirs=(DEAD, WHOLE)),
        a_partition(0, (11, 12), isr=(12,), leader=waiting, directories=where[0]),
        a_partition(1, (11, 12), isr=(12,), leader=waiting, directories=where[1]),
        a_partition(2, (11, 12), isr=(11,), leader=11, directories=where[2]),
    ]
    return cluster_after(records, given_directories={12: frozenset(given)})


def test_a_start_waits_for_the_directory_that_was_not_given() -> None:
    copies = copies_first(of_12(WHOLE))
    assert copy_step(copies) == (
        "First copy the log directories of brokers 11 and 12. Do not start broker 12 while one of "
        f"its 2 log directories is missing or empty: directory {DEAD} (orders-0 and orders-2) was "
        "not given, and with an empty one in its place broker 12 may lead orders-0 without any "
        "record."
    )
    assert steps_if_lost(copies) == (
        "If that directory is lost, elect orders-0 uncleanly on broker 11 while broker 12 is down "
        "(records that only broker 12 had are lost). Elect orders-1 not so: broker 12 has the "
        "newest copy in a log directory that was given."
    )


def test_a_partition_without_another_replica_is_named() -> None:
    cluster = of_12(WHOLE)
    fenced = cluster_after(
        [
            *healthy(),
            a_broker(11, fenced=True),
            a_broker(12, fenced=True, logDirs=(DEAD, WHOLE)),
            a_partition(0, (11, 12), isr=(12,), leader=-1, directories=(OF_11, DEAD)),
        ],
        given_directories=cluster.given_directories,
    )
    copies = [one for one in copies_first(fenced) if one.broker == 12]
    assert steps_if_lost(copies) == (
        "If that directory is lost, orders-0 has no other replica that runs."
    )
    assert copy_step(copies).startswith("Do not start broker 12 while ")


def test_where_no_directory_was_given_the_start_needs_all() -> None:
    copies = copies_first(of_12())
    assert copy_step(copies) == (
        "Make sure that broker 12 has all of its 2 log directories: with a new, empty one in the "
        "place of another it may lead partitions without any record."
    )
    assert steps_if_lost(copies) == ""


@pytest.mark.parametrize(
    "cluster",
    [
        of_12(DEAD, WHOLE),
        of_12(DEAD, waiting=11),
        of_12(WHOLE, fenced=False),
    ],
    ids=["all were given", "no partition waits", "the broker runs"],
)
def test_no_condition_without_the_danger(cluster: Cluster) -> None:
    assert copies_first(cluster) == ()
