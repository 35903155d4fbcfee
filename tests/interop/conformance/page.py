"""CONFORMANCE.md: its tables are made from recorded traces; the text between them is written by
hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from replica.node.rpcs import TRANSLATIONS
from replica.simulate.broken import INVARIANTS
from tests.interop.conformance.exchanges import Exchange, Trace
from tests.interop.conformance.judge import Outcome, Verdict, accused, judged, watermarks
from tests.interop.conformance.reasons import REASONS
from tests.interop.conformance.rules import check

PAGE = Path(__file__).parent.parent / "CONFORMANCE.md"
_SHOWN = 3
"""The most unexplained differences of an API that are shown."""


@dataclass
class Judged:
    """The result of a trace. counts: by API and outcome. reasons: the number of verdicts by name
    and API. examples: of differences, and of requests that ended Kafka's process. watermarks: as by
    judge.watermarks. accused: requests of Kafka's nodes that the core counts as illegal."""

    name: str
    requests: int
    unanswered: int
    left_out: int
    counts: Counter[tuple[str, Outcome]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    ended: list[Verdict] = field(default_factory=list)
    differing: list[Verdict] = field(default_factory=list)
    invariants: Mapping[str, int] = field(default_factory=dict)
    watermarks: tuple[int, int] = (0, 0)
    accused: list[Exchange] = field(default_factory=list)


def judge(name: str, trace: Trace, *, are_rules_kept: bool) -> Judged:
    """Judges a trace. are_rules_kept: whether only nodes send messages in it, so that the
    invariants must hold."""
    unanswered = sum(each.reply is None for each in trace.exchanges)
    left_out = sum(trace.left_out.values())
    found = Judged(name, len(trace.exchanges), unanswered, left_out)
    for verdict in judged(trace):
        api = api_of(verdict)
        found.counts[api, verdict.outcome] += 1
        if verdict.reason:
            found.reasons[verdict.reason, api] += 1
        if verdict.outcome is Outcome.ENDED:
            found.ended.append(verdict)
        if verdict.outcome is Outcome.DIFFERS:
            found.differing.append(verdict)
    found.watermarks, found.accused = watermarks(trace), accused(trace)
    if are_rules_kept:
        found.invariants = check(trace)
    return found


def api_of(verdict: Verdict) -> str:
    return TRANSLATIONS[type(verdict.exchange.request)].api.name


def tables(traces: Iterable[Judged]) -> str:
    """All tables of the traces."""
    found = tuple(traces)
    parts = ["## Answers\n", *(_answers(each) for each in found)]
    parts += ["## Differences that are allowed\n", _reasons(found)]
    ended = [each for trace in found for each in trace.ended]
    parts += ["## Requests that ended Kafka's process\n", _ended(ended)]
    parts += ["## Differences that nothing explains\n", _differing(found)]
    parts += ["## Invariants\n", _invariants(found)]
    return "\n".join(parts)


def _answers(trace: Judged) -> str:
    lines = [
        f"{trace.name}: {trace.requests:,} requests of the quorum's RPCs, {trace.unanswered:,} of "
        f"them without an answer; {trace.left_out:,} more that name another partition or can't be "
        f"read. Of {trace.watermarks[0]:,} high watermarks that were told, {trace.watermarks[1]:,} "
        "are exactly what the fetches that had come add up to; the others lie between that and "
        f"what the answered ones do. The core counts {len(trace.accused):,} requests of Kafka's "
        "nodes as illegal.\n",
        f"| API | judged | {' | '.join(each.value for each in Outcome)} |",
        f"|---|---{'|---' * len(Outcome)}|",
    ]
    for api in sorted({api for api, _ in trace.counts}):
        counts = [trace.counts[api, outcome] for outcome in Outcome]
        lines.append(f"| {api} | {sum(counts):,} | {' | '.join(f'{n:,}' for n in counts)} |")
    sums = [sum(n for (_, of), n in trace.counts.items() if of is outcome) for outcome in Outcome]
    lines.append(f"| all | {sum(sums):,} | {' | '.join(f'{n:,}' for n in sums)} |")
    return "\n".join([*lines, ""])


def _reasons(traces: tuple[Judged, ...]) -> str:
    lines = [
        "| reason | API | n | Kafka | kraftlake | why, and where |",
        "|---|---|---|---|---|---|",
    ]
    counts: Counter[tuple[str, str]] = Counter()
    for trace in traces:
        counts.update(trace.reasons)
    for (name, api), count in sorted(counts.items()):
        reason = REASONS[name]
        cells = (name, api, f"{count:,}", reason.kafka, reason.ours, reason.why)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _ended(verdicts: list[Verdict]) -> str:
    lines = ["| request | kraftlake answers |", "|---|---|"]
    for verdict in verdicts:
        lines.append(f"| {_request(verdict)} | {'; or '.join(verdict.ours)} |")
    return "\n".join([*dict.fromkeys(lines), ""])


def _differing(traces: tuple[Judged, ...]) -> str:
    verdicts = [each for trace in traces for each in trace.differing]
    if not verdicts:
        return "None.\n"
    lines = ["| request | Kafka | kraftlake |", "|---|---|---|"]
    shown: Counter[str] = Counter()
    for verdict in verdicts:
        api = api_of(verdict)
        shown[api] += 1
        if shown[api] <= _SHOWN:
            ours = "; or ".join(verdict.ours)
            lines.append(f"| {_request(verdict)} | {verdict.kafka} | {ours} |")
    return "\n".join([*lines, ""])


def _request(verdict: Verdict) -> str:
    """The request's fields in one line, without the cluster's name and endpoints."""
    request = verdict.exchange.request
    fields = {name: getattr(request, name) for name in request.__dataclass_fields__}
    hidden = ("cluster_id", "leader_endpoints", "endpoints", "max_wait_ms", "max_bytes")
    told = ", ".join(f"{n} {_plain(v)}" for n, v in fields.items() if n not in hidden)
    return f"{api_of(verdict)}: {told}"


def _plain(value: object) -> str:
    node_id = getattr(value, "node_id", None)
    return str(value) if node_id is None else f"node {node_id}"


def _invariants(traces: tuple[Judged, ...]) -> str:
    judged_in = [each for each in traces if each.invariants]
    lines = [
        f"| invariant | {' | '.join(each.name for each in judged_in)} |",
        f"|---{'|---' * len(judged_in)}|",
    ]
    names = [each for each in INVARIANTS if any(each in t.invariants for t in judged_in)]
    for name in names:
        counts = " | ".join(f"{each.invariants.get(name, 0):,}" for each in judged_in)
        lines.append(f"| {name}: {INVARIANTS[name]} | {counts} |")
    return "\n".join([*lines, ""])


def write(text: str) -> None:
    """Replaces everything after the first table's heading."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition("## Answers\n")
    PAGE.write_text(head + text, encoding="utf-8")
