"""A simulated machine: its clock, its disk, its identity."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.simulate.node import MAX_DRIFT, Layout, first_nodes, random_layout

DRIFTS = st.integers(-MAX_DRIFT, MAX_DRIFT)


def only_node():
    (node,) = first_nodes(Random(1), Layout(voters=1)).values()
    return node


@given(DRIFTS, st.integers(0, 10**6), st.integers(0, 10**6))
def test_due_is_the_first_time_at_which_a_clock_shows_a_time(drift, offset, local):
    node = only_node()
    node.drift, node.offset_ms = drift, offset
    due = node.due(local)
    assert node.clock(due) >= local
    assert node.clock(due - 1) < local


@given(DRIFTS, DRIFTS, st.integers(0, 10**6), st.integers(0, 10**4))
def test_a_skewed_clock_never_goes_back(before, after, now, later):
    node = only_node()
    node.drift = before
    shown = node.clock(now)
    node.skew(now, after)
    assert node.clock(now) == shown
    assert node.clock(now + later) >= shown


def test_a_slow_disk_keeps_its_node_busy_for_as_long_as_its_calls_took():
    node = only_node()
    node.disk.busy_ms = 12.5
    node.wait_for_disk(100)
    node.disk.busy_ms = 5
    node.wait_for_disk(110)
    node.wait_for_disk(111)
    assert (node.busy_until, node.disk.busy_ms) == (117, 0)


def test_a_wiped_node_is_another_replica_and_a_moved_one_the_same_elsewhere():
    node = only_node()
    old = node.local
    node.move()
    assert node.local.key == old.key
    assert node.local.endpoints != old.endpoints
    node.wipe(Random(1))
    assert node.local.key.node_id == old.key.node_id
    assert node.local.key != old.key
    assert node.disk.used_bytes() == 0


def test_a_running_node_keeps_its_disk():
    node = only_node()
    node.host = node.start(lambda bound: 0, 0, lambda host, effects: None)
    with pytest.raises(AssertionError, match="a running node's disk stays"):
        node.wipe(Random(1))


def test_every_kind_of_quorum_is_drawn():
    layouts = [random_layout(Random(seed), auto_joins=False) for seed in range(200)]
    kinds = {(each.voters, each.is_static, each.workload.name) for each in layouts}
    assert kinds == {
        (v, s, w) for v in (3, 5) for s in (False, True) for w in ("opaque", "metadata")
    }
