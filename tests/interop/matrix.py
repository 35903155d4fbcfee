"""The table of docs/reference/kafka-releases.md: what was run with each release of Kafka, and what
came of it. The tests that ran hold the table to what they saw; REWRITE_RELEASES=1 takes it over."""

from __future__ import annotations

import os
from pathlib import Path

from tests.interop.kafka_jars import VERSIONS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kafka-releases.md"
REWRITE = "REWRITE_RELEASES"
ROWS = {
    "level": "newest metadata.version",
    "records": "metadata records read, shown and written as by Kafka",
    "image": "random sequences of records replayed as by Kafka's image code",
    "requests": "requests that both speak, in the newest version of both",
    "mixed": "one quorum of kraftlake's voters and Kafka's, killed in turn",
    "kafka_joins": "Kafka's controller joins a quorum that kraftlake leads (auto join)",
    "joins_kafka": "kraftlake joins a quorum that Kafka leads (auto join)",
    "observer": "a cluster recorded through kills, a snapshot and a divergence",
    "handed": "a directory handed to Kafka's controller and back",
    "upgraded": "a directory upgraded from the release before",
    "tool": "kafka-metadata-quorum on a quorum of kraftlake",
}
"""What a test names -> the row's title."""


def hold(version: str, row: str, cell: str) -> None:
    """Fails where the table says anything else of a release."""
    title, column = ROWS[row], VERSIONS.index(version)
    table = written()
    if os.environ.get(REWRITE):
        _rewrite(title, column, cell)
        return
    found = table[title][column]
    advice = f"run with {REWRITE}=1, and read the diff of {PAGE.name}"
    assert found == cell, f"{title}, Kafka {version}: {found!r}, but it was {cell!r}: {advice}"


def written() -> dict[str, list[str]]:
    """The cells of each row, by its title, in the order of VERSIONS."""
    rows = (_cells(line) for line in _lines() if line.startswith("| "))
    return {title: cells for title, *cells in rows}


def _lines() -> list[str]:
    return PAGE.read_text(encoding="utf-8").splitlines()


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _rewrite(title: str, column: int, cell: str) -> None:
    lines = _lines()
    (at,) = (i for i, line in enumerate(lines) if line.startswith(f"| {title} |"))
    cells = _cells(lines[at])
    cells[column + 1] = cell
    lines[at] = f"| {' | '.join(cells)} |"
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
