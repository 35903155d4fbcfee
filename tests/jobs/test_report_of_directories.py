"""The report of directories that is made without a lake: it says what the lake's report says."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs import ingest
from jobs.cli.directories.reported.pages import report_of
from jobs.cli.sharing.report import source
from pipelines.lake import Lake
from pipelines.report.gathering import make_report
from pipelines.report.page import Report, render
from pipelines.report.source import Figure
from pipelines.report.view import ClusterView
from replica.message.schema import REDACTED
from replica.simulate.metadata_records import create_topic
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.pipelines.report.pages import GENERATED
from tests.pipelines.report.pages import report_of as report_of_lake
from tests.pipelines.report.reading import read_page, shortcomings
from tests.secret_log import SECRET, sound_log, write_node

SECTIONS = (
    "events", "state", "replicas", "epochs", "divergence", "truncations", "snapshots", "activity",
    "findings", "health",
)  # fmt: skip
CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic")


def made(*paths: Path, order: str = "") -> Report:
    report = report_of([*map(str, paths)], [*filter(None, order.split(","))], None)
    assert report is not None
    return report


def said(report: Report) -> dict[str, dict[str, Any]]:
    """The statements of a page, cluster by cluster."""
    return {one.cluster_id: dict(statements(one)) for one in report.clusters}


def statements(c: ClusterView) -> Iterator[tuple[str, Any]]:
    e = c.evidence
    yield "verdict", c.verdict.sentence
    yield "level", c.verdict.level
    yield "clauses", [one.text for one in c.verdict.clauses]
    yield "when", c.summary.when
    yield "impact", c.summary.impact
    yield "certainty", c.summary.confidence
    yield "steps", (c.next_steps, c.runbook)
    yield "refused", (c.summary.refused, c.summary.refused_step)
    yield "voters", c.voters
    leaders = ("epoch", "leader_id", "start_offset", "end_offset", "commitment", "started_at")
    yield "leaders by epoch", rows(e.leaders, *leaders, "last_written")
    log = ("log_start_offset", "log_end_offset", "last_epoch", "last_written_ms", "lag_records")
    yield "replicas", rows(e.replicas, "node_id", "directory_id", "first_offset", *log, "lag_ms")
    replica = ("node_id", "directory_id", "epoch", "leader_id", "is_told_elsewhere")
    yield "epochs", rows(e.epochs, *replica, "start_offset", "end_offset")
    yield "relations", rows(e.relations, "relation", "pairs")
    pair = ("node_a", "node_b", "relation", "divergence_offset", "truncating_node", "records_lost")
    yield "pairs", rows(e.partings, *pair, "committed_lost", "unproven_lost", "superseded_lost")
    yield (
        "losses",
        [
            (
                one.replicas,
                one.when,
                one.first,
                one.records,
                one.committed,
                one.unproven,
                one.is_kept,
            )
            for one in e.losses
        ],
    )
    yield "effects", [one.loss.effect for one in e.lost]
    yield (
        "lost types",
        [rows(one.types, "record_type", "records", "first_offset") for one in e.lost],
    )
    gone = ("node_id", "from_offset", "to_offset", "epochs", "records", "committed_lost")
    yield "truncations", rows(e.truncations, *gone, "unproven_lost", "superseded_lost")
    yield "branches", [one.records for one in c.partings]
    yield "truncated", [one.records for one in c.truncated]
    yield "findings", [(one.id, one.severity, one.now) for one in c.rules if one.now]
    yield "snapshots", rows(e.snapshots, "node_id", "end_offset", "epoch", "verdict", "size_bytes")
    yield "health", c.health
    assert e.exposure is not None
    exposure = ("kind", "gone", "leaderless", "needs_unclean", "below_min_isr", "voters_left")
    yield "exposure", rows(e.exposure, *exposure, "since_offset", "since_ms")
    yield (
        "activity",
        [
            (group.name, [(one.name, one.changes, one.first, one.last) for one in group.kinds])
            for group in c.activity
        ],
    )
    assert e.newest_changes is not None
    change = ("offset", "leader_epoch", "at", "change", "name", "old", "new", "commitment")
    yield "newest changes", (rows(e.newest_changes, *change), e.newest_changes.total)


def rows(figure: Figure, *names: str) -> list[tuple[Any, ...]]:
    return sorted(
        (tuple(row[name] for name in names) for row in figure.rows),
        key=lambda row: [*map(str, row)],
    )


@pytest.mark.slow
@pytest.mark.parametrize("what", ["kafka-4.4.0-dynamic", "ghost-writes", "figure-8"])
def test_a_lake_of_the_same_directories_says_the_same(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, what: str
) -> None:
    folder = data / what / "split"
    if not folder.exists():
        folder = tmp_path / "nodes"
        kraftlake("simulate", what, "-o", folder)
    lake = Lake(str(tmp_path / "lake"))
    ingest.fill([str(folder)], lake, None)
    of_lake = make_report(source(lake), cluster=None, version="1", generated_at=GENERATED)
    assert said(made(folder)) == said(of_lake)


@pytest.mark.slow
def test_a_lake_of_several_rounds_says_the_same(built_lake: Path, data: Path) -> None:
    folders = [data / one for one in CLUSTERS]
    assert said(made(*folders, order="live,split,final")) == said(report_of_lake(built_lake))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directories after records that were lost, and names that want to be markup."""
    folder = tmp_path_factory.mktemp("hostile") / "nodes"
    quorum = ScriptedQuorum("hostile", Layout(voters=3, observers=1))
    quorum.begin("orders")
    quorum.settle()
    quorum.crash(2, 3)
    quorum.append(1, create_topic("<script>alert(1)</script>&\u202e", (6,)))
    quorum.run_ms(600)
    write_capture(quorum.capture(), str(folder))
    return folder


def test_the_page_has_all_sections_and_a_hostile_name_is_text(nodes: Path) -> None:
    report = made(nodes)
    page = read_page(text := render(report))
    assert shortcomings(page) == []
    ids = {one.get("id") for _, one in page.tags}
    assert {f"c1-{name}" for name in SECTIONS} <= ids
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in text
    assert page.sql == []
    assert "The slider over every moment, and the SQL behind each figure, need one" in page.text
    assert len(page.named("script")) == 1


@pytest.mark.parametrize("content", [sound_log(), None], ids=["sound", "damaged"])
def test_no_secret_of_a_log_is_on_the_page(tmp_path: Path, content: bytes | None) -> None:
    """Nor where a log is damaged, whose records are not all known."""
    more = {} if content is None else {"content": content, "with_snapshot": False}
    page = render(made(write_node(tmp_path / "1", **more)))
    assert page.count(REDACTED)
    secrets = (SECRET, base64.b64encode(SECRET.encode()).decode()[:8])
    assert not [secret for secret in secrets if secret in page]


def test_a_log_that_leads_nowhere_loses_to_the_newest_log_alone(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """Figure 8: node 2 holds the record at offset 20 as the newest log does, so it lacks only what
    follows, though it parts from the log of node 5 there. Behind an entry that lost, none is
    committed, also where the branch has ended."""
    kraftlake("simulate", "figure-8", "-o", tmp_path / "figure-8")
    (figure_8,) = made(tmp_path / "figure-8").clusters
    lags = {row["node_id"]: row["lag_records"] for row in figure_8.evidence.replicas.rows}
    assert lags == {1: 0, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2}
    kraftlake("simulate", "ghost-writes", "-o", tmp_path / "ghosts")
    (ghosts,) = made(tmp_path / "ghosts").clusters
    (loss,) = ghosts.evidence.losses
    changes = ghosts.evidence.newest_changes
    assert changes is not None
    beside = {row["commitment"] for row in changes.rows if row["leader_epoch"] == loss.epochs[0]
              and row["offset"] >= loss.first}  # fmt: skip
    assert beside == {"superseded"}
