"""Paths with characters that an engine, a shell or a URL takes for something else: each command
works with them, or refuses them in a line. None reads or writes at another place."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from jobs.cli.main import app
from jobs.cli.outcome import run
from jobs.cli.output import use_utf8
from tests.jobs.conftest import Ended, Kraftlake

TAKEN = (
    " ", "é日😀", "{", "}", "*", "?", "#", '"', "'", "~", ";", ":", "$", "${x}", "`", "&amp;", "=",
    ",", "+", "@", "<b>", "\u202e",
)  # fmt: skip
REFUSED = {
    "\\": "'\\\\'", "%": "'%'", "%20": "'%'", "[": "'['", "]": "']'", "|": "'|'", "^": "'^'",
    "\n": "'\\n'", "\t": "'\\t'", "\x1b[31m": "'\\x1b'", "\x7f": "'\\x7f'", "\udcff": "'\\xff'",
}  # fmt: skip
OUTPUTS = ("x.sqlite", "x.duckdb", "x.sql", "x.tables")
COUNT = "SELECT count(*) AS n FROM bronze.log_records"


def captured(data: Path, folder: Path) -> Path:
    shutil.copytree(data / "kafka-3.7.2-static" / "split" / "2", folder)
    return folder


def files_below(folder: Path) -> list[str]:
    return sorted(os.fsencode(path).hex() for path in folder.rglob("*"))


@pytest.fixture
def kraftlake(capfd: pytest.CaptureFixture[str]) -> Kraftlake:
    """The command in this process, with streams that take what is no UTF-8, as a command's do."""
    use_utf8()

    def call(*arguments: str | Path) -> Ended:
        code = run(app, [str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Ended(code, captured.out, captured.err)

    return call


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, and beside it an empty one in which the command runs."""
    (tmp_path / "current").mkdir()
    (tmp_path / "place").mkdir()
    monkeypatch.chdir(tmp_path / "current")
    return tmp_path / "place"


def use(kraftlake: Kraftlake, source: Path, lake: Path, out: Path) -> None:
    """All steps from a directory to what is exported."""
    assert kraftlake("check", source).code in (0, 1)
    assert kraftlake("ingest", "--lake", lake, source).code == 0
    for engine in ("delta-rs", "duckdb"):
        counted = kraftlake("sql", "--engine", engine, "--lake", lake, "--json", COUNT)
        assert counted.rows == [{"n": 772}], counted.err
    assert kraftlake("build", "--lake", lake).code == 0
    for name in OUTPUTS:
        form = ("--to", "parquet") if name == "x.tables" else ()
        exported = kraftlake("export", "--lake", lake, "-o", out / name, *form)
        if name == "x.duckdb" and re.search(r"[\\?\udcff]", str(out)):
            assert exported.code == 2
            assert "DuckDB opens no file with" in exported.error
        else:
            assert exported.code == 0, exported.err


@pytest.mark.slow
@pytest.mark.parametrize("sign", [*TAKEN, *REFUSED], ids=ascii)
def test_a_directory_and_an_output_may_have_any_character_in_its_path(
    kraftlake: Kraftlake, data: Path, place: Path, sign: str
) -> None:
    source = captured(data, place / f"a{sign}b")
    before = files_below(place)
    out = place.parent / "out" / f"a{sign}b"
    out.mkdir(parents=True)
    use(kraftlake, source, place.parent / "lake", out)
    assert files_below(place) == before
    assert list((place.parent / "out").iterdir()) == [out]
    assert {path.name for path in out.iterdir()} <= set(OUTPUTS)
    assert not list((place.parent / "current").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("sign", TAKEN, ids=ascii)
def test_a_lake_may_have_any_character_in_its_path_but_those_that_are_refused(
    kraftlake: Kraftlake, data: Path, place: Path, sign: str
) -> None:
    source = captured(data, place.parent / "source")
    (place.parent / "out").mkdir()
    use(kraftlake, source, place / f"a{sign}b", place.parent / "out")
    assert [path.name for path in place.iterdir()] == [f"a{sign}b"]
    assert not list((place.parent / "current").iterdir())


def test_a_lake_and_a_directory_with_all_of_them_are_read_and_written(
    kraftlake: Kraftlake, data: Path, place: Path
) -> None:
    name = f"-a{''.join(TAKEN)}"
    source = captured(data, place / "sources" / f"{name}{''.join(REFUSED)}")
    ended = kraftlake("ingest", "--lake", place / name, source)
    assert ended.code == 0, ended.err
    assert kraftlake("sql", "--lake", place / name, "--json", COUNT).rows == [{"n": 772}]
    assert sorted(path.name for path in place.iterdir()) == [name, "sources"]


@pytest.mark.parametrize("name", ["st*r", "st?r", "cluster_id=other", "s{t,x}r"])
def test_views_for_duckdb_read_the_files_of_their_lake_alone(
    kraftlake: Kraftlake, data: Path, place: Path, name: str
) -> None:
    source = captured(data, place.parent / "source")
    lake, other = place / name, place / "star"
    assert kraftlake("ingest", "--lake", lake, source).code == 0
    shutil.copytree(lake, other)  # What a pattern would find, too.
    assert kraftlake("export", "--lake", lake, "-o", place / "x.sql").code == 0
    database = duckdb.connect()
    database.execute((place / "x.sql").read_text())
    asked = "SELECT count(*), min(cluster_id) FROM bronze.log_records"
    (row,) = kraftlake("sql", "--lake", lake, "--json", asked).rows
    assert database.execute(asked).fetchone() == tuple(row.values())


@pytest.mark.slow
@pytest.mark.spark
def test_spark_takes_them_too(kraftlake: Kraftlake, data: Path, place: Path) -> None:
    name = f"a{''.join(TAKEN)}"
    source = captured(data, place / "sources" / name)
    for words in (("ingest", source), ("build",)):
        ended = kraftlake(words[0], "--engine", "spark", "--lake", place / name, *words[1:])
        assert ended.code == 0, ended.err
    counted = kraftlake("sql", "--engine", "spark", "--lake", place / name, "--json", COUNT)
    assert counted.rows == [{"n": 772}]
    assert sorted(path.name for path in place.iterdir()) == [name, "sources"]


@pytest.mark.parametrize("sign", REFUSED, ids=ascii)
@pytest.mark.parametrize(
    "words",
    [("ingest", "."), ("build",), ("sql", "SELECT 1"), ("export", "-o", "x.sql"), ("lake",)],
)
def test_a_character_that_engines_take_for_something_else_is_named(
    kraftlake: Kraftlake, place: Path, sign: str, words: tuple[str, ...]
) -> None:
    ended = kraftlake(words[0], "--lake", place / f"a{sign}b", *words[1:])
    assert ended.code == 2
    assert f"no path of a lake can have {REFUSED[sign]} in it" in ended.error
    assert not list(place.iterdir())
    assert not list((place.parent / "current").iterdir())
