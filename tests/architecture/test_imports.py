"""Which folder may import which: the rules of rules.py, applied to every module."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import rules

REPOSITORY = Path(__file__).parents[2]


def test_the_tree_keeps_the_rules() -> None:
    assert "replica.errors" in rules.modules(REPOSITORY), "the checker sees the tree"
    found = rules.violations(REPOSITORY)
    assert not found, "\n".join(["", *found])


def test_the_table_names_folders_that_can_exist() -> None:
    for folder, allowed in rules.ALLOWED.items():
        tops = {folder.split(".")[0], *(other.split(".")[0] for other in allowed)}
        assert tops <= {*rules.TOP_LEVEL}
        assert "jobs" not in allowed or folder == "kraftlake"
        if folder.startswith("replica"):
            assert all(other.startswith("replica.") for other in allowed)


PLANTED = [
    ("replica/format/a.py", "import pyspark", "imports pyspark: replica runs without Spark"),
    ("replica/format/a.py", "from replica.metadata import image", "replica.format may import"),
    ("replica/format/a.py", "from ..metadata import image", "replica.format may import"),
    ("replica/format/__init__.py", "from ..history import epochs", "replica.format may import"),
    ("replica/history/a.py", "import replica.format.batch", "replica.history may import"),
    ("replica/scan/a.py", "from replica.history import epochs", "replica.scan may import"),
    ("replica/scan/a.py", "from numba import njit", "only replica.scan.kernels imports numba"),
    ("replica/node/a.py", "def f():\n    import pipelines.delta", "replica runs without Spark"),
    ("replica/raft/a.py", "import time", "sans-I/O"),
    ("replica/raft/a.py", "import os.path", "sans-I/O"),
    ("replica/raft/a.py", "from random import Random", "sans-I/O"),
    ("replica/raft/a.py", "from replica.storage import log", "replica.raft may import"),
    ("replica/storage/a.py", "from replica.raft.core import Raft", "replica.storage may import"),
    ("replica/storage/a.py", "from replica.raft import core", "replica.storage may import"),
    ("replica/wire/a.py", "from replica import raft", "replica.wire may import"),
    ("replica/odd/a.py", "from replica.format import batch", "add a row for it"),
    ("pipelines/a.py", "from replica.raft import core", "pipelines may import"),
    ("pipelines/a.py", "from jobs.cli import main as cli", "nothing imports jobs"),
    ("pipelines/a.py", "from delta.tables import DeltaTable", "only pipelines.delta imports delta"),
    ("pipelines/silver/a.py", "from pipelines.bronze import x", "derived from bronze's tables"),
    ("pipelines/bronze/a.py", "import pipelines.replay.x", "derived from bronze's tables"),
    ("jobs/a.py", "import great_expectations", "only pipelines.quality imports"),
    ("pipelines/a.py", "import pyarrow.parquet as pq", "only pipelines.data_files imports"),
    ("jobs/a.py", "s = SparkSession.builder.getOrCreate()", "builds a Spark session"),
    ("jobs/a.py", "s = SparkContext()", "builds a Spark session"),
    ("pipelines/a.py", "spark.sparkContext.setJobDescription('x')", "asks Spark's JVM"),
    ("jobs/a.py", "log = spark._jvm.org.apache.x", "asks Spark's JVM"),
    ("pipelines/a.py", "rows = df.rdd.collect()", "asks Spark's JVM"),
    ("jobs/a.py", "df.write.format('delta').mode('append').save(p)", "writes a table"),
    ("pipelines/a.py", "df.write.saveAsTable('x')", "writes a table"),
    ("pipelines/a.py", "df.writeTo('x').append()", "writes a table"),
    ("pipelines/a.py", "df.writeStream.format('delta').start(p)", "writes a table"),
]


@pytest.mark.parametrize(("path", "code", "message"), PLANTED)
def test_a_planted_violation_is_caught(tmp_path: Path, path: str, code: str, message: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(f'"""Planted."""\n{code}\n')

    found = rules.violations(tmp_path)

    line = 2 + code.count("\n")
    assert len(found) == 1, found
    assert found[0].startswith(f"{path}:{line} ")
    assert message in found[0]


HARMLESS = [
    ("replica/metadata/a.py", "from replica.format.batch import Batch"),
    ("replica/metadata/a.py", "from .schema import SCHEMA"),
    ("replica/storage/a.py", "from replica.history import epochs\nimport os, time"),
    ("replica/raft/a.py", "from replica.format.record import batch_size"),
    ("replica/wire/a.py", "from replica.errors import DataError\nfrom replica import model"),
    (
        "pipelines/silver/a.py",
        "from pipelines.in_memory import x\nfrom replica.history import epochs",
    ),
    ("pipelines/delta/tables.py", "from delta.tables import DeltaTable\ndf.write.save(p)"),
    ("pipelines/spark/session.py", "SparkSession.builder.getOrCreate()"),
    ("jobs/cli/main.py", "from replica.node import voter\nfrom pipelines.delta import append"),
    ("jobs/a.py", "file.write('x')\nnumpy.save(p, a)\nthread.start()"),
]


@pytest.mark.parametrize(("path", "code"), HARMLESS)
def test_allowed_imports_pass(tmp_path: Path, path: str, code: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(f'"""Fine."""\n{code}\n')
    assert rules.violations(tmp_path) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = [" <-> ".join(names) for names in rules.circles(REPOSITORY)]
    assert not found, "\n".join(["", *found])


CIRCLES = [
    ({"jobs/a.py": "from jobs.b import f", "jobs/b.py": "import jobs.a"}, ("jobs.a", "jobs.b")),
    (
        {"jobs/a.py": "def f():\n    from jobs import b", "jobs/b.py": "from .a import f"},
        ("jobs.a", "jobs.b"),
    ),
    (
        {
            "replica/wire/a.py": "from replica.wire.b import f",
            "replica/wire/b.py": "from replica.wire.c import f",
            "replica/wire/c.py": "if TYPE_CHECKING:\n    from replica.wire.a import f",
        },
        ("replica.wire.a", "replica.wire.b", "replica.wire.c"),
    ),
]


@pytest.mark.parametrize(("files", "circle"), CIRCLES)
def test_a_planted_circle_is_found(
    tmp_path: Path, files: dict[str, str], circle: tuple[str, ...]
) -> None:
    files = {**files, "jobs/d.py": "from jobs.a import f"}
    for name, code in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'"""Planted."""\n{code}\n')

    assert rules.circles(tmp_path) == [circle]
