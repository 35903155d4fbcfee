"""The checks that a soak is judged by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.soak.commands import bad_lines
from tests.soak.course import CHANGES, Story
from tests.soak.ends import (
    Batch,
    LakeTables,
    by_offset,
    dumped,
    feed_changes,
    recorded,
    table_rows,
)
from tests.soak.memory import Course, course


@dataclass(frozen=True)
class Check:
    """A check. what: a sentence that must be true. figures: what was seen."""

    what: str
    holds: bool
    figures: str


@dataclass(frozen=True)
class Stage:
    """The content of a stage at the end. records: of the log, or changes."""

    name: str
    how: str
    batches: int | None
    rows: int


@dataclass(frozen=True)
class Verdict:
    stages: list[Stage]
    checks: list[Check]

    @property
    def is_passed(self) -> bool:
        return all(check.holds for check in self.checks)


def judged(story: Story, folder: Path, *, with_memory: bool = True) -> Verdict:
    """The verdict on the soak in `folder`, whose processes have ended. with_memory: whether memory
    is judged. For this the soak must run longer than a JVM takes to fill its heap."""
    checks = [*_process_checks(story, folder)]
    stages: list[Stage] = []
    if story.messages is not None:
        stages, equal = _equality(story, folder)
        checks = [*equal, *_lake_checks(folder / "lake"), *checks]
    if with_memory:
        checks += _memory_checks(story)
    return Verdict(stages, checks)


def _equality(story: Story, folder: Path) -> tuple[list[Stage], list[Check]]:
    tables = LakeTables(folder / "lake")
    leader = dumped(
        folder / "kafka" / str(story.leader) / "log" / "__cluster_metadata-0", story.end
    )
    recording, bronze = recorded(folder / "recording"), tables.batches()
    shown = tables.as_shown(recording)
    rows, offsets = tables.record_offsets()
    committed = tables.committed()
    changes = tables.number(CHANGES, "gold.metadata_changes")
    messages = story.messages
    assert messages is not None
    left, fed = table_rows(folder / "lake"), feed_changes(folder / "lake")
    stages = [
        Stage("leader's log", "kafka-dump-log", len(leader), _records(leader)),
        Stage("recording", "our reader", len(recording), _records(recording)),
        Stage("bronze.log_batches, log_records", "delta-rs", len(bronze), rows),
        Stage("silver.committed_log", "delta-rs", None, len(committed)),
        Stage("gold.metadata_changes", "delta-rs", None, changes),
        Stage("rows that the topic's messages leave", "librdkafka", None, len(messages.rows)),
    ]
    checks = [
        Check(
            "the log is whole from offset 0 on",
            [batch.base_offset for batch in leader]
            == [0, *(batch.last_offset + 1 for batch in leader[:-1])],
            f"offsets 0 to {story.end - 1}",
        ),
        Check(
            "the recording goes to the high watermark at the end of the load, or beyond",
            story.end >= story.high_watermark > 0,
            f"{story.end} and {story.high_watermark}",
        ),
        Check(
            "recording = leader's log: base and last offset, epoch and CRC of every batch",
            recording == leader,
            f"{len(recording)} and {len(leader)} batches",
        ),
        Check(
            "bronze.log_batches = recording, in the same way; CRCs of withheld batches by the key",
            bronze == shown,
            f"{len(bronze)} and {len(recording)} batches",
        ),
        Check(
            "bronze.log_records has each offset of these batches once",
            rows == offsets == story.end,
            f"{rows} rows, {offsets} offsets of {story.end}",
        ),
        Check(
            "silver.committed_log = recording: epoch and CRC of every offset",
            committed == by_offset(shown),
            f"{len(committed)} offsets",
        ),
        Check(
            "each change of gold.metadata_changes' feed is on the topic once",
            messages.count == messages.places == fed,
            f"{messages.count} messages, {messages.places} places, {fed} changes",
        ),
        Check(
            "the messages leave the rows of gold.metadata_changes",
            messages.rows == left and len(left) == changes,
            f"{len(messages.rows)} and {changes} rows",
        ),
    ]
    return stages, checks


def _records(batches: list[Batch]) -> int:
    return sum(batch.records for batch in batches)


def _lake_checks(lake: Path) -> Iterator[Check]:
    tables = LakeTables(lake)
    damages = tables.number("SELECT count(*) FROM bronze_damage", "bronze.damage")
    yield Check("bronze.damage is empty", not damages, f"{damages} rows")
    query = "SELECT count(*) FROM gold_findings WHERE severity = 'error'"
    errors = tables.number(query, "gold.findings")
    yield Check("no finding of severity error", not errors, f"{errors} findings")
    judged = tables.number("SELECT count(*) FROM gold_quality_results", "gold.quality_results")
    broken = tables.rows(
        "SELECT table_name, meaning, action, count(*) FROM gold_quality_results "
        "WHERE NOT success GROUP BY table_name, meaning, action",
        "gold.quality_results",
    )
    texts = [
        f"{table}: {meaning} ({action}, {times} times)" for table, meaning, action, times in broken
    ]
    yield Check(
        "every expectation held in every build",
        not broken,
        f"{judged} results" + "".join(f"; {text}" for text in texts),
    )


def _process_checks(story: Story, folder: Path) -> Iterator[Check]:
    bad = bad_lines(folder / "said")
    yield Check("no error in what any command said", not bad, _lines(bad))
    yield Check(
        "every command ended with 0, and no sooner than it was told to",
        not story.failures,
        "; ".join(" ".join(text.split())[:500] for text in story.failures) or "all of them",
    )
    yield Check("leaders were killed", bool(story.kills), f"{len(story.kills)} kills")


def _lines(found: list[str]) -> str:
    return "none" if not found else f"{len(found)} lines, such as `{found[0][:200]}`"


def _memory_checks(story: Story) -> Iterator[Check]:
    for name, found in courses(story).items():
        figures = f"{found.rise / 1e6:+.1f} MB/h, allowed {found.allowed / 1e6:.1f}"
        yield Check(f"memory of {name} is flat", found.is_flat, figures)


def courses(story: Story) -> dict[str, Course]:
    """The courses of memory by process, and of the live objects of the ingest's JVM."""
    found = {name: course(samples) for name, samples in sorted(story.samples.items())}
    if story.heaps:
        found["ingest jvm, live objects"] = course(story.heaps)
    return found
