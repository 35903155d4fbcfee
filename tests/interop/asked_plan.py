"""The answer of `kraftlake plan` about one change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.kraftlake_process import kraftlake


def planned(source: Path | str, *change: object) -> dict[str, Any]:
    """The answer. source: a node's directory, or the address of a controller of
    the running quorum."""
    paths = (source,) if isinstance(source, Path) else ("-b", source)
    ran = kraftlake("plan", "--json", *map(str, (*change, *paths)))
    assert ran.returncode in (0, 1, 3, 4), ran.stderr
    verdict, row = map(json.loads, ran.stdout.splitlines())
    assert (verdict["kind"], row["kind"]) == ("verdict", "plan")
    assert isinstance(row, dict)
    return row
