"""Lakes named by a URI that is none: refused before anything is made or started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake


@pytest.mark.parametrize("command", ["ingest", "build", "sql", "report", "forget", "publish"])
def test_no_command_makes_a_folder_of_a_mistyped_lake(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = {"ingest": [str(tmp_path)], "sql": ["select 1"]}.get(command, [])
    ended = kraftlake(command, "--lake", "s3:/bucket/lake", *arguments)
    assert (ended.code, ended.error) == (2, "s3:/bucket/lake: no URI: write s3://BUCKET/PATH")
    assert list(tmp_path.iterdir()) == []


def test_a_mistyped_uri_of_captures_is_refused(kraftlake: Kraftlake, tmp_path: Path) -> None:
    for arguments in (
        ["ingest", "--lake", tmp_path, "s3:/b/x"],
        ["capture", tmp_path, "-o", "s3:b"],
    ):
        ended = kraftlake(*arguments)
        assert (ended.code, ended.error.endswith("no URI: write s3://BUCKET/PATH")) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["check", "dump", "recover --plan", "diff ."])
def test_commands_that_read_local_paths_refuse_a_uri_with_advice(
    kraftlake: Kraftlake, command: str
) -> None:
    ended = kraftlake(*command.split(), "s3://KEY:SECRET@bucket/captures")
    assert ended.code == 2
    assert ended.error.startswith("s3://bucket/captures: this reads local paths only: copy it")
