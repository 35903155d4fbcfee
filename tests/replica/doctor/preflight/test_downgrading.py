"""What keeps an older release from running on the directories."""

from __future__ import annotations

import pytest

from replica.doctor.preflight.answer import ChangeSafety
from replica.doctor.preflight.downgrading import NodeReading, downgrade_binaries
from replica.metadata.changes.readers import reader_of
from replica.metadata.changes.unread import Unread, UnreadPlace, unread_level
from tests.replica.doctor.preflight.clusters import cluster, controller, level


def raised(feature: str, number: int, offset: int | None) -> UnreadPlace:
    unread = unread_level(reader_of("4.1"), feature, number)
    assert unread is not None
    return UnreadPlace(unread, "00.log", offset=offset)


def test_nodes_that_can_read_all_are_safe_and_the_others_are_named_as_a_need() -> None:
    state = cluster(controller(1), controller(2), controller(3), voters=(1, 2, 3))
    found = downgrade_binaries(state, "4.1", [NodeReading(1, "n1", ())])
    assert (found.answer, found.action) == (ChangeSafety.SAFE, "run Kafka 4.1 on these directories")
    (need,) = found.needs
    assert need.startswith("the directories of nodes 2 and 3, which were not given")
    two = [NodeReading(1, "n1", ()), NodeReading(3, "n3", ())]
    assert downgrade_binaries(state, "4.1", two).needs == (
        "the directory of node 2, which was not given, has to be readable too",
    )


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (29, "Lower it first: `kraftlake plan --downgrade 4.1` says whether Kafka does"),
        (30, "Kafka refuses to lower it, also with --unsafe"),
    ],
)
def test_a_level_in_force_is_to_be_lowered_if_kafka_does_and_one_reason_is_about_all_nodes(
    number: int, told: str
) -> None:
    state = cluster(level("metadata.version", number), level("streams.version", 1))
    streams = raised("streams.version", 1, 5)
    readings = [
        NodeReading(node, "", (raised("metadata.version", number, at), streams))
        for node, at in ((1, None), (2, 4))
    ]
    found = downgrade_binaries(state, "4.1", readings)
    assert found.answer is ChangeSafety.UNSAFE
    version, feature = found.reasons
    assert (version.subject, version.offset) == ("metadata.version", 4)
    assert version.detail.endswith(f"It would end nodes 1 and 2. {told}")
    assert feature.detail.endswith("Lower it first, to 0")


def test_a_level_that_is_no_longer_in_force_waits_for_a_snapshot() -> None:
    lowered = raised("metadata.version", 29, 7)
    found = downgrade_binaries(cluster(), "4.1", [NodeReading(1, "", (lowered,))])
    (reason,) = found.reasons
    assert "no longer in force" in reason.detail
    assert "written a snapshot above this offset" in reason.detail


def test_dynamic_voters_are_never_static_again() -> None:
    place = UnreadPlace(Unread("kraft.version", "level 1", is_fatal=True), "00.log", offset=0)
    state = cluster(voters=(1,))
    state.image.tables["kraft_version"].values[""] = 1  # type: ignore[index]
    (reason,) = downgrade_binaries(state, "3.8", [NodeReading(1, "", (place,))]).reasons
    assert "dynamic voters stay dynamic" in reason.detail


def test_a_log_that_can_t_be_read_whole_is_unknown() -> None:
    found = downgrade_binaries(cluster(), "4.1", [NodeReading(None, "copy", (), is_whole=False)])
    assert found.answer is ChangeSafety.UNKNOWN
    assert found.reasons[0].subject == "node copy"


def test_a_quorum_s_log_alone_tells_of_nodes_what_is_in_force() -> None:
    """How much of the log a node reads at its start depends on its newest snapshot."""
    lowered, present = raised("metadata.version", 29, 7), raised("streams.version", 1, 5)
    state = cluster(controller(1), level("streams.version", 1), voters=(1,))
    log = NodeReading(None, "log", (lowered, present), is_of_quorum=True)
    found = downgrade_binaries(state, "4.1", [log], "the snapshots of each node")
    in_force, former = found.reasons
    assert (in_force.answer, in_force.subject) == (ChangeSafety.UNSAFE, "streams.version")
    assert "It would end every node" in in_force.detail
    assert (former.answer, former.offset) == (ChangeSafety.UNKNOWN, 7)
    assert "whose newest snapshot doesn't lie above it" in former.detail
    assert found.needs == ("the snapshots of each node",)
