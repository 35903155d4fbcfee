"""The RPCs of Kafka 4.4.0 controllers, recorded once, before our core as it is now.

tests/golden/rpcs: `faults-3` is a quorum of three under faults, `probes-3` one that was asked what
no node asks; so are `faults-static` and `probes-static`, whose voters were named by
controller.quorum.voters (kraft.version 0). `features-static` was asked about kraft.version before
and after these became dynamic. `python -m tests.interop.conformance` records longer ones.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from replica.model.keys import ZERO_UUID
from replica.raft.leader import voter_changes
from tests.interop.conformance.exchanges import Trace, load
from tests.interop.conformance.judge import Outcome, Verdict, accused, judged, watermarks
from tests.interop.conformance.page import api_of
from tests.interop.conformance.reasons import REASONS
from tests.interop.conformance.rules import check

_GOLDEN = Path(__file__).parents[2] / "golden" / "rpcs"
_STATIC = ("faults", "probes", "features")
_SINGLE_STATE = 0.9


@pytest.fixture(scope="module")
def faults() -> Trace:
    return load(_GOLDEN / "faults-3.jsonl.gz")


@pytest.fixture(scope="module")
def under_faults(faults: Trace) -> list[Verdict]:
    return list(judged(faults))


@pytest.fixture(scope="module")
def probed() -> list[Verdict]:
    return list(judged(load(_GOLDEN / "probes-3.jsonl.gz")))


@pytest.fixture(scope="module")
def static_voters() -> list[Verdict]:
    recordings = (load(_GOLDEN / f"{name}-static.jsonl.gz") for name in _STATIC)
    return [verdict for trace in recordings for verdict in judged(trace)]


def test_every_answer_of_kafka_is_the_core_s_or_differs_for_a_stated_reason(
    under_faults: list[Verdict], probed: list[Verdict], static_voters: list[Verdict]
) -> None:
    found = (*under_faults, *probed, *static_voters)
    differing = [each for each in found if each.outcome is Outcome.DIFFERS]
    assert not differing, differing[:3]


def test_most_answers_leave_the_core_one_state_and_no_choice(
    under_faults: list[Verdict], probed: list[Verdict], static_voters: list[Verdict]
) -> None:
    for verdicts in (under_faults, probed, static_voters):
        outcomes = Counter(each.outcome for each in verdicts)
        agreed = outcomes[Outcome.SAME] + outcomes[Outcome.POSSIBLE]
        assert outcomes[Outcome.SAME] > _SINGLE_STATE * agreed > 100


def test_static_voters_become_dynamic_ones_in_the_recording(static_voters: list[Verdict]) -> None:
    """The core has judged answers of both kinds of quorums, and of the change between them."""
    asked = [each for each in static_voters if api_of(each) == "DescribeQuorum"]
    named = {ZERO_UUID in each.kafka for each in asked if "voters" in each.kafka}
    assert named == {False, True}


def test_answers_about_kraft_version_are_judged(static_voters: list[Verdict]) -> None:
    """The answers are those of leaders that have heard of all voters, of one that has not yet, and
    of a follower; before kraft.version is raised, when it is, and afterwards."""
    found = [each for each in static_voters if api_of(each) == "UpdateFeatures"]
    agreed = (Outcome.SAME, Outcome.POSSIBLE)
    errors = Counter(each.kafka for each in found if each.outcome in agreed)
    assert errors["error NONE"] >= 2
    assert errors["error INVALID_UPDATE_VERSION"] > 10
    reasons = {each.reason for each in found if each.outcome is Outcome.ALLOWED}
    assert reasons == {"a version asked of another node", "the version that is in force"}


def test_a_core_that_raises_kraft_version_before_all_voters_have_told_is_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(voter_changes, "_learned_voters", lambda core: core.log.voters)
    verdicts = judged(load(_GOLDEN / "features-static.jsonl.gz"))
    wrong = [each for each in verdicts if each.outcome is Outcome.DIFFERS]
    assert {api_of(each) for each in wrong} == {"UpdateFeatures"}
    assert len(wrong) > 10


def test_kafka_s_controllers_keep_the_invariants_under_faults(faults: Trace) -> None:
    judged_by_name = check(faults)
    for name in ("one leader", "epochs", "votes", "log matching", "committed", "high watermark"):
        assert judged_by_name[name] > 10, name
    assert judged_by_name["voter sets"] > 2


def test_begin_quorum_epoch_is_answered_as_by_kafka_s_process(probed: list[Verdict]) -> None:
    """Leaders, followers and unattached nodes were asked: of older, equal and newer epochs, for
    other directories and other clusters, with endpoints and without."""
    found = [each for each in probed if api_of(each) == "BeginQuorumEpoch"]
    same = {each.kafka for each in found if each.outcome is Outcome.SAME}
    errors = {text.split(",")[0] for text in same}
    assert {"error NONE", "error FENCED_LEADER_EPOCH", "error INVALID_VOTER_KEY",
            "error INVALID_REQUEST", "error INCONSISTENT_CLUSTER_ID"} <= errors  # fmt: skip
    reasons = {each.reason for each in found if each.outcome is Outcome.ALLOWED}
    assert reasons == {"a negative epoch", "a leader that is no voter"}


def test_what_ends_a_process_of_kafka_s_is_refused_by_ours(probed: list[Verdict]) -> None:
    ended = [each for each in probed if each.outcome is Outcome.ENDED]
    assert {api_of(each) for each in ended} == {"BeginQuorumEpoch", "EndQuorumEpoch"}
    for each in ended:
        assert {text.split(",")[0] for text in each.ours} <= {"error INVALID_REQUEST"}


@pytest.mark.parametrize("name", ["faults-3", "faults-static", "probes-static", "features-static"])
def test_no_request_of_kafka_s_nodes_is_illegal_to_the_core(name: str) -> None:
    assert accused(load(_GOLDEN / f"{name}.jsonl.gz")) == []


def test_most_high_watermarks_are_what_the_fetches_add_up_to(faults: Trace) -> None:
    told, exact = watermarks(faults)
    assert told > 100
    assert exact > 0.75 * told


def test_each_reason_explains_an_answer_that_was_recorded(
    under_faults: list[Verdict], probed: list[Verdict], static_voters: list[Verdict]
) -> None:
    found = (*under_faults, *probed, *static_voters)
    assert {each.reason for each in found} - {""} == set(REASONS)
