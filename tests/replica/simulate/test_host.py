"""The simulated host: power is lost where the test says, and its numbers are those of its log."""

from random import Random

import pytest

from replica.raft.roles import Leader
from replica.simulate.disk import PowerLossError
from replica.simulate.node import Layout, first_nodes
from replica.simulate.workload import METADATA, OPAQUE


def only_node(workload=OPAQUE, seed=1):
    (node,) = first_nodes(Random(seed), Layout(voters=1, workload=workload)).values()
    node.offset_ms = node.drift = 0
    return node


def started(node, now=0, watch=lambda host, effects: None):
    return node.start(lambda bound: 0, now, watch)


def lead(host, now=0):
    """Let the only voter elect itself, and commit its LeaderChange."""
    for time in range(now, now + 5000, 100):
        host.tick(time)
        while host.owes_flush:
            host.flush(time)
    assert isinstance(host.raft.role, Leader)
    return host


def test_the_power_goes_between_any_two_effects_and_a_restart_recovers():
    boots = 0
    for effects_left in range(12):
        node = only_node(seed=effects_left)
        host = started(node)
        host.effects_left = effects_left
        try:
            lead(host)
        except PowerLossError:
            boots += 1
        node.disk.crash()
        lead(started(node))
    assert boots > 3


@pytest.mark.parametrize("workload", [OPAQUE, METADATA], ids=lambda workload: workload.name)
def test_a_host_shows_the_batches_that_a_step_committed_and_none_of_those_in_a_snapshot(workload):
    node, seen = only_node(workload), []

    def watch(host, effects):
        seen.extend(batch.base_offset for batch in host.committed)

    host = lead(started(node, watch=watch))
    host.snapshot(6000)
    end = host.machine.next_offset
    assert seen == [0]
    assert not host.committed
    host.log.close()
    host = started(node, now=6000, watch=watch)
    host.tick(6000)
    assert seen == [0]
    assert host.machine.next_offset == end


def test_the_flushed_end_is_what_the_log_made_durable():
    host = started(only_node())
    for time in range(0, 5000, 100):
        host.tick(time)
    assert (host.log.log_end > 0, host.flushed_end) == (True, 0)
    host.flush(5000)
    assert host.flushed_end == host.log.log_end
