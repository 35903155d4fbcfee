"""The report: the clusters of a lake, each with its verdict and evidence, as one HTML page.

The page loads nothing from elsewhere: it has its styles and drawings, and a content security policy
forbids everything else. So a name in a log could not run as a script even if it were not escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from pipelines.html_text import EMPTY, Html, document, element, joined, packaged
from pipelines.lake import Lake
from pipelines.report import queries
from pipelines.report.sections.cluster import cluster
from pipelines.report.sections.first_page import summary
from pipelines.report.sections.judged import unidentified
from pipelines.report.sections.pieces import code
from pipelines.report.source import Figure
from pipelines.report.view import ClusterView
from replica.words import time_text

MAX_CLUSTERS = 10
"""The most clusters on one page; `--cluster` chooses one where there are more."""
_STATIC = "static"
"""The folder of styles and scripts in this package."""
_SCRIPTS = ("report.js", "travel_data.js", "travel_panels.js", "travel.js")


@dataclass(frozen=True)
class Report:
    """The content of a page."""

    lake: Lake | None
    """The lake; None for a page that is made of directories without a lake."""
    version: str
    generated_at: datetime
    clusters: tuple[ClusterView, ...]
    """The clusters on the page."""
    more: int
    """The number of other clusters in the lake."""
    unidentified: Figure
    of_directories: tuple[str, ...] = ()
    """The directories of which the page, or a lake for this page alone, is made; empty for a lake
    that stays."""
    way_to_a_lake: str = ""
    """How to install the packages that make a lake, for a page without a lake: a command line, or a
    clause that ends with one."""

    def command(self, *words: str) -> str:
        """A command of kraftlake on the lake; empty for a page without a lake."""
        return "" if self.lake is None else self.lake.command(*words)


def render(report: Report) -> str:
    """The page as HTML. It has no surrogates, so it can be encoded as UTF-8."""
    style = packaged(__package__, _STATIC, "report.css")
    script = joined(packaged(__package__, _STATIC, name) for name in _SCRIPTS)
    clusters = report.clusters
    several = len(clusters) > 1
    summaries = (summary(one, is_one_of_several=several) for one in clusters)
    many = " many-clusters" if len(clusters) > queries.MAX_SHOWN_IN_PRINT else ""
    main = element(
        "main",
        element("div", *summaries, class_=f"summary{many}"),
        *(cluster(one, report.command("build")) for one in clusters),
        unidentified(report.unidentified) if report.unidentified.total else EMPTY,
        id="main",
        tabindex=-1,
    )
    return document(
        f"KRaft metadata report: {', '.join(one.cluster_id for one in clusters)}",
        style,
        element("a", "Skip to the verdict", class_="skip", href="#main"),
        element("header", *_header(report)),
        main,
        element("footer", element("p", *_footer(report), class_="quiet")),
        script=script,
    )


def _header(report: Report) -> Iterator[Html]:
    yield element("h1", "KRaft metadata report")
    what = f"Lake {report.lake}"
    if report.of_directories:
        what = f"Directories {', '.join(report.of_directories)}"
    made = f"{what}, generated {time_text(report.generated_at)} by kraftlake {report.version}."
    secrets: tuple[str, ...] = (" Secrets are redacted.",)
    if report.lake is not None:
        as_there = " Secrets are as in the lake: redacted, unless it was filled with "
        secrets = (as_there, code("--keep-secrets"), ".")
    yield element("p", f"{made} Times are UTC.", *secrets, class_="quiet")
    buttons = (
        element("button", f"{what} all details", type="button", id=f"{what.lower()}-all")
        for what in ("Open", "Close")
    )
    yield element("p", joined(buttons, Html(" ")), class_="tools", hidden="")
    if report.more > 0:
        named = code("--cluster")
        yield element("p", f"and {report.more} more clusters: name one by ", named, class_="more")


def _footer(report: Report) -> Iterator[str]:
    if report.lake is None:
        yield from (
            "This page is made without a lake. The slider over every moment, and the SQL behind "
            "each figure, need one: ",
            code(report.way_to_a_lake),
            ". ",
        )
    elif report.of_directories:
        yield from ("Each figure has its SQL. ", code("kraftlake report --lake LAKE PATH..."))
        yield from (" keeps the lake, and ", code("kraftlake sql --lake LAKE -f FILE"))
        yield " asks it. "
    else:
        asks = code(report.command("sql", "-f", "FILE"))
        yield from ("Each figure has its SQL. Save it to a file and run ", asks, ". ")
    yield from (code("kraftlake explain RULE"), " says more about a finding, ")
    yield from (code("kraftlake dump"), " prints every record of a file.")
