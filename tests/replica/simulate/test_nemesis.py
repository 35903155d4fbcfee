"""The runs of some seeds show everything that each fault can cause."""

from collections import Counter

import pytest

from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.voters import without_directories
from replica.simulate.faulty_run import run
from replica.simulate.invariants import Invariants

pytestmark = pytest.mark.slow
SEEDS, EVENTS = range(1010, 1070), 2000


@pytest.fixture(scope="module")
def met():
    """How often each thing happened, over all seeds."""
    counts = Counter()
    stepped, opened = Invariants.stepped, Invariants.opened

    def watch(self, host, effects):
        counts.update(name for name in _FIELDS if getattr(effects, name) not in (None, (), False))
        sets = [entry.value for entry in host.raft.log.voter_sets]
        for batch in effects.append:
            counts.update(type(record).__name__ for record in batch.control)
            if any(isinstance(record, KRaftVoters) for record in batch.control) and sets[1:]:
                counts[_change(*sets[-2:])] += 1
            if not batch.control and host.machine.can_snapshot is False:
                counts["open transaction"] += 1
        counts.update(type(send.message).__name__ for send in effects.sends)
        faults = host.disk.faults
        counts["slow disk"] += faults.call_ms > 0
        counts["full disk"] += faults.capacity_bytes is not None
        counts["failing disk"] += faults.sync_error_rate > 0
        counts["wiped disk"] += host.config.local.key.directory_id[-3:-1] != "00"
        if effects.stopped is not None:
            counts[effects.stopped.value] += 1
        stepped(self, host, effects)

    def watch_opening(self, host):
        counts["torn end"] += sum("a torn end" in repair for repair in host.log.repairs)
        counts["boot"] += 1
        opened(self, host)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Invariants, "stepped", watch)
        patch.setattr(Invariants, "opened", watch_opening)
        results = [run(seed, EVENTS) for seed in SEEDS]
    assert [r.broken for r in results if r.broken] == []
    counts["acknowledged"] = sum(result.acknowledged for result in results)
    return counts


_FIELDS = (
    "quorum_state",
    "truncate_to",
    "reset_to",
    "append",
    "snapshot_parts",
    "log_start",
    "delete_snapshots",
    "load_snapshot",
    "commit",
    "leader_change",
    "replies",
    "sends",
)


def _change(older, newer):
    """The kind of a change of the voters."""
    if without_directories(older).keys != without_directories(newer).keys:
        return "voter added" if len(newer) > len(older) else "voter removed"
    return "voter updated" if older != newer else "voters repeated"


@pytest.mark.parametrize("effect", _FIELDS)
def test_the_runs_carry_out_every_effect(met, effect):
    assert met[effect] > 10


@pytest.mark.parametrize("change", ["voter added", "voter removed", "voter updated"])
def test_the_voters_change_in_every_way(met, change):
    assert met[change] > 10


@pytest.mark.parametrize(("asked", "least"), [("AddVoterRequest", 10), ("RemoveVoterRequest", 1)])
def test_replicas_ask_for_their_own_place_among_the_voters(met, asked, least):
    assert met[asked] >= least


@pytest.mark.parametrize("disk", ["slow disk", "full disk", "failing disk", "wiped disk"])
def test_replicas_go_on_with_a_disk_of_every_kind(met, disk):
    assert met[disk] > 100


def test_static_quorums_are_upgraded(met):
    assert met[KRaftVersion.__name__] > 10


def test_replicas_leave_in_order_and_by_timeout(met):
    assert met["gracefully"] > 5
    assert met["by timeout"] > 0


def test_crashes_leave_torn_ends_that_recovery_cuts(met):
    assert met["boot"] > 5 * len(SEEDS)
    assert met["torn end"] > 10


def test_clients_are_told_of_acknowledged_appends(met):
    assert met["acknowledged"] > 50 * len(SEEDS)


def test_transactions_are_left_open_by_leaders_that_went(met):
    assert met["open transaction"] > 0
