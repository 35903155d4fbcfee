"""Metadata activity over time, and the newest changes."""

from __future__ import annotations

from pipelines.html_text import EMPTY, Html, element, joined
from pipelines.report.sections.pieces import (
    Column,
    details,
    head,
    json,
    more,
    number,
    section,
    sql,
    table,
)
from pipelines.report.source import Figure, Row, moment
from pipelines.report.view import ClusterView
from pipelines.report.words import duration_text
from replica.words import counted, time_text

ON_BRANCH = "on the branch that the nodes agree on."


def activity(c: ClusterView) -> Html:
    found, newest = c.evidence.activity, c.evidence.newest_changes
    none = element("p", f"No {'change' if found.typed else 'record'} {ON_BRANCH}")
    return section(
        c.identity,
        "activity",
        "Metadata activity over time",
        *(_drawn(c) if c.activity else (none,)),
        sql(found.figure.sql, "the activity"),
        _newest(newest) if newest is not None and newest.rows else EMPTY,
    )


def _drawn(c: ClusterView) -> tuple[Html, Html]:
    found = c.evidence.activity
    what = "Typed changes of entities"
    if not found.typed:
        what = "Records by type, as many as one node holds,"
    told = (
        f"{what} {ON_BRANCH} A bar is {duration_text(found.width)}; each lane has its own scale, "
        "and says how many its highest bar stands for. The kinds of each group are in the table."
    )
    kinds = [(group.name, kind) for group in c.activity for kind in group.kinds]
    columns = (
        head("Group", lambda one: one[0]),
        Column("Change" if found.typed else "Record type", lambda one: one[1].name),
        number("Count", lambda one: one[1].changes),
        number("First offset", lambda one: one[1].first),
        number("Last offset", lambda one: one[1].last),
    )
    return (
        element("figure", c.activity_drawing or EMPTY, element("figcaption", told)),
        details(
            f"{counted(len(kinds), 'kind')} as a table", table("Metadata activity", kinds, columns)
        ),
    )


def _newest(found: Figure) -> Html:
    columns = (
        head("Offset", "offset", "number"),
        Column("Time", lambda row: time_text(moment(row["at"])), "nowrap"),
        Column("Change", "change"),
        Column("Of", _entity),
        Column("From", lambda row: json(row["old"] or "")),
        Column("To", lambda row: json(row["new"] or "")),
        Column("Commitment", "commitment"),
    )
    return details(
        f"The newest {counted(len(found.rows), 'change')}",
        table("The newest changes", found.rows, columns),
        more(found.more, "changes", found.sql),
        sql(found.sql, "the newest changes"),
    )


def _entity(row: Row) -> Html:
    return joined((f"{row['entity']} ", element("span", row["name"], class_="path")))
