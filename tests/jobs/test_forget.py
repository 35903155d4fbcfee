"""`kraftlake forget` as far as it needs no Spark: what would go, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.lake import Lake, forgetting
from pipelines.lake.forgetting import Targets
from pipelines.lake.schema_version import write_schema_version
from replica.errors import UsageError
from tests.jobs.conftest import Kraftlake
from tests.jobs.test_lake import CAPTURE
from tests.secret_log import batch, plain, write_node


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    rows = [CAPTURE, {**CAPTURE, "capture_id": "b", "node_id": 2}]
    rows.append({**CAPTURE, "capture_id": "e", "capture_group": "h", "cluster_id": "other"})
    write_schema_version(Lake(tmp_path))
    write_deltalake(str(tmp_path / "bronze/captures"), pa.Table.from_pylist(rows))
    return tmp_path


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (("--capture", "b"), ["b"]),
        (("--capture", "g"), ["a", "b"]),
        (("--cluster", "other", "--capture", "a"), ["a", "e"]),
    ],
)
def test_without_yes_forget_lists_the_captures_and_changes_nothing(
    kraftlake: Kraftlake, lake: Path, options: tuple[str, ...], meant: list[str]
) -> None:
    before = sorted(lake.rglob("*"))
    ended = kraftlake("forget", "--lake", lake, "--json", *options)
    assert (ended.code, [row["capture_id"] for row in ended.rows]) == (0, meant)
    assert ended.complaints[-1].endswith("would go; add --yes to take them out")
    assert sorted(lake.rglob("*")) == before


def test_a_capture_of_order_is_shown_with_the_name_of_its_round(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    split = {**CAPTURE, "round_name": "split", "has_own_time": False}
    write_schema_version(Lake(tmp_path))
    write_deltalake(str(tmp_path / "bronze/captures"), pa.Table.from_pylist([split]))
    (row,) = kraftlake("forget", "--lake", tmp_path, "--capture", "a", "--json").rows
    assert row["round_name"] == "split"
    assert "split" in kraftlake("forget", "--lake", tmp_path, "--capture", "a").out


def test_contradictory_options_of_forget_are_refused_in_one_line(
    kraftlake: Kraftlake, lake: Path
) -> None:
    refusals = {
        "name what to forget": (),
        "--capture z: no such capture": ("--capture", "a", "--capture", "z"),
        "--cluster z: the lake has no capture of it": ("--cluster", "z"),
        "--vacuum can't be undone: add --yes": ("--cluster", "c", "--vacuum"),
    }
    for reason, options in refusals.items():
        ended = kraftlake("forget", "--lake", lake, *options)
        assert ended.code == 2
        assert reason in ended.error


def test_the_targets_of_an_interrupted_forget_are_forgotten_by_the_next_run(
    kraftlake: Kraftlake, lake: Path
) -> None:
    forgetting.begin(Lake(lake), Targets(captures=frozenset(["b", "gone already"])))
    rows = kraftlake("forget", "--lake", lake, "--json", "--cluster", "other").rows
    assert [row["capture_id"] for row in rows] == ["b", "e"]
    with pytest.raises(UsageError, match="was interrupted"):
        forgetting.refuse_half_forgotten(Lake(lake))
    forgetting.end(Lake(lake))
    forgetting.refuse_half_forgotten(Lake(lake))
    (lake / forgetting.FILE_NAME).write_text("{")
    assert "restore it" in kraftlake("forget", "--lake", lake, "--capture", "b").error


def test_no_commit_keeps_more_of_a_text_than_forget_says(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    node, lake = (
        tmp_path / "a folder with a name of more than 64 characters, as paths may have",
        tmp_path / "lake",
    )
    topics = [plain(f"t{'o' * 200}{number}") for number in range(4)]
    for count in (2, 4):
        log = b"".join(batch(n, [value]) for n, value in enumerate(topics[:count]))
        write_node(node / str(count), content=log)
        ended = kraftlake("ingest", "--lake", lake, node / str(count))
        assert ended.code == 0, ended.err
    bounds = list(_text_bounds(lake))
    assert max(len(text) for _, text in bounds) == 33  # cut, and made no less than the whole
    assert "bronze/log_batches" in {table for table, _ in bounds}


def _text_bounds(lake: Path) -> Iterator[tuple[str, str]]:
    """(table, least or greatest text of a column) of every file in every commit of a lake."""
    for path in sorted(lake.glob("*/*/_delta_log/*.json")):
        table = path.parents[1].relative_to(lake).as_posix()
        for line in path.read_text(encoding="utf-8").splitlines():
            statistics = json.loads(line).get("add", {}).get("stats")
            found = json.loads(statistics) if statistics else {}
            for both in (found.get("minValues", {}), found.get("maxValues", {})):
                yield from ((table, text) for text in _texts(both))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
