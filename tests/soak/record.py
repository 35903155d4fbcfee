"""SOAK.md: the results of a soak."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from tests.interop.kafka_jars import NEWEST
from tests.soak.commands import warnings
from tests.soak.course import HEAP, Story
from tests.soak.ends import LakeTables
from tests.soak.judging import Verdict, courses
from tests.soak.memory import RISE_BYTES, RISE_SHARE, WINDOW_S

RECORD = Path(__file__).with_name("SOAK.md")
_EARLIER = "\n## Earlier soaks\n"
"""The heading of the text about earlier soaks, which is written by hand."""


def text(story: Story, verdict: Verdict, folder: Path) -> str:
    """SOAK.md of the soak in `folder`."""
    parts = [_head(story), _result(story, verdict, folder)]
    if verdict.stages:
        parts += ["## What each stage held\n", _stages(verdict)]
    parts += ["## What had to hold\n", _checks(verdict), _about_memory(story), _memory(story)]
    parts += ["## Builds and disk\n", _builds(story), *_warned(folder)]
    return "\n".join(parts)


def earlier(record: Path) -> str:
    """The section about earlier soaks in a record, with its heading; "" where there is no record,
    or no such section."""
    written = record.read_text(encoding="utf-8") if record.exists() else ""
    _, heading, rest = written.partition(_EARLIER)
    return heading + rest


def _head(story: Story) -> str:
    plan = story.plan
    return f"""# Soak: from a live quorum to a topic

`python -m tests.soak --minutes {plan.minutes:g} --write`

Real Kafka {NEWEST}, three controllers and a broker on one machine, under a steady load of
metadata: topics created, configured and deleted, ACLs, SCRAM credentials. The controller that leads
is killed with -9 about every {plan.kill_s / 60:g} minutes, and started again. `replica observe`
records, `ingest --follow {plan.follow_s}` streams the recording into a lake, `build` runs every
{plan.build_s / 60:g} minutes with its quality gate, `publish --follow` sends gold.metadata_changes
to a topic of the same broker: each a process of its own, {_engine(story)}. Then
the load ends, stage after stage drains and is ended by SIGTERM, and what each holds is compared.
"""


def _engine(story: Story) -> str:
    """Which engine the commands ran on, by the processes that the samples show."""
    if any(name.endswith(" jvm") for name in story.samples):
        return f"Spark's drivers with {HEAP} of heap"
    return "all by the local engine, without Spark"


def _result(story: Story, verdict: Verdict, folder: Path) -> str:
    refused = ", ".join(f"{name} {count}" for name, count in sorted(story.refused.items()))
    truncated = LakeTables(folder / "lake").truncated_records() if verdict.stages else 0
    messages = 0 if story.messages is None else story.messages.count
    leaderless = [kill.leaderless_s for kill in story.kills]
    waited = f"; {median(leaderless):.1f} s without a leader in the median" if leaderless else ""
    waited += f", {max(leaderless):.1f} s at most" if leaderless else ""
    return f"""**{"Passed" if verdict.is_passed else "FAILED"}** on {datetime.now(UTC):%Y-%m-%d}: \
{story.seconds / 60:.0f} minutes in all, {story.loaded_s / 60:.0f} of them under load; \
{platform.machine()}, {os.cpu_count()} cores, shared with other work.

- load: {story.taken:,} changes acknowledged, {sum(story.refused.values()):,} not \
{f"({refused}; sent again where the client could)" if refused else ""}
- kills of leaders: {len(story.kills)}{waited}
- taken back by the quorum: {story.archived_batches} batches in the recording's archive, \
{truncated} records in the lake
- builds: {len(story.builds)}; messages on the topic: {messages:,}
"""


def _stages(verdict: Verdict) -> str:
    rows = [
        (each.name, each.how, "" if each.batches is None else f"{each.batches:,}", f"{each.rows:,}")
        for each in verdict.stages
    ]
    return _table(("stage", "read by", "batches", "records or rows"), rows)


def _checks(verdict: Verdict) -> str:
    rows = [("yes" if c.holds else "**NO**", c.what, c.figures) for c in verdict.checks]
    return _table(("holds", "what", "figures"), rows)


def _about_memory(story: Story) -> str:
    plan = story.plan
    return f"""## Memory

Resident MB, sampled every {plan.sample_s:g} s; workers: all of Spark's Python workers together;
live objects: what a full collection, every {plan.heap_s / 60:g} minutes, leaves in the heap. The
rise is that of the highest of each {WINDOW_S / 60:g} minutes in the last half: the median slope
between all pairs of them (Theil and Sen). Flat is what rises by no more than {RISE_SHARE:.0%} of
its median an hour, or {RISE_BYTES // 2**20} MiB where that is more.
"""


def _memory(story: Story) -> str:
    rows = [
        (
            name,
            *(f"{size / 1e6:.0f}" for size in (of.first, of.median, of.highest, of.last)),
            f"{of.rise / 1e6:+.1f}",
            f"{of.allowed / 1e6:.1f}",
            "yes" if of.is_flat else "no",
        )
        for name, of in courses(story).items()
    ]
    head = ("process", "first", "median", "highest", "last", "rise an hour", "allowed", "flat")
    return _table(head, rows)


def _builds(story: Story) -> str:
    rows = [
        (
            f"{built.at_s / 60:.0f}",
            f"{built.ran.seconds:.0f}",
            f"{built.log_end:,}",
            f"{built.changes:,}",
            *(f"{built.ran.highest.get(kind, 0) / 1e6:.0f}" for kind in ("jvm", "python")),
            f"{built.lake_bytes / 1e6:.1f}",
            f"{built.recording_bytes / 1e6:.1f}",
        )
        for built in story.builds
    ]
    head = ("minute", "took s", "offsets", "changes", "highest jvm MB", "highest python MB")
    return _table((*head, "lake MB", "recording MB"), rows)


def _warned(folder: Path) -> list[str]:
    found = warnings(folder / "said")
    lines = [f"    {line[:200]}" for line in found[:10]]
    return [f"Warnings in what the commands said: {len(found)}.\n", *lines, ""]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join(shown) + "\n"
