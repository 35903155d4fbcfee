"""The page of `kraftlake what-happened --html`: one file that has its style and loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from jobs.cli.clock import ZonedClock
from jobs.cli.directories.incident import Incident, IncidentEvent, incident_events
from jobs.cli.directories.story import decisive_few, in_short
from jobs.cli.directories.verdict_text import runbook_text
from pipelines.html_text import Html, document, element, joined, packaged, ticks
from replica.doctor.verdict.verdict import Verdict
from replica.installation import release
from replica.words import sentence, time_text


def incident_page(
    incidents: Sequence[Incident],
    above: Sequence[str],
    clock: ZonedClock,
    paths: Sequence[str],
) -> str:
    """The page, as HTML. above: lines about all clusters together, for the top of the page. paths:
    the paths that were examined."""
    made = f"Of {', '.join(paths)}, by kraftlake {release()} at {time_text(datetime.now(UTC))}."
    parts = [
        element("h1", "What happened"),
        element("p", made, class_="quiet"),
        *(element("p", ticks(line.strip())) for line in above if line.strip()),
        *(element("article", *_cluster(one, clock)) for one in incidents),
    ]
    names = [one.verdict.cluster_id or "" for one in incidents]
    title = f"What happened: {', '.join(filter(None, names))}"
    style = packaged("pipelines.report", "static", "report.css")
    return document(title, style, element("main", *parts))


def _cluster(incident: Incident, clock: ZonedClock) -> Iterator[Html]:
    level = incident.verdict.level.value
    yield element("section", *_headline(incident.verdict), class_=f"verdict {level}")
    told = incident_events(incident, clock)
    if told:
        few = decisive_few(told)
        yield element("h2", "What happened")
        yield _table(few, (in_short(one, clock) for one in few), clock)
    else:
        yield element("p", "These logs show no event that led to it.")
    yield from _besides(incident, clock)
    if told:
        yield element("h2", "Events")
        yield _table(told, (one.text for one in told), clock)
    steps = incident.verdict.next_steps
    if steps:
        yield element("h2", "What to do")
        yield element("ol", *(element("li", ticks(one)) for one in steps))
    unknown = [*(_gap(one.what, one.why, one.next_step) for one in incident.verdict.not_judged)]
    unknown += map(sentence, incident.gaps)
    if unknown:
        yield element("h2", "What is not known")
        yield element("ul", *(element("li", ticks(one)) for one in unknown))


def _headline(verdict: Verdict) -> Iterator[Html]:
    identity = element("span", verdict.cluster_id or "", class_="id")
    level = joined([verdict.level.shown, Html(" "), identity])
    yield element("p", level, class_=f"level {verdict.level.value}")
    yield element("p", verdict.headline, class_="sentence")
    if (held := verdict.read_first) is not None:
        yield element("p", ticks(f"First: {held.with_step}"))
    for fact in verdict.facts[:1]:
        if fact.next_step and fact is not held:
            yield element("p", ticks(f"Next: {fact.next_step}"))


def _besides(incident: Incident, clock: ZonedClock) -> Iterator[Html]:
    """The rest of the page's head, after the headline and its next step: the other facts, the
    runbook, the time of the state, and notes."""
    verdict = incident.verdict
    for fact in verdict.facts:
        if fact.text != verdict.headline:
            yield element("p", ticks(fact.text))
    if verdict.runbook is not None:
        yield element("p", ticks(f"Runbook {runbook_text(verdict.runbook)}."))
    if verdict.state is not None:
        yield element("p", f"As of {verdict.state.text}.", class_="quiet")
    for label, text in incident.beside(clock):
        yield element("p", ticks(f"{label.capitalize()}: {text}."), class_="quiet")


def _table(events: Sequence[IncidentEvent], texts: Iterable[str], clock: ZonedClock) -> Html:
    rows = (_row(one, text, clock) for one, text in zip(events, texts, strict=True))
    head = element("tr", element("th", "Time"), element("th", "Offset"), element("th", "Event"))
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("div", table, class_="scroll")


def _row(one: IncidentEvent, text: str, clock: ZonedClock) -> Html:
    place = "" if one.offset is None else str(one.offset)
    cells = element("td", clock.words(one.at), class_="nowrap"), element("td", place)
    return element("tr", *cells, element("td", text))


def _gap(what: str, why: str, step: str) -> str:
    return sentence(f"{what}, because {why}") + (f" {step}" if step else "")
