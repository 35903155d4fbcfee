"""The table of docs/reference/kafka-releases.md: what was run with each release of Kafka, with the
results. The tests compare the table with what they saw; REWRITE_RELEASES=1 writes the table anew.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.interop.kafka_jars import VERSIONS
from tests.markdown import cells_of

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
"""The name in a test -> the row's title."""


def hold(version: str, row: str, cell: str) -> None:
    """Fails where the table has another text about a release."""
    title, cells = ROWS[row], _by_version()
    if os.environ.get(REWRITE):
        cells.setdefault(title, {})[version] = cell
        _rewrite(cells)
        return
    found = cells[title].get(version)
    seen = "no cell" if found is None else repr(found)
    advice = f"run with {REWRITE}=1, and read the diff of {PAGE.name}"
    assert found == cell, f"{title}, Kafka {version}: {seen}, but it was {cell!r}: {advice}"


def written() -> dict[str, list[str]]:
    """The cells of each row, by the row's title; the header has the title ""."""
    rows = (cells_of(line) for line in _lines() if line.startswith("| "))
    return {title: cells for title, *cells in rows}


def _by_version() -> dict[str, dict[str, str]]:
    """The table's cells by row and release."""
    table = written()
    return {title: dict(zip(table[""], cells, strict=True)) for title, cells in table.items()}


def _lines() -> list[str]:
    return PAGE.read_text(encoding="utf-8").splitlines()


def _rewrite(cells: dict[str, dict[str, str]]) -> None:
    """Writes the table with a column for each of VERSIONS and a line for each of ROWS. A cell that
    no test has seen yet is empty."""
    lines = _lines()
    at = [number for number, line in enumerate(lines) if line.startswith("|")]
    rows = [["", *VERSIONS]]
    for title in ROWS.values():
        rows.append([title, *(cells.get(title, {}).get(version, "") for version in VERSIONS)])
    header, *others = (f"| {' | '.join(row)} |" for row in rows)
    lines[at[0] : at[-1] + 1] = [header, "|---" * (len(VERSIONS) + 1) + "|", *others]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
