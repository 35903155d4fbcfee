"""What docs/reference/security.md says of rights: reading is enough, by way of the group."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.rights import kraftlake, needs_linux, python

_NOBODY = 65534


@pytest.fixture
def readable(tmp_path: Path, data: Path) -> Path:
    """A node's directory that our group may read and nobody may write."""
    folder = tmp_path / "node"
    shutil.copytree(data / "kafka-3.7.2-static" / "split" / "2", folder)
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o550 if path.is_dir() else 0o440)
        if os.geteuid() == 0:
            os.chown(path, _NOBODY, os.getegid())
    probe = f"open({str(folder / 'meta.properties')!r}, 'a')"
    if python("-c", probe).returncode == 0:
        pytest.skip("root can't be kept from writing here")
    return folder


@needs_linux
def test_reading_rights_are_all_that_a_capture_and_a_check_need(
    readable: Path, tmp_path: Path
) -> None:
    def seen() -> list[tuple[str, int, int]]:
        found = sorted(readable.rglob("*"))
        return [(str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in found]

    before = seen()
    for words in (["capture", readable, "-o", tmp_path / "taken"], ["check", readable]):
        ended = kraftlake(*words)
        assert ended.returncode == 0, ended.stderr
    assert seen() == before
    assert (tmp_path / "taken" / "capture.json").is_file()
