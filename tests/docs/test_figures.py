"""Each figure of "How we know that it is right" is the one that a record file has now.
REWRITE_FIGURES=1 writes them into the page."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from tests.docs import records
from tests.kraftlake_process import REPOSITORY

_PAGE = REPOSITORY / "docs/explanation/how-we-know.md"
_REWRITE = "REWRITE_FIGURES"
_FUZZ = "tests/fuzz/RESULTS.md"
_ROUNDS = "tests/interop/ROUNDS.md"
_PARTITIONS = "tests/interop/PARTITIONS.md"
_KILLS = "tests/fuzz/INGEST_KILLS.md"
_CAMPAIGN = "tests/replica/simulate/CAMPAIGN.md"
_SOAK = "tests/soak/SOAK.md"
_STATEMENTS = "tests/contradictions/RECORD.md"
_RECORDER = "tests/interop/recorder/RECORDER.md"

_NO_FIGURES = re.compile(
    r"```.*?```|`[^`]*`|\]\([^)]*\)|Kafka [\d.]+|largest log was one of 10 GB", re.DOTALL
)
"""Commands, names, links, releases, and what no record has."""

Figures = Mapping[str, object]


class Claim(NamedTuple):
    """What the page says. figures: what stands in the place of each {name}, by the records."""

    sentence: str
    figures: Callable[[], Figures]


def _replayed() -> Figures:
    found = records.rows(_FUZZ, "sequences", "snapshots alike")
    ends = [re.findall(r"\d+", row["sequences"]) for row in found]
    return {
        "sequences": sum(int(last) - int(first) + 1 for first, last in ends),
        "records": sum(records.number(row["records"]) for row in found),
    }


def _mixed() -> Figures:
    committed = records.total(_ROUNDS, "committed records")
    return {"rounds": records.total(_ROUNDS, "rounds"), "millions": round(committed / 1e6, 1)}


def _partitioned() -> Figures:
    return records.said(
        _PARTITIONS, "{rounds} rounds in {runs} runs, all with logs of the same bytes"
    )


def _starts() -> Figures:
    releases = [
        title for title in records.rows("tests/interop/STARTS.md", "case")[0] if "Kafka" in title
    ]
    cases = records.rows("tests/interop/STARTS.md", "case", *releases)
    return {"cases": len(cases)}


def _plans() -> Figures:
    return {"cases": len(records.rows("tests/interop/PREFLIGHT.md"))}


def _scenarios() -> Figures:
    return records.said(
        "tests/scenarios/COVERAGE.md",
        "{scenarios} scenarios: {shown} shown, {other} not applicable, {pending} pending.",
    )


def _broken_rules() -> Figures:
    return {"rules": len(records.rows(_CAMPAIGN, "the broken rule", "seeds"))}


def _specified() -> Figures:
    return records.said(_CAMPAIGN, "{rules} broken rules of the tests above that concern")


def _campaign() -> Figures:
    return records.said(
        _CAMPAIGN, "{runs} runs of {events} events, {forked} of them forked from others"
    )


def _kills() -> Figures:
    text = "{kills} ingests were killed on {lakes} lakes, up to {most} of them one after"
    return records.said(_KILLS, text)


def _killed_drivers() -> Figures:
    text = "{kills} of Spark's drivers were killed on {lakes} lakes, up to {most} of them one after"
    return records.said(_KILLS, text)


def _killed_executors() -> Figures:
    text = "{kills} executors and Python workers were killed during {ingests} ingests, up to"
    return records.said(_KILLS, text)


def _first_soak() -> Figures:
    first = records.rows(_SOAK, "leaders killed", "outcome")[0]
    messages = records.pattern("{messages} messages on the topic").search(first["outcome"])
    assert messages is not None
    return {
        "killed": first["leaders killed"],
        "minutes": first["minutes under load"],
        "records": first["records"],
        "messages": messages["messages"],
    }


def _failed_soak() -> Figures:
    return {"minutes": records.rows(_SOAK, "leaders killed", "outcome")[1]["minutes under load"]}


def _newest_soak() -> Figures:
    minutes = records.said(_SOAK, "{all} minutes in all, {minutes} of them under load")
    killed = records.said(_SOAK, "kills of leaders: {killed};")
    messages = records.said(_SOAK, "messages on the topic: {messages}")
    held = records.rows(_SOAK, "stage", "records or rows")[0]
    return {**minutes, **killed, **messages, "records": held["records or rows"]}


def _statements() -> Figures:
    sentence = (
        "{statements} statements: {right} right, {unknown} unknown, {hidden} hidden, {wrong} wrong."
    )
    clusters = records.said(_STATEMENTS, "{clusters} clusters in all")
    return {**records.said(_STATEMENTS, sentence), **clusters}


def _recorded() -> Figures:
    (of_all,) = (row for row in records.rows(_RECORDER, "rounds", "wrong") if row["Kafka"] == "all")
    return of_all


def _damaged() -> Figures:
    return {"segments": records.total(_FUZZ, "inputs", "disagreements, crashes, hangs")}


CLAIMS = (
    Claim("In {sequences} sequences with {records} records", _replayed),
    Claim("After {rounds} rounds and some {millions} million committed records", _mixed),
    Claim("After each of {rounds} rounds the logs were the same bytes", _partitioned),
    Claim("`plan` judged a change in {cases} cases", _plans),
    Claim("in {cases} cases, Kafka 3.9, 4.1 and 4.4 then did", _starts),
    Claim("They have {scenarios} scenarios: our tests show {shown} of these", _scenarios),
    Claim("and the other {other} don't apply here", _scenarios),
    Claim("In the simulator, {rules} tests each break one rule of the engine", _broken_rules),
    Claim("it finds {rules} of the broken rules by itself", _specified),
    Claim("The newest campaign had {runs} runs of {events} events", _campaign),
    Claim("{kills} ingests were killed with `kill -9`", _kills),
    Claim("up to {most} in a row on one lake", _kills),
    Claim("On all {lakes} lakes", _kills),
    Claim("its JVM, {kills} times at random moments, on {lakes} lakes", _killed_drivers),
    Claim(
        "{kills} executors and Python workers were killed during {ingests} ingests",
        _killed_executors,
    ),
    Claim(
        "For {minutes} minutes a Kafka 4.1 quorum was under load"
        " and lost its leader {killed} times",
        _first_soak,
    ),
    Claim("All {records} records of the leader's log", _first_soak),
    Claim("each of the {messages} changes was published once", _first_soak),
    Claim("The next run, {minutes} minutes four days later", _failed_soak),
    Claim(
        "a Kafka 4.4 quorum lost its leader {killed} times in {minutes} minutes:"
        " all {records} records arrived, with {messages} changes once each on the topic",
        _newest_soak,
    ),
    Claim(
        "Of {statements} statements that commands and tables made about {clusters} simulated"
        " clusters, {right} were right, {unknown} said that something isn't known, {hidden} were"
        " untrue where a disk was replaced and no file shows it, and {wrong} were wrong",
        _statements,
    ),
    Claim(
        "In {rounds} rounds on {clusters} such clusters {right} statements were right, {unknown}"
        " said that something isn't known, and {wrong} were wrong",
        _recorded,
    ),
    Claim("{segments} damaged segments from seeds", _damaged),
)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.sentence)
def test_a_figure_of_the_page_is_the_record_s(claim: Claim) -> None:
    figures = {name: _written(value) for name, value in claim.figures().items()}
    page = _PAGE.read_text(encoding="utf-8")
    found = list(records.pattern(claim.sentence).finditer(page))
    assert len(found) == 1, f"the page says not once: {claim.sentence}"
    if os.environ.get(_REWRITE):
        page = page[: found[0].start()] + _with(found[0], figures) + page[found[0].end() :]
        _PAGE.write_text(page, encoding="utf-8")
        return
    wrong = {
        name: (value, figures[name])
        for name, value in found[0].groupdict().items()
        if value != figures[name]
    }
    assert not wrong, f"the page has (figure, the record's figure): {wrong}; {_REWRITE}=1 mends it"


def test_no_figure_of_the_page_is_without_a_record() -> None:
    page = _PAGE.read_text(encoding="utf-8")
    for claim in CLAIMS:
        page = records.pattern(claim.sentence).sub("", page)
    assert re.findall(r".*\b\d.*", _NO_FIGURES.sub("", page)) == []


def _written(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _with(found: re.Match[str], figures: Mapping[str, str]) -> str:
    """The sentence with these figures, its lines broken where they were."""
    text, shift = found[0], found.start()
    for name in sorted(found.groupdict(), key=found.start, reverse=True):
        first, end = (at - shift for at in found.span(name))
        text = text[:first] + figures[name] + text[end:]
    return text
