"""Where `ingest` makes a lake, and where it does not: nothing is left behind in either."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.lake import Lake
from pipelines.lake.folder import refuse_foreign
from pipelines.lake.schema_version import write_schema_version
from replica.errors import UsageError
from tests.jobs.conftest import Kraftlake
from tests.without_java import without_java

NODE = "kafka-3.7.2-static/final/1"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (["notes.txt"], "holds notes.txt, and no lake"),
        ([".bashrc", "a", "b"], "holds .bashrc and 2 more, and no lake"),
        (["bronze/other_table/_delta_log"], "holds bronze, and no lake"),
        (["_delta_log"], "holds _delta_log, and no lake"),
        (["_ingest.lock", "__cluster_metadata-0"], "holds __cluster_metadata-0, and no lake"),
    ],
)
def test_a_folder_that_holds_other_things_is_refused_and_left_as_it_is(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, made: list[str], said: str
) -> None:
    for name in made:
        (tmp_path / name).mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    for command in (["ingest", data / NODE], ["ingest", "--available-now", data / NODE]):
        ended = kraftlake(*command, "--lake", tmp_path)
        assert (ended.code, ended.error) == (
            2,
            f"--lake {tmp_path}: {said}: name an empty or new folder, or the lake's own",
        )
    assert sorted(tmp_path.rglob("*")) == before


def test_the_node_s_own_folder_is_no_lake(kraftlake: Kraftlake, tmp_path: Path, data: Path) -> None:
    node = tmp_path / "node"
    node.mkdir()
    (node / "__cluster_metadata-0").symlink_to(data / NODE / "__cluster_metadata-0")
    (node / "meta.properties").write_bytes((data / NODE / "meta.properties").read_bytes())
    ended = kraftlake("ingest", "--lake", node, node)
    assert ended.code == 2
    assert ended.error.startswith(f"--lake {node}: holds __cluster_metadata-0 and 1 more, and no")
    assert names(node) == ["__cluster_metadata-0", "meta.properties"]


def early_ended(lake: Path) -> None:
    (lake / "_ingest.lock").touch()
    (lake / "_spool" / "7f").mkdir(parents=True)
    (lake / "_redaction.key").write_bytes(os.urandom(32))
    (lake / "_redaction.key.0f").write_bytes(b"")


def a_lake_with_a_note(lake: Path) -> None:
    write_schema_version(Lake(lake))
    (lake / "README.txt").touch()
    (lake / "bronze").mkdir()


def of_the_first_release(lake: Path) -> None:
    (lake / "bronze/captures/_delta_log").mkdir(parents=True)
    (lake / "README.txt").touch()


@pytest.mark.parametrize(
    "make",
    [
        early_ended,
        a_lake_with_a_note,
        of_the_first_release,
        lambda lake: (lake / "lost+found").mkdir(),
        lambda lake: None,
        Path.rmdir,
    ],
)
def test_a_lake_an_early_ended_ingest_and_an_empty_disk_are_taken(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    make(lake)
    refuse_foreign(Lake(lake))
    refuse_foreign(Lake(f"file://{lake}"))


def test_a_link_to_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home" / "photos").mkdir(parents=True)
    (tmp_path / "lake").symlink_to(tmp_path / "home")
    with pytest.raises(UsageError, match="holds photos, and no lake"):
        refuse_foreign(Lake(tmp_path / "lake"))


def test_small_clusters_are_ingested_built_and_asked_without_java(
    process: Kraftlake, data: Path, tmp_path: Path
) -> None:
    lake, no_java = tmp_path / "lake", without_java(tmp_path / "tools")
    made = process("ingest", "--build", "--lake", lake, data / NODE, **no_java)
    assert made.code == 0, made.err
    asked = process("sql", "--lake", lake, "--question", "captures", "--json", **no_java)
    assert asked.code == 0, asked.err
    assert json.loads(asked.out)


def test_a_build_by_spark_that_finds_no_java_leaves_the_lake_as_it_was(
    process: Kraftlake, data: Path, tmp_path: Path
) -> None:
    lake, no_java = tmp_path / "lake", without_java(tmp_path / "tools")
    made = process("ingest", "--lake", lake, data / NODE, **no_java)
    assert made.code == 0, made.err
    done = process("build", "--engine", "spark", "--lake", lake, **no_java)
    assert done.code == 2
    start = "kraftlake: error: Java 17 or newer is needed: JAVA_HOME is not set"
    assert done.complaints[-1].startswith(start)
    assert [name for name in names(lake) if not name.startswith("_")] == ["bronze"]


def test_an_ingest_needs_none_of_delta_s_jars(
    process: Kraftlake, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    lake = tmp_path / "lake"
    ended = process("ingest", "--lake", lake, data / NODE, KRAFTLAKE_JARS=str(tmp_path / "jars"))
    assert ended.code == 0, ended.err
    assert "bronze" in names(lake)
