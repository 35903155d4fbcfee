"""Rows that change need another DERIVATION, by which lakes are derived again after an update.

Where rows change on purpose, raise DERIVATION in pipelines/last_build.py. Then
`REWRITE_DERIVED=1 .venv/bin/python -m pytest tests/pipelines/test_derivation.py` notes the hashes.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run as ingest
from pipelines.build import build
from pipelines.delta import Lake
from pipelines.lake.redaction import FILE_NAME as REDACTION_KEY
from pipelines.last_build import DERIVATION
from pipelines.runners.local import LocalRunner
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER
from tests.bench.same_tables import rows

GOLDEN = Path(__file__).parents[1] / "golden" / "derived_tables.json"
CLUSTERS = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic", "kafka-4.4.0-dynamic")
ROUNDS = ("live", "split", "final")


def hashes(data: Path, folder: Path) -> dict[str, str]:
    """The hash of each derived table's rows, of the recorded clusters in a lake that has nothing of
    this machine in it."""
    lake = Lake(folder / "lake")
    (folder / "lake").mkdir()
    (folder / "lake" / REDACTION_KEY).write_bytes(b"k" * 32)
    for hour, name in enumerate(ROUNDS):
        captured = [str(data / one / name) for one in CLUSTERS if (data / one / name).is_dir()]
        assert ingest(IngestOptions(captured, lake, captured_at=f"2026-11-21T0{hour}:00Z")) == 0
    with LocalRunner(at_once=1) as runner:
        build(lake, runner, lambda _: None)
    found = {}
    for contract in (*SILVER, *GOLD):
        texts = sorted(rows(str(folder / "lake"), contract.name).elements())
        content = "\n".join(texts).replace(str(data), "DATA")
        found[contract.name] = sha256(content.encode()).hexdigest()
    return found


def test_rows_that_change_have_another_derivation(data: Path, tmp_path: Path) -> None:
    found = {"derivation": DERIVATION, "tables": hashes(data, tmp_path)}
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {"derivation": 0, "tables": {}}
    changed = {
        name
        for name in {*found["tables"], *known["tables"]}
        if found["tables"].get(name) != known["tables"].get(name)
    }
    is_raised = known["derivation"] < DERIVATION
    assert is_raised or not changed, f"rows of {sorted(changed)} have changed: raise DERIVATION"
    if os.environ.get("REWRITE_DERIVED"):
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    elif is_raised:
        raise AssertionError("REWRITE_DERIVED=1 notes the hashes of the new rows")
