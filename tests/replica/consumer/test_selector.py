"""Selectors, users' own classes too, choose the replica to read from (KIP-392's first draft)."""

import pytest

from replica.consumer.selector import (
    LeastLagSelector,
    PartitionView,
    ReplicaView,
    selector_named,
)
from replica.errors import UsageError
from tests.replica.consumer.asking import Chosen, fetched, metadata, reading


def replica(node_id, rack=None, **facts):
    return ReplicaView(node_id, "127.0.0.1", 9090 + node_id, rack, **facts)


def partition(*replicas, leader=1):
    return PartitionView(leader, replicas)


def named(name, **values):
    return selector_named({"replica.selector.class": name, **values})


class Recording:
    """A selector that a user wrote: it doesn't extend kraftlake's base class."""

    configured = None

    def configure(self, values):
        self.configured = dict(values)

    def select(self, partition):
        return max(replica.node_id for replica in partition.replicas)

    def close(self):
        pass


def test_the_leader_is_the_default():
    assert selector_named({}).select(partition(replica(1), replica(2))) is None


def test_the_rack_selector_stays_at_a_leader_in_the_rack():
    selector = named("rack", **{"client.rack": "a"})
    assert selector.select(partition(replica(1, "a"), replica(2, "a"))) is None


def test_the_rack_selector_takes_the_least_lagging_replica_in_sync_there():
    selector = named("rack", **{"client.rack": "b"})
    replicas = (
        replica(1, "a"),
        replica(2, "b", lag=9),
        replica(3, "b", lag=4),
        replica(4, "b", lag=0, in_sync=False),
        replica(5, "b"),
    )
    assert selector.select(partition(*replicas)) == 3
    assert selector.select(partition(replica(1, "a"), replica(2, "c"))) is None


def test_the_rack_selector_needs_a_rack():
    with pytest.raises(UsageError, match=r"client\.rack: missing"):
        named("rack")


def test_the_nearest_selector_takes_the_replica_that_answers_fastest():
    replicas = (
        replica(1, round_trip_ms=3.0),
        replica(2, round_trip_ms=0.4),
        replica(3),
        replica(4, round_trip_ms=0.1, in_sync=False),
    )
    assert named("nearest").select(partition(*replicas)) == 2
    assert named("nearest").select(partition(replica(1), replica(2))) is None


def test_the_least_lag_selector_spares_the_leader():
    replicas = (replica(1, lag=0), replica(2, lag=5), replica(3, lag=2))
    assert named("least-lag").select(partition(*replicas)) == 3
    assert named("least-lag").select(partition(replica(1))) is None


def test_a_selector_may_be_a_class_of_the_user():
    selector = selector_named({"replica.selector.class": f"{__name__}:Recording", "x.y": "z"})
    assert selector.configured["x.y"] == "z"
    assert selector.select(partition(replica(1), replica(7))) == 7


@pytest.mark.parametrize(
    "name",
    ["closest", "no.such.module:Class", "json:Nothing", "json:loads", ":", "json:JSONDecoder"],
)
def test_a_selector_that_cannot_be_imported_is_a_usage_error(name):
    with pytest.raises(UsageError, match="expected one of leader, rack, nearest, least-lag"):
        named(name)


def test_a_session_asks_the_selector_whenever_metadata_comes_and_closes_it():
    selector = Chosen(2)
    asking = reading(0, selector=selector)
    shown = len(selector.shown)
    asking.session.learn(metadata(in_sync=(1, 2)))
    assert [r.in_sync for r in selector.shown[shown].replicas] == [True, True, False]
    asking.session.close()
    assert selector.closed


def test_a_session_shows_the_lag_that_its_own_fetches_found():
    selector = Chosen(None)
    asking = reading(0, selector=selector)
    asking.exchange(fetched(hw=50))
    selector.node_id = 3
    asking.session.learn(metadata())
    asking.exchange(fetched(hw=30))
    asking.session.learn(metadata())
    assert {r.node_id: r.lag for r in selector.shown[-1].replicas} == {1: 0, 2: None, 3: 20}


def test_the_leader_serves_where_a_selector_chooses_an_unknown_replica():
    assert reading(0, selector=Chosen(9)).ask()[1].node_id == 1


def test_known_lag_goes_before_unknown_lag():
    assert LeastLagSelector().select(partition(replica(2), replica(3, lag=90), leader=1)) == 3
