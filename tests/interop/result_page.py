"""Pages of tests/interop with one table, which has a row for each case: what kraftlake said, and
what Kafka then did. The tests compare the table with what they saw; REWRITE_RESULTS=1 writes it
anew."""

from __future__ import annotations

import os
from pathlib import Path

from tests.markdown import cells_of

REWRITE = "REWRITE_RESULTS"
PREFLIGHT = Path(__file__).with_name("PREFLIGHT.md")
READERS = Path(__file__).with_name("READERS.md")
REHEARSALS = Path(__file__).with_name("REHEARSALS.md")
STARTS = Path(__file__).with_name("STARTS.md")
FIRST_ELECTIONS = Path(__file__).with_name("FIRST_ELECTIONS.md")
MIGRATION_PAGE = Path(__file__).with_name("MIGRATION.md")
CONFIGS = Path(__file__).with_name("CONFIGS.md")
FOLDERS = Path(__file__).with_name("FOLDERS.md")
_RULE = "|---"


def hold(page: Path, key: tuple[str, ...], said: tuple[str, ...]) -> None:
    """Fails where the table has another row for this case, or none. key: the first cells, which
    name the case. said: the other cells."""
    row = (*key, *said)
    if os.environ.get(REWRITE):
        _write(page, row, len(key))
        return
    advice = f"run with {REWRITE}=1, and read the diff of {page.name}"
    assert row in rows(page), f"{row} is not in the table: {advice}"


def rows(page: Path) -> list[tuple[str, ...]]:
    """All rows, without the header."""
    lines = page.read_text(encoding="utf-8").splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(_RULE)) + 1
    return [*map(cells_of, lines[first:])]


def _write(page: Path, row: tuple[str, ...], key: int) -> None:
    """Replaces the row of this case, or inserts it after the last row with the same first cell."""
    found = rows(page)
    head = page.read_text(encoding="utf-8").splitlines()[: -len(found) or None]
    cases = [one[:key] for one in found]
    if row[:key] in cases:
        found[cases.index(row[:key])] = row
    else:
        alike = [at for at, one in enumerate(found) if one[0] == row[0]]
        found.insert(alike[-1] + 1 if alike else len(found), row)
    table = [f"| {' | '.join(one)} |" for one in found]
    page.write_text("\n".join((*head, *table)) + "\n", encoding="utf-8")
