"""Elections that nobody wins, by the files of fewer voters than a majority needs, where all others
were given."""

from __future__ import annotations

from pathlib import Path

from replica.doctor.quorum.conditions import NoLeader
from replica.doctor.verdict.evidence_of_directories import JudgedCluster, clusters_of, evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.outage import leader_lacked, with_verdict
from replica.doctor.verdict.verdict import Level, Verdict
from replica.simulate.metadata_records import topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.replica.doctor.check.editing import edit_quorum_state, judged

WITHOUT_WINNER = "elections-without-winner"


def quorum_of(voters: int) -> ScriptedQuorum:
    """A quorum of which node 2 leads."""
    made = ScriptedQuorum(f"failing elections of {voters}", Layout(voters=voters, observers=1))
    made.begin("orders")
    made.resign(1)
    made.elect(2)
    made.settle()
    return made


def stands_alone(quorum: ScriptedQuorum, folder: Path, *nodes: int, epochs: int = 12) -> None:
    """These nodes stand for election again and again, in the capture of this quorum."""
    write_capture(quorum.capture(), str(folder))
    epoch = quorum.nodes[1].host.raft.role.epoch  # type: ignore[union-attr]
    for node in nodes:
        edit_quorum_state(folder / str(node), leaderEpoch=epoch + epochs, leaderId=-1, votedId=node)


def verdict_in(folder: Path) -> tuple[JudgedCluster, Verdict]:
    (cluster,) = clusters_of(judged(folder, newest=True), {})
    return cluster, verdict_on(evidence_of(cluster))


def lose_one_after_the_other(quorum: ScriptedQuorum) -> None:
    """Node 3 is cut off, then the leader 2 ends."""
    quorum.crash(3)
    change_for_20_s(quorum)
    quorum.settle()
    quorum.crash(2)


def change_for_20_s(quorum: ScriptedQuorum) -> None:
    for number in range(40):
        quorum.commit(2, topic_config("orders", "retention.ms", str(number)))
        quorum.run_ms(500)


def test_a_voter_alone_shows_that_nobody_leads_if_no_other_log_goes_on(tmp_path: Path) -> None:
    quorum = quorum_of(3)
    lose_one_after_the_other(quorum)
    stands_alone(quorum, tmp_path, 1)
    cluster, verdict = verdict_in(tmp_path)
    assert verdict.level is Level.OUTAGE
    assert verdict.facts[0].rules == (WITHOUT_WINNER,)
    since = verdict.state.text.partition(",")[0]  # type: ignore[union-attr]
    assert verdict.headline == (
        "The quorum has no leader, and accepts no change: node 1 has stood for election in 12 "
        f"epochs since {since} and won none, and the logs of nodes 2 and 3 do not go on after its "
        "own: they are down, or can't reach it. No topic, config or registration changes, and no "
        "partition gets another leader: those whose leader is down stay without one."
    )
    assert verdict.next_steps[0].startswith(
        "Start node 2 first: its log holds all that node 1 holds, and with node 1 it is a "
        "majority. Then start node 3. Each starts with its own disk, not with an older copy; no "
        "disk has to be emptied."
    )
    assert leader_lacked(verdict.facts) == "no leader"
    assert cluster.cluster is not None
    judged_cluster = with_verdict(cluster.cluster, verdict)
    assert judged_cluster.no_leader == NoLeader(
        "has no leader, by the verdict",
        is_sure=True,
        first="start node 2 first: its log holds all that node 1 holds, and with node 1 it is a "
        "majority",
        down=frozenset({2, 3}),
    )
    told = " ".join(fact.with_step for fact in verdict.facts)
    assert "the quorum stops when one of them stops" not in told, "it stands still already"


def test_with_four_voters_two_more_make_a_majority(tmp_path: Path) -> None:
    quorum = quorum_of(4)
    lose_one_after_the_other(quorum)
    quorum.crash(4)
    stands_alone(quorum, tmp_path, 1)
    _, verdict = verdict_in(tmp_path)
    assert verdict.facts[0].rules == (WITHOUT_WINNER,)
    assert verdict.next_steps[0].startswith(
        "Start nodes 2 and 4 first: their logs hold all that node 1 holds, and with node 1 they "
        "are a majority. Then start node 3."
    )


def test_the_longest_logs_start_first_also_where_one_of_them_lacks_the_last_record(
    tmp_path: Path,
) -> None:
    quorum = quorum_of(5)
    quorum.crash(3, 4)
    change_for_20_s(quorum)
    quorum.crash(5)
    quorum.append(2, topic_config("orders", "retention.ms", "9"))
    quorum.run_ms(600)
    quorum.crash(2)
    stands_alone(quorum, tmp_path, 1)
    _, verdict = verdict_in(tmp_path)
    assert verdict.facts[0].rules == (WITHOUT_WINNER,)
    assert verdict.next_steps[0].startswith(
        "Start nodes 2 and 5 first: with node 1 they are a majority. Then start nodes 3 and 4."
    )


def test_two_of_five_voters_are_no_majority_either(tmp_path: Path) -> None:
    quorum = quorum_of(5)
    quorum.crash(4)
    lose_one_after_the_other(quorum)
    stands_alone(quorum, tmp_path, 1, 5)
    _, verdict = verdict_in(tmp_path)
    assert verdict.headline.startswith(
        "The quorum has no leader, and accepts no change: nodes 1 and 5 have stood for election in "
        "12 epochs since "
    )
    assert "and nobody won, and the logs of nodes 2, 3 and 4 do not go on" in verdict.headline
    assert verdict.next_steps[0].startswith(
        "Start node 2 first: its log holds all that nodes 1 and 5 hold, and with nodes 1 and 5 it "
        "is a majority. Then start nodes 3 and 4."
    )


def test_a_log_that_goes_on_is_that_of_a_leader_and_the_voter_is_only_cut_off(
    tmp_path: Path,
) -> None:
    quorum = quorum_of(3)
    quorum.cut([1])
    for number in range(6):
        quorum.commit(2, topic_config("orders", "retention.ms", str(number)))
        quorum.run_ms(500)
    stands_alone(quorum, tmp_path, 1)
    _, verdict = verdict_in(tmp_path)
    (fact,) = (one for one in verdict.facts if WITHOUT_WINNER in one.rules)
    assert fact.level is Level.ATTENTION
    assert leader_lacked(verdict.facts) == "perhaps no leader"


def test_a_voter_whose_log_can_not_be_read_to_its_end_may_have_led(tmp_path: Path) -> None:
    quorum = quorum_of(3)
    lose_one_after_the_other(quorum)
    stands_alone(quorum, tmp_path, 1)
    (tmp_path / "2" / "__cluster_metadata-0" / "quorum-state").unlink()
    _, verdict = verdict_in(tmp_path)
    (fact,) = (one for one in verdict.facts if WITHOUT_WINNER in one.rules)
    assert fact.level is Level.ATTENTION
