"""Lost records: what they would have changed, and what vanished between two captures."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.html_text import Html, element
from pipelines.report import meaning
from pipelines.report.evidence import Lost
from pipelines.report.queries import MAX_TYPES
from pipelines.report.sections.pieces import (
    Column,
    code,
    details,
    head,
    more,
    not_drawn,
    number,
    records,
    section,
    sql,
    table,
)
from pipelines.report.source import Row
from pipelines.report.view import ClusterView
from replica.words import counted, ms_range_text

NEVER = "Never committed: another record is proven committed at that offset."


def lost(c: ClusterView, build: str) -> Html:
    """The section about lost records, and what each loss would have changed. build: the command
    that fills the lake's tables of changes."""
    e = c.evidence
    parts = (part for one in e.lost for part in _loss(c, one, build))
    unnamed = len(e.losses) - len(e.lost)
    return section(
        c.identity,
        "lost",
        "Lost records, and what they would have changed",
        *parts,
        not_drawn(unnamed, "losses", "the sections below have them"),
    )


def _loss(c: ClusterView, one: Lost, build: str) -> Iterator[Html]:
    loss, effect = one.loss, one.loss.effect or meaning.Effect()
    who = c.names.nodes(loss.replicas, limit=5)
    where = f"from offset {loss.first} on"
    yield element("h4", f"{who[0].upper()}{who[1:]}: {counted(loss.records, 'record')} {where}")
    if effect.written_ms:
        yield element("p", f"Written {ms_range_text(*effect.written_ms)}.")
    limits = meaning.unknown_text(effect)
    if one.changes is None:
        yield element("p", "The lake has no typed changes: ", code(build), " makes them.")
    elif limits:
        yield element("p", f"Not all is known: {limits}.", class_="notice")
    elif not one.changes.rows:
        yield element("p", "None of these records makes a typed change.")
    if one.changes is not None and one.changes.rows:
        columns = (
            head("Change", _change),
            number("Count", "changes"),
            number("Made again later", "again"),
            Column("Such as", "example", "path"),
        )
        yield table(f"Changes of the lost records {where}", one.changes.rows, columns)
    yield element("p", f"Record types: {', '.join(map(_type, one.types.rows))}.")
    yield sql(one.types.sql, f"the record types of the lost records {where}")
    yield sql(one.written.sql, f"the times of the lost records {where}")
    if one.changes is not None:
        yield sql(one.changes.sql, f"the changes of the lost records {where}")


def _change(row: Row) -> str:
    return f"{row['change']}{' with its topic' if row['with_topic'] else ''}"


def _type(row: Row) -> str:
    version = "" if row["record_version"] is None else f" v{row['record_version']}"
    return f"{row['records']} {row['record_type']}{version}"


def truncations(c: ClusterView) -> Html:
    e = c.evidence
    parts: list[Html] = []
    if e.truncations.rows:
        parts += _truncations(c)
    else:
        parts.append(
            element(
                "p",
                "No record vanished from any node's metadata log between two captures, but for "
                "what retention deletes behind a snapshot.",
            )
        )
    parts.append(sql(e.truncations.sql, "the truncations"))
    return section(c.identity, "truncations", "Truncations", *parts)


def _truncations(c: ClusterView) -> Iterator[Html]:
    gone, types = c.evidence.truncations, c.evidence.truncated_types
    columns = (
        head("Node", c.name),
        number("Offsets", _offsets, "number nowrap"),
        number("Epochs", lambda row: ", ".join(map(str, row["epochs"]))),
        number("Records", "records"),
        number("Committed", "committed_lost"),
        number("Unknown", "unproven_lost"),
        number("Never committed", "superseded_lost"),
        Column("Last captured", lambda row: c.rounds.when(row["last_seen"]), "when"),
        Column("Seen to be gone", lambda row: c.rounds.when(row["seen_at"]), "when"),
    )
    yield element("p", NEVER)
    yield table("Truncations", gone.rows, columns)
    yield more(gone.more, "truncations", gone.sql)
    of_types = (
        head("Node", c.name),
        Column("Record type", "record_type"),
        number("Records", "records"),
        number("First offset", "first_offset"),
        number("Last offset", "last_offset"),
    )
    title = "What the truncated records were"
    yield table(title, types.rows[:MAX_TYPES], of_types, caption=title)
    yield more(len(types.rows) - MAX_TYPES, "types", types.sql)
    for one in c.truncated:
        yield details(
            f"The records, as node {c.name(one.row)} held them: offsets {_offsets(one.row)}",
            records(one.records, ["Record"], "Truncated records"),
            more(one.more, "records", one.sql),
            sql(one.sql, "the truncated records"),
        )
    yield sql(types.sql, "what the truncated records were")


def _offsets(row: Row) -> str:
    return f"{row['from_offset']} to {row['to_offset'] - 1}"
