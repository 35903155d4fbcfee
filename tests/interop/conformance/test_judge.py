"""The judge: our own core's answers are its own, and another core's are told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest

from replica.history.fetch import ValidPosition
from replica.model.kafka_errors import ErrorCode
from replica.raft import dispatch, election
from replica.raft.leader import replication
from replica.raft.roles import Follower
from tests.interop.conformance.exchanges import Trace
from tests.interop.conformance.judge import Outcome, Verdict, judged
from tests.interop.conformance.own_quorum import recorded

SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_our_own_answers_are_the_core_s_in_a_state_that_the_trace_allows(seed: int) -> None:
    verdicts = list(judged(recorded(seed)))
    outcomes = Counter(each.outcome for each in verdicts)
    assert not _differing(verdicts)
    assert outcomes[Outcome.SAME] > 20 * outcomes[Outcome.POSSIBLE]


def test_a_follower_that_grants_pre_votes_to_older_logs_is_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lax(role, candidate, **about):  # type: ignore[no-untyped-def]
        return isinstance(role, Follower) or grants(role, candidate, **about)

    grants = election.grants
    traces = _with(monkeypatch, election, "grants", lax)
    assert "VoteRequest" in _found(traces)


def test_a_leader_that_commits_what_nobody_has_fetched_is_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = replication.answer

    def early(core, request_id, request, decision):  # type: ignore[no-untyped-def]
        answer(core, request_id, request, decision)
        reply = core.outbox.effects.replies[-1]
        told = replace(reply.message, high_watermark=core.log.log_end)
        core.outbox.effects.replies[-1] = replace(reply, message=told)

    assert "FetchRequest" in _found(_with(monkeypatch, replication, "answer", early))


def test_a_leader_that_overlooks_divergence_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = _with(monkeypatch, replication, "validate_position", lambda *where: ValidPosition())
    assert "FetchRequest" in _found(traces)


def test_a_node_that_refuses_its_leader_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(core, request_id, request):  # type: ignore[no-untyped-def]
        core.refuse(request_id, request, ErrorCode.INVALID_REQUEST)

    traces = _with(monkeypatch, dispatch, "handle_begin", refusing)
    assert "BeginQuorumEpochRequest" in _found(traces)


def _with(monkeypatch: pytest.MonkeyPatch, place: object, name: str, value: object) -> list[Trace]:
    """What a core with this change says."""
    with monkeypatch.context() as changed:
        changed.setattr(place, name, value)
        return [recorded(seed) for seed in SEEDS]


def _found(traces: Iterable[Trace]) -> set[str]:
    """The requests that were answered otherwise."""
    return {
        type(each.exchange.request).__name__
        for trace in traces
        for each in _differing(judged(trace))
    }


def _differing(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return [each for each in verdicts if each.outcome in (Outcome.DIFFERS, Outcome.ALLOWED)]
