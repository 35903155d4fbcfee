"""The leader epochs: in each replica's log, and over time."""

from __future__ import annotations

from pipelines.html_text import EMPTY, Html, element
from pipelines.report.queries import MAX_EPOCHS, MAX_LANES
from pipelines.report.sections.pieces import (
    Column,
    details,
    head,
    keys,
    mark,
    more,
    not_drawn,
    number,
    section,
    sql,
    table,
)
from pipelines.report.source import Row, moment
from pipelines.report.view import ClusterView
from replica.words import counted, time_text


def epochs(c: ClusterView) -> Html:
    e = c.evidence
    told = (
        "Blocks are leader epochs; equal fills are equal leaders. A gray block stands for several "
        "short epochs. Blocks with dotted edges are older batches below the log start. ",
        mark("snapshot-key"),
        " snapshot at its end offset (a cross: invalid). ",
        mark("lost-key"),
        " records that were truncated, or are to be.",
    )
    over_time = (
        "The fills are those above. From an epoch's first record to the last one that any node "
        "holds of it. Two nodes at the same time: both wrote, each in its own epoch."
    )
    drawing = c.leader_drawing
    return section(
        c.identity,
        "epochs",
        "Epochs in each node's metadata log, by offset",
        element("figure", c.epoch_drawing, keys(c.fills), element("figcaption", *told)),
        not_drawn(len(e.replicas.rows) - MAX_LANES, "nodes", "the table above has all"),
        sql(e.epochs.sql, "the epochs of each node"),
        element("h3", "Who led when"),
        element("figure", drawing, element("figcaption", over_time)) if drawing else EMPTY,
        _table(c),
        sql(e.leaders.sql, "the leaders"),
    )


def _table(c: ClusterView) -> Html:
    found = c.evidence.leaders
    columns = (
        head("Epoch", "epoch", "number"),
        Column("Leader", lambda row: _or(row["leader_id"], "unknown")),
        number("First offset", "start_offset"),
        number("Next epoch from", lambda row: _or(row["end_offset"], "open")),
        Column("Started", lambda row: _time(row, "started_at"), "nowrap"),
        Column("Last record", lambda row: _time(row, "last_written"), "nowrap"),
        Column("Its first record is", "commitment"),
    )
    return details(
        f"{counted(len(found.rows), 'epoch')} as a table",
        table(f"Leader epochs of {c.cluster_id}", found.rows[-MAX_EPOCHS:], columns),
        more(len(found.rows) - MAX_EPOCHS, "earlier epochs", found.sql),
    )


def _or(value: int | None, otherwise: str) -> int | str:
    return otherwise if value is None else value


def _time(row: Row, name: str) -> str:
    return time_text(moment(row[name]))
