"""What docs/security.md says of rights: reading is enough, by way of the group."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kraftlake_process import REPOSITORY, command_line

_NOBODY = 65534
_WITHOUT_ROOTS_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def _run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_ROOTS_RIGHTS, *map(str, words)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


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
    if _run("-c", probe).returncode == 0:
        pytest.skip("root can't be kept from writing here")
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="rights of root are taken by Linux's prctl")
def test_reading_rights_are_all_that_a_capture_and_a_check_need(
    readable: Path, tmp_path: Path
) -> None:
    def seen() -> list[tuple[str, int, int]]:
        found = sorted(readable.rglob("*"))
        return [(str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in found]

    before = seen()
    for words in (["capture", readable, "-o", tmp_path / "taken"], ["check", readable]):
        ended = _run(*command_line(*words)[1:])
        assert ended.returncode == 0, ended.stderr
    assert seen() == before
    assert (tmp_path / "taken" / "capture.json").is_file()
