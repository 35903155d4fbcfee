"""The recorded logs are what their manifest says: a test against changed data proves nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path


def test_every_recorded_file_is_in_the_manifest_with_its_hash(data: Path) -> None:
    listed = dict(
        reversed(line.split("  ", 1))
        for line in (data / "MANIFEST.sha256").read_text().splitlines()
    )
    found = {
        path.relative_to(data).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in data.rglob("*")
        if path.is_file() and not path.name.startswith("MANIFEST")
    }
    assert found == listed
