"""`kraftlake state`: the recorded clusters' metadata at a moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.cli.main import app
from jobs.cli.outcome import run
from tests.replica.metadata.image.recorded import records_in, replayed

DYNAMIC = "Lr3UIdBxT-GFPYE5uprmrg"

pytestmark = pytest.mark.spark


def _state(
    capsys: pytest.CaptureFixture[str], lake: Path, *options: str
) -> dict[tuple[str, str], tuple[str, int | None]]:
    asked = ["state", "--lake", str(lake), "--cluster", DYNAMIC, "--json", *options]
    assert run(app, asked) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(list(row) == ["entity", "key", "value", "offset"] for row in rows)
    found = {(row["entity"], row["key"]): (row["value"], row["offset"]) for row in rows}
    assert len(found) == len(rows)
    return found


def test_state_at_a_snapshots_end_offset_is_the_snapshot(
    capsys: pytest.CaptureFixture[str], built_lake: Path, data: Path
) -> None:
    (snapshot, *_) = sorted(data.glob("kafka-4.1.1-dynamic/*/*/*/*0792-0000000003.checkpoint"))
    image = replayed(records_in(snapshot))[0].image()
    held = {(entity.kind, entity.key): entity.value for entity in image.entities()}
    state = _state(capsys, built_lake, "--at-offset", "792")
    assert state.keys() == held.keys()
    differing = {key for key, (value, _) in state.items() if value != held[key]}
    # the lake holds fingerprints in the place of credentials
    assert {kind for kind, _ in differing} == {"scram"}
    assert all(state[key][0].count("***:") == 3 for key in differing)


def test_a_record_shows_from_the_offset_after_its_own(
    capsys: pytest.CaptureFixture[str], built_lake: Path
) -> None:
    at_end = _state(capsys, built_lake)
    topics = [(offset, key) for key, (_, offset) in at_end.items() if key[0] == "topic"]
    offset, key = max((offset, key) for offset, key in topics if offset is not None)
    assert key not in _state(capsys, built_lake, "--at-offset", str(offset))
    assert _state(capsys, built_lake, "--at-offset", str(offset + 1))[key] == at_end[key]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "the lake has 2 clusters: --cluster"),
        (["--cluster", "nobody"], "--cluster nobody: the lake has"),
        (["--cluster", DYNAMIC, "--at-offset", "999999"], "the log end offset is"),
        (["--cluster", DYNAMIC, "--at-time", "1999-01-01"], "the log begins at"),
        (["--cluster", DYNAMIC, "--at-time", "soon"], "--at-time soon: neither ISO-8601"),
        (["--at-time", "1", "--at-offset", "1"], "give one of them"),
        (["--cluster", DYNAMIC, "--diff", "1", "999999"], "--diff 999999: the log end offset is"),
        (["--cluster", DYNAMIC, "--diff", "soon", "1"], "--diff soon: neither ISO-8601"),
        (["--diff", "1", "2", "--at-offset", "1"], "leave --at-offset and --at-time out"),
    ],
)
def test_a_moment_that_nobody_can_tell_about_is_one_line(
    capsys: pytest.CaptureFixture[str], built_lake: Path, options: list[str], said: str
) -> None:
    assert run(app, ["state", "--lake", str(built_lake), *options]) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("kraftlake: error: ")
    assert said in line


def _diff(
    capsys: pytest.CaptureFixture[str], lake: Path, a: str, b: str
) -> list[dict[str, str | None]]:
    asked = ["state", "--lake", str(lake), "--cluster", DYNAMIC, "--json", "--diff", a, b]
    assert run(app, asked) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_diff_tells_what_changed_between_two_offsets_and_back(
    capsys: pytest.CaptureFixture[str], built_lake: Path
) -> None:
    there, back = (
        _diff(capsys, built_lake, *ends) for ends in (("1200", "1700"), ("1700", "1200"))
    )
    assert all(list(row) == ["entity", "key", "name", "change", "old", "new"] for row in there)
    found = {row["change"] for row in there}
    assert {"topic_created", "leader_changed", "isr_changed", "voters_changed"} <= found
    created = {row["key"] for row in there if row["change"] == "topic_created"}
    assert created == {row["key"] for row in back if row["change"] == "topic_deleted"}
    leaders = {(row["name"], row["old"], row["new"]) for row in there
               if row["change"] == "leader_changed"}  # fmt: skip
    assert leaders == {(row["name"], row["new"], row["old"]) for row in back
                       if row["change"] == "leader_changed"}  # fmt: skip


def test_a_diff_of_one_moment_is_empty_and_one_from_nothing_is_the_state(
    capsys: pytest.CaptureFixture[str], built_lake: Path
) -> None:
    assert _diff(capsys, built_lake, "1700", "2026-11-21T03:18:49Z") != []
    assert _diff(capsys, built_lake, "1700", "1700") == []
    from_nothing = _diff(capsys, built_lake, "0", "1700")
    state = _state(capsys, built_lake, "--at-offset", "1700")
    assert {(row["entity"], row["key"]) for row in from_nothing} == state.keys()
