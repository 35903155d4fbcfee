"""A quorum of one voter whose disk was put back to an older copy. The records that only a broker
has were committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.simulate import metadata_records as records
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum, Unwatched
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.jobs.restored_disks import lead


def begun() -> ScriptedQuorum:
    """A quorum of voter 1 with the brokers 2 and 3. Each call gives the same bytes."""
    quorum = ScriptedQuorum("an only voter put back", Layout(1, 2), invariants=Unwatched)
    lead(quorum)
    quorum.populate(1, "orders")
    quorum.settle()
    return quorum


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directories of all nodes. Broker 2 follows voter 1 after it was put back, and broker 3 is
    down since before. The epochs of both histories have different numbers, as those of a copy
    that was made while the voter ran."""
    copied, quorum = begun(), begun()
    copied.crash(1)
    quorum.commit(1, records.create_topic("coupons", quorum.brokers, partitions=1))
    quorum.settle()
    quorum.crash(*quorum.nodes)
    quorum.restore(1, copied.disk_image(1))
    quorum.run_ms(30_000)
    quorum.start(1, 2)
    lead(quorum)
    quorum.commit(1, records.create_topic("refunds", quorum.brokers, partitions=1))
    quorum.settle(1, 2)
    folder = tmp_path_factory.mktemp("put-back") / "nodes"
    write_capture(quorum.capture(), str(folder))
    return folder


def test_no_node_is_started_and_the_voters_disk_is_named(kraftlake: Kraftlake, nodes: Path) -> None:
    (verdict,) = kraftlake("check", "--json", nodes).verdicts
    (step,) = verdict["next_steps"]
    assert step.startswith("Start no node, neither a controller nor a broker, before ")
    assert "By the log of node 3 node 1 led or voted in epoch" in str(verdict)
    assert "its disk was put back to older copies" in str(verdict)
    assert "The start of" not in str(verdict)


def test_no_record_is_called_never_committed(kraftlake: Kraftlake, nodes: Path) -> None:
    ended = kraftlake("recover", "--plan", nodes)
    assert ended.code == 1
    assert "start no node: committed records would be lost, or logs conflict" in ended.out
    assert "never committed" not in kraftlake("check", nodes).out


def test_where_the_two_histories_part_is_told_with_who_has_which(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    (event,) = kraftlake("timeline", "--json", "--event", "histories_part", nodes).rows
    assert (event["name"], event["nodes"], event["commitment"]) == ("node 3", [3], "unproven")
    assert " that the history of nodes 1 and 2 lacks; it has epoch " in event["detail"]
    common = f"; offset {event['offset'] - 1}, of this time, is the last common record"
    assert event["detail"].endswith(common)
    lines = kraftlake("what-happened", nodes).lines[:10]
    assert any("  histories part: node 3 held " in line for line in lines)
