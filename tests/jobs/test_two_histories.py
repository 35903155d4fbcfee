"""Where there are two histories, no command leads to a start, and each names both."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Ended, Kraftlake
from tests.jobs.two_histories import two_histories, with_folders
from tests.replica.doctor.check.editing import append, batches, metadata, segment, set_value

SIDES = "nodes 1, 2, 4 and 5 against node 3: their logs differ from offset 20 on"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_folders(two_histories(tmp_path_factory.mktemp("two-histories") / "nodes"))


@pytest.mark.parametrize(
    "change",
    [
        ("--roll",), ("--stop-broker", "4"), ("--decommission", "4"), ("--upgrade", "4.2"),
        ("--remove-voter", "3"), ("--to-dynamic",),
    ],
)  # fmt: skip
def test_no_change_is_planned_before_a_history_is_chosen(
    kraftlake: Kraftlake, nodes: Path, change: tuple[str, ...]
) -> None:
    ended = kraftlake("plan", "--json", *change, nodes)
    (answer,) = ended.answers
    assert (ended.code, answer["answer"], answer["needs"], answer["order"]) == (
        3,
        "unknown",
        [],
        [],
    )
    (reason,) = answer["reasons"]
    assert SIDES in reason["detail"]
    (first,) = answer["first"]
    assert first.startswith("start no node and change nothing: `kraftlake recover --plan`")


def test_no_step_of_the_verdict_starts_a_node_and_the_brokers_disks_are_copied(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    ended = kraftlake("check", "--json", nodes)
    (verdict,) = ended.verdicts
    (step,) = verdict["next_steps"]
    assert step.startswith("Start no node, neither a controller nor a broker, before ")
    assert "First copy the whole disks of all nodes, the brokers' too" in step
    assert "Nodes 4 and 5 hold 2 folders *-delete of topic orders, which a started" in step
    assert "(file.delete.delay.ms)" in step
    assert "Nodes 4 and 5 hold 2 folders *-stray of topic fares" in step
    found = [one for one in ended.findings if one["severity"] != "info"]
    assert [one["rule"] for one in found] == ["conflict"] * 5
    assert {one["offset"] for one in found} == {20}, "the first offset at which they differ"


def test_it_is_said_whose_disks_were_put_back_and_which_history_was_there_before(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    assert (
        "By the log of node 3 nodes 1 and 2 led or voted in epochs 2, 3, 5 and 6 of that history, "
        "which their logs lack: their disks were put back to older copies, and the history of node "
        "3 is the one that was there before."
    ) in kraftlake("recover", "--plan", nodes).lines[0]


def test_the_time_of_the_state_is_beside_that_of_the_other_history(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    lines = kraftlake("check", nodes).lines
    (told,) = (line for line in lines if line.startswith("as of"))
    assert "offset 28 of node 3. The other history ends at 2026-01-01 00:00:5" in told
    assert "offset 45 of node " in told


def test_what_happened_tells_of_each_history_in_the_order_of_time(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    lines = kraftlake("what-happened", nodes).lines
    begin, end = lines.index("Events:"), lines.index("What to do:")
    told = lines[begin + 1 : end - 1]
    times = [line.strip()[:23] for line in told if line.startswith("  20")]
    assert times == sorted(times)
    for what, whose in (
        ("topic deleted: orders", "node 3"),
        ("topic recreated: orders", "node 3"),
        ("topic created: refunds", "nodes 1, 2, 4 and 5"),
    ):
        (line,) = (one for one in told if what in one)
        assert line.endswith(f", in the history of {whose}")
    for line in told:
        if "leads epoch" in line and "leads epoch 1" not in line:
            assert ", in the history of " in line


@pytest.mark.parametrize("side", ["1", "3"])
def test_a_shutdown_in_the_other_history_is_known_too(
    kraftlake: Kraftlake, nodes: Path, tmp_path: Path, side: str
) -> None:
    copy = Path(shutil.copytree(nodes, tmp_path / "nodes"))
    log = max((copy / side / "__cluster_metadata-0").glob("*.log"))
    broker = {"brokerId": 9, "brokerEpoch": 90}
    append(log, metadata("REGISTER_BROKER_RECORD", **broker, fenced=False))
    for fields in ({"inControlledShutdown": 1}, {"fenced": 1}, {"fenced": -1}):
        change = new_record("BROKER_REGISTRATION_CHANGE_RECORD", 1, {**broker, **fields})
        append(log, encode(change), later_ms=500)
    rows = kraftlake("timeline", "--json", "--event", "broker_*fenced", copy).rows
    told = [(one["event"], one["detail"]) for one in rows if one["name"] == "broker 9"]
    assert told == [
        ("broker_fenced", "had asked for its shutdown 0.5 s before"),
        ("broker_unfenced", "came back without a restart, 0.5 s after it was fenced"),
    ]


def test_a_changed_file_is_no_disk_that_was_put_back(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    """The same holds of disks that were formatted anew under one cluster id."""
    shutil.copytree(data / "kafka-4.1.1-dynamic/final", tmp_path / "changed")
    path = segment(tmp_path / "changed/11", 2722)
    set_value(path, batches(path)[-1], lambda value: value[:-1] + b"\x01")
    anew = tmp_path / "anew"
    write_capture(SCENARIOS_BY_NAME["lost-disks"].capture(), str(anew))
    for given in (tmp_path / "changed", anew):
        told = kraftlake("check", given).out
        assert "two histories under one cluster id" in told
        assert "put back" not in told


def test_recover_copies_whole_disks_and_says_how_to_choose(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    out = kraftlake("recover", "--plan", nodes).out
    stop, copy, keep, compare, plan = (out.index(f"  {number}. ") for number in range(1, 6))
    assert "every broker" in out[stop:copy]
    assert "the whole disk of each node, the brokers' above all" in out[copy:keep]
    assert "*-delete of topic orders" in out[copy:keep]
    assert "kraftlake state --entity topic" in out[compare:plan]
    assert "# to go on with the history of node 3" in out[plan:]


def _histories(kraftlake: Kraftlake, given: Path) -> list[list[str]]:
    """The commands of the plan that list the changes of each history, without the program."""
    lines = [one.strip() for one in kraftlake("recover", "--plan", given).lines]
    return [shlex.split(one)[1:] for one in lines if one.startswith("kraftlake history --from")]


def test_recover_names_the_commands_that_list_what_each_history_alone_changed(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    commands = _histories(kraftlake, nodes)
    assert len(commands) == 2
    for words in commands:
        offsets = [row["offset"] for row in kraftlake(*words, "--json").rows]
        assert offsets
        assert min(offsets) >= 20, "none that both have"


def test_so_it_does_where_only_an_observer_holds_the_other_history(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / "kafka-4.1.1-dynamic/final", tmp_path / "changed")
    path = segment(tmp_path / "changed/11", 2722)
    set_value(path, batches(path)[-1], lambda value: value[:-1] + b"\x01")
    (one, other) = _histories(kraftlake, tmp_path / "changed")
    assert [one[2], other[2]] == [one[2]] * 2, "both batches have one time"
    assert "/11/" in "".join(one + other)


def test_the_exposure_is_that_of_no_history(kraftlake: Kraftlake, nodes: Path) -> None:
    ended = kraftlake("state", "--exposure", nodes)
    assert f"Not judged: there are two histories, {SIDES}. Choose" in ended.lines[1]
    assert "gone" not in ended.out
    in_json = kraftlake("state", "--exposure", "--json", nodes)
    assert in_json.answers == []


def test_recover_and_rehearse_call_neither_history_the_committed_one(
    kraftlake: Kraftlake, nodes: Path
) -> None:
    for asked in (("recover", "--plan"), ("rehearse", "--seeds", "0:2")):
        ended = kraftlake(*asked, nodes)
        assert SIDES in "\n".join(_head(ended))
        assert "proven" not in ended.out
        assert "committed," not in ended.out
        assert "the smallest set" not in ended.out


def _head(ended: Ended) -> list[str]:
    """The verdict and the answer in short."""
    return ended.lines[: ended.lines.index("") + 1]
