"""`kraftlake state`: the recorded clusters' metadata at a moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.cli import app
from jobs.outcome import run
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
        (["--cluster", DYNAMIC, "--at-offset", "999999"], "the log ends at"),
        (["--cluster", DYNAMIC, "--at-time", "1999-01-01"], "the log begins at"),
        (["--cluster", DYNAMIC, "--at-time", "soon"], "--at-time soon: neither ISO-8601"),
        (["--at-time", "1", "--at-offset", "1"], "give one of them"),
    ],
)
def test_a_moment_that_nobody_can_tell_about_is_one_line(
    capsys: pytest.CaptureFixture[str], built_lake: Path, options: list[str], said: str
) -> None:
    assert run(app, ["state", "--lake", str(built_lake), *options]) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("kraftlake: error: ")
    assert said in line
