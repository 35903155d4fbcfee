"""The replicas, each by its newest capture, and all captures."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.html_text import EMPTY, Html, element
from pipelines.report.sections.pieces import (
    Column,
    code,
    details,
    head,
    more,
    number,
    section,
    sql,
    table,
)
from pipelines.report.source import Row
from pipelines.report.view import ClusterView
from replica.doctor.quorum.log_ends import Behind
from replica.words import counted, ms_text


def replicas(c: ClusterView, build: str) -> Html:
    """The section about the replicas. build: the command that brings captures into the tables."""
    e = c.evidence
    rounds = counted(e.summary["groups"], "round")
    return section(
        c.identity,
        "replicas",
        "Nodes, each by its newest capture",
        element(
            "p",
            f"{counted(e.summary['captures'], 'capture')} in {rounds} (captures that were taken "
            f"together): {c.rounds.text}.",
        ),
        _untimed() if c.rounds.has_untimed else EMPTY,
        sql(e.rounds.sql, "the rounds"),
        _table(c),
        sql(e.replicas.sql, "the nodes"),
        _captures(c),
        *_unbuilt(c, build),
    )


def _untimed() -> Html:
    return element(
        "p",
        "Nothing tells when some rounds were captured, neither capture.json nor ",
        code("--captured-at"),
        ". They have the name that ",
        code("--order"),
        " gave them, or else the time at which they were read.",
    )


def _table(c: ClusterView) -> Html:
    columns = (
        head("Node", "node_id"),
        Column("Role", lambda row: c.role(row["node_id"])),
        number("Log start", "log_start_offset"),
        number("Oldest batch", "first_offset"),
        number("Log end (exclusive)", "log_end_offset"),
        number("Last epoch", "last_epoch"),
        Column("Last record", lambda row: ms_text(row["last_written_ms"]), "nowrap"),
        Column("Behind", _behind, "nowrap"),
        Column("Captured", lambda row: c.rounds.when(row["captured_at"]), "when"),
        Column("Directory id", "directory_id", "id"),
        Column("Captured from", "source", "path"),
    )

    def never_started(row: Row) -> Html:
        known = (columns[0].shown(row), columns[1].shown(row))
        told = columns[2]._replace(class_="").holding("formatted, never started", span=6)
        return element("tr", *known, told, *(one.shown(row) for one in columns[8:]))

    e = c.evidence
    others = map(never_started, e.never_started.rows)
    return table(f"Nodes of {c.cluster_id}", e.replicas.rows, columns, beside=others)


def _behind(row: Row) -> str:
    """How far a replica is behind, in the words of `check`; empty where it is unknown."""
    records, ms = row["lag_records"], row["lag_ms"]
    return "" if records is None else Behind(records, ms).text


def _captures(c: ClusterView) -> Html:
    found = c.evidence.captures
    columns = (
        Column("Captured", lambda row: c.rounds.when(row["captured_at"]), "when"),
        Column("Node", c.name),
        number("Log start", "log_start_offset"),
        number("Log end (exclusive)", "log_end_offset"),
        Column("Captured from", "source", "path"),
    )
    return details(
        "All captures",
        table(f"Captures of {c.cluster_id}", found.rows, columns),
        more(found.more, "captures", found.sql),
        sql(found.sql, "the captures"),
    )


def _unbuilt(c: ClusterView, build: str) -> Iterator[Html]:
    found = c.evidence.unbuilt
    if found.total:
        count = element("strong", counted(found.total, "capture"))
        how = (" not in the tables yet: ", code(build), " brings them in.")
        yield element("p", count, *how, class_="notice")
        yield sql(found.sql, "the captures that were not built")
