"""Wrong options and paths of the sources: one line, when they are loaded."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from replica.format.file_names import METADATA_FOLDER
from tests import rights

pytestmark = pytest.mark.spark


def _slow(options: dict[str, str], message: str) -> object:
    return pytest.param(options, message, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"content": "x"}, "option content=x: expected one of records, batches"),
        _slow({"rangeBytes": "0"}, "option rangeBytes=0: expected a number"),
        _slow({"rangeBytes": "many"}, "option rangeBytes=many: expected a number"),
        _slow({"keepSecrets": "yes"}, "option keepSecrets=yes: expected true or false"),
        _slow({"redactKeyFile": "/absent/key"}, "/absent/key: file is gone"),
        _slow({"redactKeyFile": "/dev/null"}, "/dev/null: not a regular file"),
        _slow({"files": "[1]"}, "option files: expected a JSON list"),
        ({"path": "/absent"}, "/absent: no such file or directory"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_wrong_option_says_what_to_do(
    options: dict[str, str], message: str, source: Callable[..., DataFrame], data: Path
) -> None:
    path = options.get("path", data / "generated-all-types")
    rest = {name: value for name, value in options.items() if name != "path"}
    with pytest.raises(PySparkException) as told:
        source(path, **rest)
    assert_one_line(told.value, message)


def assert_one_line(error: BaseException, message: str) -> None:
    """The text of Spark's error, before the code that it adds."""
    text = str(error).removesuffix("\n SQLSTATE: 38000")
    assert re.search(r"Error: " + re.escape(message), text)
    assert "\n" not in text


@pytest.mark.parametrize(
    "name",
    [
        "kraft_log",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("kraft_snapshot", "kraft_replica")),
    ],
)
def test_a_wrong_path_is_one_line_when_it_is_loaded(
    name: str, source: Callable[..., DataFrame], data: Path, tmp_path: Path
) -> None:
    node = data / "kafka-4.1.1-dynamic" / "final" / "1" / METADATA_FOLDER
    log, snapshot = next(node.glob("*.log")), next(node.glob("*.checkpoint"))
    (tmp_path / "notes.txt").write_text("no log")
    other, told = {
        "kraft_log": (
            snapshot,
            'a snapshot, which spark.read.format("kraft_snapshot") reads, and not "kraft_log"',
        ),
        "kraft_snapshot": (
            log,
            'a segment, which spark.read.format("kraft_log") reads, and not "kraft_snapshot"',
        ),
        "kraft_replica": (log, "a single file; kraft_replica reads directories"),
    }[name]
    wrong = {
        tmp_path / "absent": "no such file or directory",
        tmp_path: "no metadata directory below it; expected a __cluster_metadata-0 folder",
        other: told,
    }
    if name != "kraft_replica":
        wrong[tmp_path / "notes.txt"] = "neither a segment nor a snapshot"
    for path, message in wrong.items():
        with pytest.raises(PySparkException) as error:
            source(path, name)
        assert_one_line(error.value, f"{path}: {message}")


@rights.needs_linux
def test_what_may_not_be_read_is_named_when_it_is_loaded(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / "generated-all-types", tmp_path / METADATA_FOLDER)
    log = tmp_path / METADATA_FOLDER / f"{0:020d}.log"
    log.chmod(0)
    code = (
        "import sys\n"
        "from pipelines.sources.kraft_log import KraftLogDataSource\n"
        "try:\n"
        "    KraftLogDataSource({'path': sys.argv[1]}).schema()\n"
        "except Exception as error:\n"
        "    print(f'{type(error).__name__}: {error}')\n"
    )
    done = rights.python("-c", code, tmp_path)
    assert done.stdout == f"UnreadableFileError: {log}: Permission denied\n", done.stderr
