"""The details of one cluster: its sections in their order, and links to them."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.html_text import Html, element
from pipelines.report.sections.activity import activity
from pipelines.report.sections.divergence import divergence
from pipelines.report.sections.epochs import epochs
from pipelines.report.sections.journey import journey
from pipelines.report.sections.judged import findings, health, snapshots
from pipelines.report.sections.lost import lost, truncations
from pipelines.report.sections.pieces import section
from pipelines.report.sections.replicas import replicas
from pipelines.report.view import ClusterView


def cluster(c: ClusterView, build: str) -> Html:
    """The details of one cluster. build: the command that brings captures into the lake's
    tables."""
    sections = [*_sections(c, build)]
    links = (
        element("li", element("a", title, href=f"#{c.identity}-{name}"))
        for name, title, _ in sections
    )
    title = f"{c.identity}-title"
    return element(
        "article",
        element("h2", "Cluster ", element("span", c.cluster_id, class_="id"), id=title),
        element(
            "nav",
            element("ul", *links, class_="sections"),
            aria_label=f"Sections of {c.cluster_id}",
        ),
        *(content for _, _, content in sections),
        id=c.identity,
        aria_labelledby=title,
    )


def _sections(c: ClusterView, build: str) -> Iterator[tuple[str, str, Html]]:
    """(the name in links, the title, the content) of each section of the cluster."""
    if c.travel is not None:
        yield "travel", "Any moment", journey(c, c.travel)
    for one in c.beside:
        yield one.name, one.title, section(c.identity, one.name, one.title, one.content)
    yield "replicas", "Nodes", replicas(c, build)
    yield "epochs", "Epochs", epochs(c)
    if c.evidence.lost:
        yield "lost", "Lost records", lost(c, build)
    yield "divergence", "Divergence", divergence(c)
    yield "truncations", "Truncations", truncations(c)
    yield "snapshots", "Snapshots", snapshots(c)
    yield "activity", "Activity", activity(c)
    yield "findings", "Findings", findings(c)
    yield "health", "Health", health(c)
