"""The slider's moments as compact JSON, for static/travel_data.js: rising numbers as
differences, every text once, and lists of numbers instead of rows.

An object with
- offsets, times: of the steps, as differences. A time is null where it is unknown, and the next
  difference is from the last known time.
- texts: all texts, each once; elsewhere a text is its place among them.
- partitions, brokers: names (texts), states (as pipelines.report.travel.steps has them), moves:
  step (as a difference), entity and its state from this step on (-1: absent), one after the other.
- changes: steps (as differences), kinds, names, old and new (texts, -1: nothing), lost: pairs of a
  change's place and its epoch, for changes of superseded branches.
- epochs: epoch, leader, first offset, ms, 1 for an epoch that lost, ids of voters.
- branches: first offset, last offset or null, records, epochs, a sentence about the branch.
- judged: step, rule that chose it, findings (rule, severity, message, subjects), exposures (what
  is gone, partitions without leader, of them needing an unclean election, below min ISR, voters
  left, whether these are a majority), how many exposures there are.
- meanings: the meaning of each rule in `judged`. sampled: whether changes are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from pipelines.html_text import Html, in_script, visible
from pipelines.report.evidence import Evidence
from pipelines.report.losses import LostRecordCount, When
from pipelines.report.source import Row
from pipelines.report.travel.cluster_history import ClusterHistory, MomentJudgement
from pipelines.report.travel.steps import Followed, ms_of, partition_state
from pipelines.report.words import Names
from replica.doctor.health.exposure import NOTHING, Exposure
from replica.words import counted

LONGEST = 160
"""The most characters of a value; the tables have the whole value."""
MOST_TEXT = 16_000_000
"""The most characters of all texts of a cluster: values beyond this number are left out."""
MAX_SUBJECTS = 5
_OF_WHOLE_PARTITIONS = ("partition_created", "partition_deleted")
_FATES = {
    When.GONE: "were truncated",
    When.PENDING: "will be truncated",
    When.UNSEEN: "are on a branch that lost",
}


class _Texts:
    """Collects texts, each once. A text is known by its place among them."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self._left = MOST_TEXT

    def place(self, text: str | None) -> int:
        if text is None:
            return -1
        known = self.places.get(text)
        if known is None:
            shown = visible(text)
            if len(shown) > LONGEST:
                shown = f"{shown[:LONGEST]}…"
            if len(shown) > self._left:
                shown = "…"
            known = self.places.setdefault(shown, len(self.places))
            self._left -= len(shown) if known == len(self.places) - 1 else 0
        return known


def packed(history: ClusterHistory, evidence: Evidence, names: Names) -> Html:
    """The content of a script element of type application/json. Nothing in it can end that
    element."""
    steps, texts = history.steps, _Texts()
    places = {offset: place for place, offset in enumerate(steps.offsets)}
    told: dict[str, Any] = {
        "offsets": list(_differences(steps.offsets)),
        "times": list(_differences(steps.times)),
        "partitions": _followed(steps.partitions, texts),
        "brokers": _followed(steps.brokers, texts),
        "changes": _changes(history.changes.rows, places, texts),
        "epochs": [_epoch(row) for row in evidence.leaders.rows if row["start_offset"] is not None],
        "branches": [_branch(loss, names) for loss in evidence.losses],
        "judged": [_judged(one) for one in history.judgements],
        "meanings": {
            finding.rule.id: finding.rule.meaning
            for one in history.judgements
            for finding in one.findings
        },
        "sampled": history.is_sampled,
    }
    told["texts"] = list(texts.places)
    return in_script(told)


def _differences(numbers: Iterable[int | None]) -> Iterator[int | None]:
    last = 0
    for number in numbers:
        if number is None:
            yield None
        else:
            yield number - last
            last = number


def _followed(found: Followed, texts: _Texts) -> dict[str, Any]:
    moves: list[int] = []
    last = 0
    for move in found.moves:
        moves += (move.step - last, move.entity, move.after)
        last = move.step
    return {
        "names": [texts.place(name) for name in found.names],
        "states": [
            [visible(part) if isinstance(part, str) else part for part in state]
            for state in found.states
        ],
        "moves": moves,
    }


def _changes(rows: Iterable[Row], places: dict[int, int], texts: _Texts) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {
        name: [] for name in ("steps", "kinds", "names", "old", "new", "lost")
    }
    last = 0
    for number, row in enumerate(rows):
        step = places[row["offset"]]
        found["steps"].append(step - last)
        last = step
        found["kinds"].append(texts.place(row["change"]))
        found["names"].append(texts.place(row["name"]))
        for side in ("old", "new"):
            found[side].append(texts.place(_value(row, row[side])))
        if row["is_lost"]:
            found["lost"] += (number, row["leader_epoch"])
    return found


def _value(row: Row, text: str | None) -> str | None:
    """A short form of the value: for a whole partition the fields that the page shows, for a topic
    its id, for others the whole value. None where there is no value."""
    if text is None or row["entity"] not in ("partition", "topic"):
        return text
    try:
        value = json.loads(text)
        if row["entity"] == "topic":
            return f"id {value['topicId']}"
        if row["change"] not in _OF_WHOLE_PARTITIONS:
            return text
        leader, isr, replicas, *_ = partition_state(value)
    except (ValueError, KeyError, TypeError):
        return text
    return f"leader {leader}, in sync {_ids(isr)} of {_ids(replicas)}"


def _ids(found: Any) -> str:
    return f"[{','.join(map(str, found))}]"


def _epoch(row: Row) -> list[Any]:
    return [
        row["epoch"],
        row["leader_id"],
        row["start_offset"],
        ms_of(row["started_at"]),
        int(row["commitment"] == "superseded"),
        [voter["voter_id"] for voter in row["voters"] or ()],
    ]


def _branch(loss: LostRecordCount, names: Names) -> list[Any]:
    who = names.nodes(loss.replicas, limit=5)
    told = f"{counted(loss.records, 'record')} of {who} {_FATES[loss.when]}"
    return [loss.first, loss.drawn_to - 1, loss.records, list(loss.epochs), told]


def _judged(one: MomentJudgement) -> list[Any]:
    findings = [
        [
            finding.rule.id,
            finding.rule.severity.value,
            visible(finding.message),
            [[visible(s.name), visible(s.what)] for s in finding.subjects[:MAX_SUBJECTS]],
            len(finding.subjects),
        ]
        for finding in one.findings
    ]
    exposures = [
        [_gone(exposure), *exposure.harm, exposure.voters_left, exposure.has_majority]
        for exposure in one.exposures
    ]
    return [one.moment.step, one.moment.why.value, findings, exposures, one.harmful]


def _gone(exposure: Exposure) -> str:
    kind, gone = exposure.failure
    if kind == NOTHING:
        return "nothing: it is so already"
    return visible(f"{'brokers' if kind == 'pair' else kind} {' and '.join(gone)}")
