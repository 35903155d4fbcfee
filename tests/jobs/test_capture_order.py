"""Where the order of captures isn't known, the error names the folders that --order takes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake


@pytest.mark.parametrize(
    ("first", "second", "folders"),
    [
        ("monday/n3", "friday/n3", "friday,monday"),
        ("n3", "later/n3", "captures,later"),
        ("monday/n3", "monday/again/n3", "monday,again"),
    ],
)
def test_the_folders_of_the_hint_are_taken_by_order(
    kraftlake: Kraftlake,
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: str,
    second: str,
    folders: str,
) -> None:
    root = tmp_path / "captures"
    shutil.copytree(recorded / "kafka-4.1.1-dynamic/live/3", root / first)
    shutil.copytree(recorded / "kafka-4.1.1-dynamic/final/3", root / second)
    monkeypatch.chdir(root)
    refused = kraftlake("check", ".")
    assert refused.code == 2
    hint = re.search(r"\(as (\S+) and (\S+) are\)", refused.err)
    assert hint is not None
    assert {*hint.groups()} == {*folders.split(",")}
    assert kraftlake("check", "-q", "--order", folders, ".").code != 2
