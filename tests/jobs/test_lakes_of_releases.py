"""A lake that a release made stays of use: this code opens it, appends to it and builds it.

tests/golden/lakes has one small lake for each release from 1.0.0 on. None of them is ever made
anew. `REWRITE_LAKES=1 .venv/bin/python -m pytest -m slow tests/jobs/test_lakes_of_releases.py` adds
that of the version in pyproject.toml where there is none yet: before that release, and once.
"""

from __future__ import annotations

import os
import tarfile
import tomllib
from pathlib import Path

import pytest

from pipelines.lake import Lake
from pipelines.lake.equality import differing_tables
from pipelines.lake.redaction import FILE_NAME as REDACTION_KEY
from pipelines.lake.schema_version import VERSION, schema_version
from tests.jobs.conftest import Kraftlake

LAKES = Path(__file__).parents[1] / "golden" / "lakes"
REPOSITORY = Path(__file__).parents[2]
CLUSTER = "kafka-3.7.2-static"
"""Its captures `live` made the lakes; `split` comes later."""
pytestmark = pytest.mark.slow


def version() -> str:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def archives() -> list[Path]:
    return sorted(LAKES.glob("*.tar.xz"))


@pytest.fixture
def at_captures(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that has the captures: lakes keep the paths that they were given."""
    monkeypatch.chdir(data / CLUSTER)


def ingest(kraftlake: Kraftlake, lake: Path, *names: str, build: bool = True) -> None:
    for name in names:
        at = f"2026-11-21T0{('live', 'split').index(name)}:00Z"
        kraftlake("ingest", "--lake", lake, "--captured-at", at, "--accept-damage", name)
    if build:
        assert kraftlake("build", "--lake", lake).code == 0


def new_lake(folder: Path) -> Path:
    folder.mkdir()
    (folder / REDACTION_KEY).write_bytes(b"k" * 32)
    return folder


@pytest.mark.usefixtures("at_captures")
def test_this_version_s_lake_is_kept(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = LAKES / f"lake-{version()}.tar.xz"
    if os.environ.get("REWRITE_LAKES") and not archive.exists():
        monkeypatch.setattr("pipelines.lake.versions.release", version)
        ingest(kraftlake, new_lake(tmp_path / "lake"), "live")
        LAKES.mkdir(exist_ok=True)
        with tarfile.open(archive, "w:xz", preset=9) as out:
            out.add(tmp_path / "lake", "lake")
    assert archive.exists()
    assert archive.stat().st_size < 300_000


@pytest.mark.usefixtures("at_captures")
@pytest.mark.parametrize("archive", archives(), ids=lambda one: one.name)
def test_a_lake_of_a_release_is_opened_appended_to_and_built(
    kraftlake: Kraftlake, tmp_path: Path, archive: Path
) -> None:
    """Then it has, row for row, what a lake has that this code made alone."""
    with tarfile.open(archive) as held:
        held.extractall(tmp_path, filter="data")
    lake, fresh = tmp_path / "lake", new_lake(tmp_path / "fresh")
    assert schema_version(Lake(lake)) <= VERSION
    counted = "SELECT count(*) AS n FROM bronze.captures"
    (answer,) = kraftlake("sql", "--lake", lake, "--json", counted).rows
    assert answer == {"n": 4}
    kraftlake("report", "--lake", lake, "-o", tmp_path / "before.html")
    assert "KRaft metadata report" in (tmp_path / "before.html").read_text(encoding="utf-8")

    ingest(kraftlake, lake, "split")
    ingest(kraftlake, fresh, "live", "split")
    assert differing_tables(Lake(lake), Lake(fresh))[1] == []
    written = "SELECT action, release FROM bronze.lake_versions ORDER BY at"
    first, *_ = kraftlake("sql", "--lake", lake, "--json", written).rows
    assert first == {"action": "created", "release": archive.name[5:-7]}
