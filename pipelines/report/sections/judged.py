"""What rules judge: snapshots, findings in files, the cluster's health, and its exposure."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.html_text import EMPTY, Html, element, joined, ticks
from pipelines.report.sections.pieces import (
    Column,
    code,
    details,
    head,
    more,
    number,
    quiet,
    section,
    sql,
    table,
)
from pipelines.report.source import Figure, Row, moment
from pipelines.report.view import ClusterView, HealthView, RuleView
from pipelines.report.words import bytes_text
from replica.doctor.verdict.outage import leader_lacked
from replica.words import counted, ms_text, time_text


def snapshots(c: ClusterView) -> Html:
    e = c.evidence
    found = e.snapshots
    none = element("p", "No capture holds a complete snapshot.")
    return section(
        c.identity,
        "snapshots",
        "Snapshots",
        _snapshots(c) if found.rows else none,
        sql(found.sql, "the snapshots"),
        sql(e.snapshot_counts.sql, "how many snapshots have which verdict"),
    )


def _snapshots(c: ClusterView) -> Html:
    found = c.evidence.snapshots
    bad = sum(row["verdict"] != "valid" for row in found.rows)
    well = f": all is well with {'it' if found.total == 1 else 'them'}"
    columns = (
        head("Node", c.name),
        number("End offset (exclusive)", "end_offset"),
        number("Epoch", "epoch"),
        Column("Verdict", lambda row: _tag(row["verdict"])),
        number("Size", lambda row: bytes_text(row["size_bytes"]), "number nowrap"),
        number("Records", "record_count"),
        Column("Last record it contains", _last_contained, "nowrap"),
        Column("Broken rules and notes", lambda row: _broken(c, row)),
        number("Captures", "seen"),
    )
    return details(
        f"{counted(found.total, 'snapshot')}{f', {bad} of them not valid' if bad else well}",
        table("Snapshots", found.rows, columns),
        more(found.more, "snapshots", found.sql),
        is_open=bad > 0,
    )


def _tag(text: str) -> Html:
    return element("span", text, class_=f"tag {text}")


def _last_contained(row: Row) -> str:
    return time_text(moment(row["last_contained_log_timestamp"]))


def _broken(c: ClusterView, row: Row) -> Html:
    found = [*(row["broken_rules"] or ()), *(row["notes"] or ())]
    if not found:
        return quiet("none")
    return element("ul", *(_evidence(c, one) for one in found), class_="evidence")


def _evidence(c: ClusterView, one: Row) -> Html:
    link = element("a", one["rule"], href=f"#{c.identity}-rule-{one['rule']}")
    byte = "" if one["position"] is None else f", byte {one['position']}"
    place = element("span", f"{one['file']}{byte}", class_="path")
    return element("li", link, f": {one['message']} ", place)


def findings(c: ClusterView) -> Html:
    e = c.evidence
    none = ("No rule of ", code("kraftlake check"), " found anything in any capture.")
    parts = [_rule(c, one) for one in c.rules] or [element("p", *none)]
    unread = (element("h4", "What could not be read"), *_damage(e.damage)) if e.damage.rows else ()
    return section(
        c.identity, "findings", "Findings", *parts, sql(e.findings.sql, "the findings"), *unread
    )


def _rule(c: ClusterView, one: RuleView) -> Html:
    columns = (
        head("Node", c.name),
        Column("File", "file", "path"),
        number("Byte", "position"),
        number("Offset", "offset"),
        number("Epoch", "epoch"),
        Column("What", "message"),
        Column("Captured", lambda row: c.rounds.when(row["captured_at"]), "when"),
    )
    now = f"{one.now}" if one.now else "none"
    told = f": {counted(one.findings, 'finding')}, {now} in the newest captures"
    return _finding(
        c,
        "rule",
        one,
        told,
        table(f"Findings of {one.id}", one.rows, columns),
        more(one.more, "findings of this rule", c.evidence.findings.sql),
    )


def _finding(c: ClusterView, kind: str, one: RuleView | HealthView, told: str, *parts: str) -> Html:
    rule = one.rule
    meaning = EMPTY
    if rule is not None:
        points = [("Meaning", rule.meaning), ("Kafka", rule.kafka), ("Next", rule.next_step)]
        if kind == "health":
            del points[1]
        elif rule.issues:
            points.append(("Seen in", ", ".join(rule.issues)))
        pairs = ((element("dt", name), element("dd", ticks(text))) for name, text in points)
        meaning = element("dl", *(part for pair in pairs for part in pair))
    return details(
        joined((_tag(one.severity), Html(" "), element("strong", one.id), told)),
        meaning,
        *parts,
        class_="finding",
        id=f"{c.identity}-{kind}-{one.id}",
        is_open=one.severity != "info",
    )


DAMAGE = (
    Column("File", "file", "path"),
    number("Byte", "position"),
    number("Bytes", "length"),
    Column("Kind", "kind"),
    Column("What", "detail"),
)


def _damage(found: Figure) -> Iterator[Html]:
    yield table("What could not be read", found.rows, DAMAGE)
    yield more(found.more, "places", found.sql)
    yield sql(found.sql, "what could not be read")


def unidentified(found: Figure) -> Html:
    """The section about damaged places in files that belong to no known node."""
    count = counted(found.total, "place")
    told = f"{count} in files that could not be given to a node; they are in no cluster above."
    columns = tuple(one for one in DAMAGE if one.head != "Bytes")
    return element(
        "section",
        element("h2", "Files of no known node", id="unidentified"),
        element("p", told),
        table("Files of no known node", found.rows, columns),
        more(found.more, "places", found.sql),
        sql(found.sql, "the files of no known node"),
        aria_labelledby="unidentified",
    )


def health(c: ClusterView) -> Html:
    e = c.evidence
    about = (
        "Of the cluster itself, by the newest state that its log tells. The verdict begins with it."
    )
    none = element("p", "No rule of health found anything.")
    if lacked := leader_lacked(e.facts):
        about += (
            f" The quorum has {lacked} by the verdict: until it has one, this state can't change, "
            "and the partitions that a failing broker leads get no other leader."
        )
    exposed = () if e.exposure is None else tuple(_exposure(c, e.exposure))
    return section(
        c.identity,
        "health",
        "Health and exposure",
        element("p", about),
        *([_of_health(c, one) for one in c.health] or [none]),
        sql(e.health.sql, "the cluster's health"),
        *exposed,
    )


def _of_health(c: ClusterView, one: HealthView) -> Html:
    subjects = [element("li", _subject(subject)) for subject in one.subjects]
    listed = element("ul", *subjects) if subjects else EMPTY
    return _finding(c, "health", one, f": {one.message}", listed)


def _subject(one: Row) -> str:
    offset = one.get("offset")
    return f"{one['name']}{'' if offset is None else f' (offset {offset})'}: {one['what']}"


def _exposure(c: ClusterView, found: Figure) -> Iterator[Html]:
    yield element("h4", "What one more failure would take away")
    if not found.rows:
        yield element(
            "p",
            "Nothing: no failure of a rack, a broker, two brokers or a voter would leave a "
            "partition without leader or below min.insync.replicas, or the quorum without its "
            "majority.",
        )
    else:
        columns = (
            head("Gone", _gone),
            number("Without leader", "leaderless"),
            number("Of them unclean election left", "needs_unclean"),
            number("Below min ISR", "below_min_isr"),
            Column("Voters left", _voters_left),
            Column("So since", _since, "when"),
        )
        yield table(f"Exposure of {c.cluster_id}", found.rows, columns)
        yield more(found.more, "failures", found.sql)
        unknown = found.rows[0]["min_isr_unknown"]
        if unknown:
            command = code("kraftlake state --exposure --broker-config server.properties")
            told = f"min.insync.replicas of {counted(unknown, 'partition')} is not in the log: "
            yield element("p", told, command, " counts them too.", class_="notice")
    yield sql(found.sql, "the exposure")


def _gone(row: Row) -> str:
    is_now = row["kind"] == "nothing"
    return "nothing: it is so now" if is_now else f"{row['kind']} {row['gone']}"


def _voters_left(row: Row) -> str:
    if row["voters_left"] is None:
        return ""
    return f"{row['voters_left']}{'' if row['has_majority'] else ', no majority'}"


def _since(row: Row) -> str:
    if row["since_offset"] is None:
        return "before what the logs show"
    at = row["since_ms"]
    return f"offset {row['since_offset']}{'' if at is None else f', {ms_text(at)}'}"
