"""The recorded logs that the wheel brings for `kraftlake demo`."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.lake import demo


def test_the_logs_in_the_wheel_are_those_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python packaging/demo_logs.py` makes them anew."""
    monkeypatch.chdir(tmp_path)
    folder = demo.unpacked_logs()
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    recorded = {
        path.relative_to(demo.RECORDED): path
        for name in demo.CLUSTERS
        for path in (demo.RECORDED / name).rglob("*")
        if path.is_file()
    }
    assert found.keys() == recorded.keys()
    assert all(path.read_bytes() == recorded[name].read_bytes() for name, path in found.items())
