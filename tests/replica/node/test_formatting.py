"""Formatting names a directory once, and gives first voters the set they all begin with."""

import asyncio

import pytest

from replica.errors import UsageError
from replica.format.partition_metadata import decode
from replica.model.keys import ZERO_UUID
from replica.node.assembly import opened
from replica.node.formatting import format_node, new_uuid
from replica.storage.filesystem import LocalDisk
from replica.storage.identity import read_identity
from replica.storage.recovery import open_log
from tests.replica.node.server_properties import settings

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
TOPIC_ID, LISTENER = "AAAAAAAAAAAAAAAAAAAAAg", "CONTROLLER://127.0.0.1:9093"
DIRECTORIES = {1: "d" * 21 + "A", 2: "e" * 21 + "A"}


@pytest.fixture
def node(tmp_path):
    return settings(tmp_path, log__dirs=str(tmp_path / "node1"))


def formatted(node, **options):
    return format_node(LocalDisk(), node, CLUSTER, **options)


def voters_in(node):
    facts = open_log(LocalDisk(), node.partition_folder, node.log).facts()
    (snapshot,) = facts.snapshots
    return snapshot.voters


def test_a_standalone_node_is_the_only_voter(node):
    made = formatted(node, standalone=True)
    (voter,) = voters_in(node)
    assert voter.key == made.replica.key
    assert voter.endpoints == node.advertised
    assert made.replica.directory_id != ZERO_UUID


@pytest.mark.parametrize("options", [{}, {"standalone": True}])
def test_a_partition_of_another_topic_is_marked_with_that_topics_id(tmp_path, options):
    topic = {"kraftlake__topic__name": "orders", "kraftlake__topic__id": TOPIC_ID}
    node = settings(tmp_path, log__dirs=str(tmp_path / "node1"), listeners=LISTENER, **topic)
    formatted(node, **options)

    async def begin():
        opened(node, print)[1].close()

    asyncio.run(begin())
    content = (tmp_path / "node1/orders-0/partition.metadata").read_bytes()
    assert decode(content) == TOPIC_ID


def test_initial_controllers_are_the_same_set_on_each(tmp_path, node):
    named = f"1@127.0.0.1:9093:{DIRECTORIES[1]},2@127.0.0.1:9094:{DIRECTORIES[2]}"
    other = settings(tmp_path, node__id="2", log__dirs=str(tmp_path / "node2"))
    made = [formatted(each, initial_controllers=named) for each in (node, other)]
    assert voters_in(node) == voters_in(other)
    assert {f.replica.node_id: f.replica.directory_id for f in made} == DIRECTORIES


def test_an_observer_begins_with_nothing_but_its_name(node):
    made = formatted(node)
    assert len(made.voters) == 0
    assert read_identity(LocalDisk(), node.log_dir) == made.replica
    assert LocalDisk().names(node.log_dir) == ("meta.properties",)


def test_formatting_again_changes_nothing(node):
    first = formatted(node, standalone=True)
    with pytest.raises(UsageError, match="--ignore-formatted"):
        formatted(node, standalone=True)
    again = formatted(node, standalone=True, ignore_formatted=True)
    assert again.was_there
    assert again.replica == first.replica


def test_a_directory_of_another_cluster_is_refused(node):
    formatted(node)
    with pytest.raises(UsageError, match="belongs to node 1 of cluster AAAA"):
        format_node(LocalDisk(), node, new_uuid(), ignore_formatted=True)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("1@h:1", "is not id@host:port:directory.id"),
        (f"1@h:1:{DIRECTORIES[1]},1@h:2:{DIRECTORIES[2]}", "a node id occurs twice"),
        (f"2@h:1:{DIRECTORIES[2]}", "node 1 .* is none of them: add it"),
    ],
)
def test_wrong_controllers_are_refused(node, named, said):
    with pytest.raises(UsageError, match=said):
        formatted(node, initial_controllers=named)


def test_a_wrong_cluster_id_is_refused_with_a_good_one(node):
    with pytest.raises(UsageError, match=r"-t cluster: expected an id of 22 .* for example \S{22}"):
        format_node(LocalDisk(), node, "cluster")


def test_a_static_quorum_takes_no_first_voters(tmp_path):
    node = settings(
        tmp_path, log__dirs=str(tmp_path / "n"), controller__quorum__voters="1@127.0.0.1:9093"
    )
    with pytest.raises(UsageError, match=r"controller.quorum.voters makes the quorum static"):
        formatted(node, standalone=True)
    assert len(formatted(node).voters) == 0


def test_a_crash_before_the_name_leaves_a_directory_that_can_be_formatted(tmp_path, node):
    formatted(node, standalone=True)
    (tmp_path / "node1" / "meta.properties").unlink()
    assert len(formatted(node, standalone=True).voters) == 1


def test_a_node_on_a_directory_that_is_not_formatted_says_how_to_format_it(node):
    with pytest.raises(UsageError, match=r"is not formatted: `kraftlake replica format -c "):
        opened(node, print)
