"""`kraftlake redact`, killed at any moment: what is left holds no secret, and the same command goes
on."""

from __future__ import annotations

import time
from pathlib import Path

from tests.kraftlake_process import kraftlake, started
from tests.secret_log import SECRET, write_node

MOMENTS_MS = (20, 60, 100, 150, 200, 300)


def held(folder: Path) -> list[Path]:
    """The files that hold a secret."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if SECRET.encode() in path.read_bytes()]


def test_a_killed_redact_leaves_no_secret_and_the_next_one_finishes(tmp_path: Path) -> None:
    node, temporary = tmp_path / "node", tmp_path / "temporary"
    temporary.mkdir()
    write_node(node)
    assert held(node)
    variables = {"TMPDIR": str(temporary)}
    out = tmp_path / "out"
    call = ("redact", node, "-o", out)
    for moment_ms in MOMENTS_MS:
        process = started(tmp_path / "said", *call, variables=variables)
        time.sleep(moment_ms / 1000)
        process.kill()
        process.wait()
        assert held(temporary) == []
        assert not out.exists() or held(out) == []
        if (out / "capture.json").exists():
            break
    if not (out / "capture.json").exists():
        assert kraftlake(*call, variables=variables).returncode in (0, 1)
    assert (out / "capture.json").exists()
    assert held(out) == []
    assert SECRET not in (tmp_path / "said").read_text()
