"""Where logs diverge: both branches, what is lost, and the pairs of replicas."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.html_text import Html, element
from pipelines.report.divergences import Parting
from pipelines.report.queries import MAX_PAIRS, SHOWN
from pipelines.report.sections.lost import NEVER
from pipelines.report.sections.pieces import (
    Column,
    details,
    head,
    more,
    number,
    records,
    section,
    sql,
    table,
)
from pipelines.report.source import Row
from pipelines.report.view import ClusterView, PartingView, parting_title
from replica.words import counted


def divergence(c: ClusterView) -> Html:
    e = c.evidence
    parts: list[Html] = [part for one in c.partings for part in _parting(c, one)]
    if not e.partings.rows:
        none = "No capture shows two nodes whose metadata logs differ where both have records."
        parts.append(element("p", none))
    else:
        parts.append(_pairs(c))
    return section(
        c.identity,
        "divergence",
        "Divergence",
        *parts,
        sql(e.partings.sql, "the divergences"),
        sql(e.relations.sql, "how the metadata logs of the newest capture relate"),
    )


def _parting(c: ClusterView, view: PartingView) -> Iterator[Html]:
    decoded = view.decoded
    parting = decoded.parting
    at = f"offset {parting.offset}"
    yield element("h4", parting_title(parting, c.names))
    yield element("p", _seen(c, parting))
    yield element("figure", view.drawing)
    if parting.losing:
        if any(one.superseded for one in parting.losing):
            yield element("p", NEVER)
        columns = (
            head("Loses", lambda one: f"node {c.names.name(one.replica)}"),
            number("Records", lambda one: one.records),
            number("Committed", lambda one: one.committed),
            number("Unknown", lambda one: one.unproven),
            number("Never committed", lambda one: one.superseded),
        )
        yield table(f"What is lost at {at}", parting.losing, columns)
    heads = [
        f"epoch {branch.epoch}, as on node {c.names.name(speaker)}"
        for branch, speaker in zip(parting.branches, decoded.speakers, strict=True)
    ]
    yield records(view.records[:SHOWN], heads, f"Records around {at}")
    folded = view.records[SHOWN:]
    if folded:
        title = f"Offsets {folded[0].offset} to {folded[-1].offset}"
        yield details(title, records(folded, heads, "Records that follow"))
    if view.more:
        how = ": raise the bounds in the SQL of the records." if decoded.records.sql else "."
        yield element("p", f"and {view.more} more offsets{how}", class_="more")
    yield sql(decoded.records.sql, f"the records around {at}")
    yield sql(decoded.heads.sql, f"who holds which branch at {at}")


def _seen(c: ClusterView, parting: Parting) -> str:
    raft = f"Both branches claim epoch {parting.branches[0].epoch}: no run of Raft leaves that. "
    newest = ", the newest captures"
    if not parting.is_latest:
        newest = "; the newest captures don't show it any more"
    conflict = raft if parting.is_conflict else ""
    return f"{conflict}Captured: {c.rounds.when(parting.captured_at)}{newest}."


def _pairs(c: ClusterView) -> Html:
    found = c.evidence.partings
    columns = (
        head("Nodes", lambda row: f"{row['node_a']}, {row['node_b']}"),
        Column("Relation", "relation"),
        number("Offset", "divergence_offset"),
        number("Epochs", lambda row: f"{row['epoch_a']}, {row['epoch_b']}"),
        Column("Truncates", _truncates),
        number("At offset", "truncation_offset"),
        number("Fetches until they agree", "fetch_rounds"),
        Column("Captured", lambda row: c.rounds.when(row["captured_at"]), "when"),
    )
    return details(
        f"{counted(found.total, 'pair')} of nodes whose metadata logs differ",
        table("Pairs that differ", found.rows[:MAX_PAIRS], columns),
        more(found.total - min(len(found.rows), MAX_PAIRS), "pairs", found.sql),
    )


def _truncates(row: Row) -> str:
    node = row["truncating_node"]
    return "unknown" if node is None else f"node {node}"
