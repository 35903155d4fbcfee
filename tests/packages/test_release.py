"""What `make release` writes, and that a signature of SHA256SUMS is verified as docs/contributing
says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packages.building import REPOSITORY

_PAGE = REPOSITORY / "docs" / "contributing" / "release.md"


def recipe() -> str:
    text = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (found,) = re.findall(r"^release:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    return str(found)


def test_the_page_names_each_file_that_make_release_hashes() -> None:
    hashed = {"kraftlake.pyz", "kraftlake.cdx.json", "-py3-none-any.whl", ".tar.gz"}
    assert all(name in recipe() for name in hashed)
    page = _PAGE.read_text(encoding="utf-8")
    assert all(name in page for name in (*hashed, "SHA256SUMS"))


def shell_blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", _PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.skipif(shutil.which("gpg") is None, reason="no gpg")
def test_what_was_signed_is_verified_and_what_was_changed_is_not(tmp_path: Path) -> None:
    """By the commands of the page, with a key of this test."""
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "kraftlake.pyz").write_bytes(b"a release")
    sums = "sha256sum kraftlake.pyz >SHA256SUMS"
    subprocess.run(["sh", "-ec", sums], cwd=tmp_path / "dist", check=True)

    def run(script: str) -> int:
        variables = {"GNUPGHOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
        words = ["sh", "-ec", script]
        return subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True).returncode

    made = (
        "gpg --batch --passphrase '' --quick-generate-key test@example.invalid ed25519 sign never"
    )
    assert run(made) == 0
    sign, verify = shell_blocks()
    assert run(sign) == 0
    assert run(verify) == 0
    (tmp_path / "dist" / "kraftlake.pyz").write_bytes(b"another one")
    assert run(verify) != 0
    subprocess.run(["sh", "-ec", sums], cwd=tmp_path / "dist", check=True)
    assert run(verify) != 0
