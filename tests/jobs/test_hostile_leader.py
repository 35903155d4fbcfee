"""`plan -b` and `replica observe` against a node that says it leads and lies in what it answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.lying_leader import (
    ESCAPES,
    LIES,
    Liar,
    Lie,
    endless_records,
    endless_snapshot,
    listening,
    nothing,
    other_epoch,
)


@pytest.mark.parametrize("lie", [endless_snapshot, endless_records])
def test_a_node_that_sends_an_endless_log_fills_no_disk(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("jobs.cli.engine.live_state.MAX_BYTES", 3 << 20)
    with listening(Liar(lie)) as address:
        ended = kraftlake("plan", "--to-dynamic", "-b", address, "--timeout", "60")
    assert ended.code == 1
    assert "the nodes sent more than 3145728 bytes of log and snapshots" in ended.error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("lie", [*LIES, other_epoch])
def test_plan_ends_in_time_with_one_line_for_every_hostile_answer(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with listening(Liar(lie)) as address:
        ended = kraftlake("plan", "--to-dynamic", "-b", address, "--timeout", "1")
    assert ended.code == 1
    assert ended.err.count("\n") <= 2
    assert "internal error" not in ended.err
    assert "Traceback" not in ended.err
    assert not list(tmp_path.iterdir())


def test_names_that_a_node_tells_move_no_terminal(kraftlake: Kraftlake, tmp_path: Path) -> None:
    with listening(Liar(nothing, ESCAPES)) as address:
        ended = kraftlake(
            "replica",
            "observe",
            "-b",
            address,
            "-o",
            tmp_path / "recording",
            "--until-caught-up",
            "--timeout",
            "1",
        )
    assert ended.code == 2
    assert "'h\\x1b]0;x\\x07\\u202e\\n:" in ended.err
    assert not {"\x1b", "\x07", "\u202e"} & set(ended.err)
    assert "Traceback" not in ended.err
