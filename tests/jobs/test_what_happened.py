"""`kraftlake what-happened`: a verdict, decisive events and next steps, on one page."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import pytest

from replica.simulate.metadata_records import create_topic, topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import edit_quorum_state

DYNAMIC, NEW = "kafka-4.1.1-dynamic", "kafka-4.4.0-dynamic"
pytestmark = pytest.mark.usefixtures("recorded")


def test_an_incident_is_told_on_one_page(kraftlake: Kraftlake) -> None:
    ended = kraftlake("what-happened", f"{DYNAMIC}/split")
    assert (ended.code, ended.err) == (1, "")
    assert len(ended.lines) <= 35
    assert ended.lines[0] == kraftlake("check", "-q", f"{DYNAMIC}/split").lines[0]
    told = ended.lines.index("Events:")
    to_do = ended.lines.index("What to do:")
    assert ended.lines[told + 1] == (
        "  2 less grave or older events are left out: `kraftlake timeline` lists all"
    )
    events = [line.split()[3] for line in ended.lines[told + 2 : to_do - 1]]
    assert events == [
        "topic", "voters", "voters", "topic", "divergence:", "elections:", "restarted:", "broker",
        "outage:", "topic", "config", "topic",
    ]  # fmt: skip
    times = [line[:25] for line in ended.lines[told + 2 : to_do - 1]]
    assert times == sorted(times)
    first, second = ended.lines[to_do + 1 :]
    assert first == (
        "  1. Start broker 11, or find out why it can't reach the controllers. If it crashed, its "
        "start may bring no leader back; from an empty disk it may bring a leader without any "
        "record. Run no unclean election before: it may lose data."
    )
    assert second.startswith("  2. No log here goes on after 2026-11-21 03:20:10 UTC. Nodes 1 and ")


@pytest.mark.parametrize("nodes", [f"{DYNAMIC}/split", f"{NEW}/split"])
def test_the_first_ten_lines_tell_what_is_wrong_what_to_do_and_what_led_to_it(
    kraftlake: Kraftlake, nodes: str
) -> None:
    lines = kraftlake("what-happened", nodes).lines[:10]
    begin = lines.index("What happened:")
    assert 1 < begin < 4, "below the headline and its first step"
    told = list(takewhile(lambda line: line.startswith("  20"), lines[begin + 1 :]))
    assert 1 <= len(told) <= 5
    assert all(len(line) <= 160 for line in told)
    assert told == sorted(told), "the newest is the last"
    assert not [line for line in told if re.search("config set|topic created", line)]


def test_the_story_is_of_what_led_to_the_outage(kraftlake: Kraftlake) -> None:
    lines = kraftlake("what-happened", f"{DYNAMIC}/split").lines
    begin = lines.index("What happened:") + 1
    assert [line[31:] for line in lines[begin : begin + 5]] == [
        "voters changed: voters 1 (w1rJ2UULXXXZu6RS0Vk1kg) added; now 1, 2, 3",
        "divergence: nodes 2 and 11 held 22 records from offset 1526 on that the agreed branch "
        "lacks; the branch has epoch 6 there",
        "elections: 4 in 48.8 s: node 3 leads epoch 6 after node 2, by the votes of nodes 1 and 3"
        "...",
        "broker fenced: broker 11 left 933 partitions without leader (add-147-0-0, add-147-0-1, "
        "add-147-0-2 and 930 more)...",
        "outage: 933 partitions had no leader and still have none",
    ]


def test_a_healthy_cluster_has_nothing_to_do(kraftlake: Kraftlake) -> None:
    lines = kraftlake("what-happened", f"{NEW}/final").lines
    assert lines[0].startswith("HEALTHY     ")
    assert "What to do:" not in lines


def test_a_lost_majority_is_told_with_what_a_start_may_discard(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    quorum = ScriptedQuorum("lost majority", Layout(voters=5, observers=1))
    quorum.begin("orders")
    quorum.settle()
    quorum.crash(2, 3, 4, 5)
    quorum.append(1, create_topic("ghost", (6,)))
    quorum.run_ms(600)
    quorum.append(1, topic_config("orders", "retention.ms", "2"))
    write_capture(quorum.capture(), str(tmp_path / "nodes"))
    ended = kraftlake("what-happened", tmp_path / "nodes")
    assert "of topics ghost and orders) are on 1 of 5 voters (1)" in ended.lines[0]
    first, end = (ended.lines.index(one) for one in ("Events:", "What to do:"))
    lines = ended.lines[first + 1 : end - 1]
    asked_for = "config set: ", "topic created: "
    (event,) = (one for one in lines if not any(each in one for each in asked_for))
    assert "majority stopped: voters 2, 3, 4 and 5 had stopped before the change at offset" in event
    row = kraftlake("what-happened", "--json", tmp_path / "nodes").rows[-2]
    assert (row["kind"], row["voters"]) == ("majority_stopped", [2, 3, 4, 5])
    (kept,) = re.findall(r"before the change at offset (\d+)", event)
    assert row["offset"] == int(kept)


def test_failing_elections_are_told_after_the_last_record(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """Of three voters one is left, and stands for election again and again."""
    quorum = ScriptedQuorum("failing elections", Layout(voters=3, observers=2))
    quorum.begin("orders")
    write_capture(quorum.capture(), str(tmp_path))
    nodes = [tmp_path / node for node in ("1", "4", "5")]
    for node, epoch in zip(nodes, (20, 14, 13), strict=True):
        edit_quorum_state(node, leaderEpoch=epoch, leaderId=-1, votedId=1 if epoch == 20 else -1)
    told = kraftlake("what-happened", *nodes)
    assert "(epoch 20, the log's last batch has epoch " in told.lines[0]
    assert ", and nodes 4 and 5 saw no leader either." in told.lines[0]
    in_short, event = (line for line in told.lines if " elections without winner: " in line)
    assert event.startswith(in_short.removesuffix("..."))
    assert " nodes 1, 4 and 5 know of no election that was won after offset " in event
    assert ": node 1 is in epoch 20 and voted for itself, node 4 is in epoch 14 and node 5" in event
    last = kraftlake("timeline", *nodes).lines[-1]
    assert last.split()[1] == "elections_without_winner"
    assert event.partition(": ")[2] in last.replace("  ", " ")


def test_where_no_event_led_to_the_verdict_the_page_says_so(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    write_capture(SCENARIOS_BY_NAME["replaced-disk"].capture(), str(tmp_path / "nodes"))
    lines = kraftlake("what-happened", tmp_path / "nodes" / "2").lines
    heading = "What happened: these logs show no event that led to it, but late changes:"
    begin = lines.index(heading) + 1
    told = [line for line in lines[begin : begin + 5] if line.startswith("  20")]
    assert {line[31:].partition(":")[0] for line in told} == {
        "config set", "topic created",
    }  # fmt: skip


def test_several_captures_are_one_story_with_the_verdict_of_the_newest(
    kraftlake: Kraftlake,
) -> None:
    ended = kraftlake("what-happened", "--order", "live,split,final", NEW)
    assert ended.lines[0] == kraftlake("check", "-q", f"{NEW}/final").lines[0]
    assert any(" truncation: " in line for line in ended.lines), "the ghosts are gone in the end"


def test_json_says_of_each_line_what_it_is(kraftlake: Kraftlake) -> None:
    rows = kraftlake("what-happened", "--json", f"{DYNAMIC}/split").rows
    assert [row["kind"] for row in rows] == [
        "verdict", *["event"] * 19, "outage", "changes",
    ]  # fmt: skip
    assert rows[0]["level"] == "outage"
    last = rows[-2]
    assert (last["ended"], last["most"]) == (None, 933)
    assert rows[-1]["last_hour"].keys() == {"topic", "config", "acl", "scram"}
    (verdict,) = kraftlake("check", "--json", f"{DYNAMIC}/split").verdicts
    assert rows[0] == verdict


@pytest.mark.parametrize(
    "nodes", [f"{DYNAMIC}/split", f"{NEW}/final", f"{NEW}/final/1", "kafka-3.7.2-static/final/2"]
)
def test_the_exit_code_is_that_of_check(kraftlake: Kraftlake, nodes: str) -> None:
    for words in ((), ("--json",)):
        assert kraftlake("what-happened", *words, nodes).code == kraftlake("check", nodes).code


def test_times_are_those_of_the_zone(kraftlake: Kraftlake) -> None:
    lines = kraftlake("what-happened", "--tz", "Europe/Berlin", f"{DYNAMIC}/split").lines
    assert any(line.startswith("  2026-11-21 04:20:05.122 +01:00  outage: ") for line in lines)


def test_bad_input_gives_one_line(kraftlake: Kraftlake) -> None:
    assert "no such file" in kraftlake("what-happened", "nowhere").error
    ended = kraftlake("what-happened", "--cluster", "other", f"{DYNAMIC}/split")
    assert ended.error == "--cluster other: the directories are of Lr3UIdBxT-GFPYE5uprmrg"
    assert "are captures of the same replica" in kraftlake("what-happened", DYNAMIC).error


def test_a_page_has_one_form_of_times_and_options_take_it(kraftlake: Kraftlake) -> None:
    told = kraftlake("what-happened", f"{DYNAMIC}/split").out
    times = re.findall(r"\d{4}-\d\d-\d\d.\d\d:\d\d:\d\d(?:\.\d+)? ?\S+", told)
    assert len(times) > 9
    for time in times:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})? UTC\W?", time), time
    at = times[-1].rstrip(").,")
    assert kraftlake("state", "--at-time", at, "--entity", "feature", f"{DYNAMIC}/split").code == 0


def test_what_is_left_out_of_the_page_is_where_the_page_says(kraftlake: Kraftlake) -> None:
    told = kraftlake("what-happened", f"{NEW}/final").out
    assert "(-v lists them)" not in told, "what-happened has no -v"
    assert "(`kraftlake check -v` lists them)" in told
