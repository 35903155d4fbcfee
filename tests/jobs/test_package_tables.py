"""Tables that installed packages add to a lake: in this process, and by Spark in processes."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY

BUSY = '''\
import pyarrow as pa

from kraftlake import PackageTable

FACTOR = 1

def busy(tables):
    findings = tables["gold.findings"].group_by(["cluster_id", "node_id"]).aggregate(
        [("rule", "count")]
    ).drop_null()
    return pa.table({
        "cluster_id": findings["cluster_id"],
        "node_id": findings["node_id"],
        "findings": pa.compute.multiply(findings["rule_count"], FACTOR),
    })

def kinds(tables):
    counts = tables["silver.committed_log"].group_by("commitment").aggregate([([], "count_all")])
    return counts.rename_columns(["kind", "records"]).drop_null()

def no_table(tables):
    return 7

def ends(tables):
    raise SystemExit("the end")

def other(tables):
    return pa.table({"cluster_id": ["c"], "findings": ["many"], "node_id": [1]})

def table(name, function=busy, columns="", keys=("cluster_id", "node_id"), **more):
    columns = columns or """
        cluster_id string: the cluster
        node_id int: the node
        findings bigint: how many findings are about it
    """
    reads = ["gold.findings"]
    return PackageTable(name, "Findings by node.", columns, keys, reads, function, **more)

BUSY = table("busy_nodes", expect_stop=["findings > 0"], expect_warn=["node_id < 0"])
KINDS = PackageTable("kinds", "Kinds of offsets.", "kind string: a\\nrecords bigint: how many",
                     ["kind"], ["silver.committed_log"], kinds)
'''
BROKEN = """
NO_TABLE = table("no_table", no_table)
ENDS = table("ends", ends)
OTHER = table("other", other)
ODD_TYPE = table("odd_type", columns="cluster_id string: a\\nnode_id interval: b")
ODD_TEXT = table("odd_text", columns="cluster_id: a")
NO_KEY = table("no_key", keys=("rack",))
AGAIN = table("by_node")
SEVEN = 7
STOPPED = table("stopped", expect_stop=["findings < 0"])
"""
RAISES = "raise ImportError('no such library')\n"


@pytest.fixture
def lake(built_lake: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built_lake, tmp_path / "lake"))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this process's path for packages."""
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(folder)
    # a file that is written twice in one second would leave compiled code of its first content
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return folder


def install(folder: Path, package: str, code: str, **points: str) -> None:
    """A package, as pip leaves it, which this process has not imported yet."""
    sys.modules.pop(package, None)
    folder.mkdir(exist_ok=True)
    (folder / f"{package}.py").write_text(code)
    told = folder / f"{package}-1.2.dist-info"
    told.mkdir(exist_ok=True)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    lines = "".join(f"{name} = {package}{value}\n" for name, value in points.items())
    (told / "entry_points.txt").write_text(f"[kraftlake.tables]\n{lines}")
    importlib.invalidate_caches()


def rows_in(lake: Path, name: str) -> list[dict[str, object]]:
    found = DeltaTable(str(lake / "own" / name)).to_pyarrow_table()
    return list(found.sort_by([(one, "ascending") for one in found.column_names]).to_pylist())


def test_an_installed_package_adds_its_tables_to_a_lake_until_it_changes(
    kraftlake: Kraftlake, lake: Path, site: Path
) -> None:
    install(site, "nodes_of_mine", BUSY, busy=":BUSY", kinds=":KINDS")
    first = kraftlake("build", "--lake", lake)
    assert first.code == 0, first.err
    expected = kraftlake(
        "sql", "--lake", lake, "--json",
        "SELECT cluster_id, node_id, count(*) AS findings FROM gold.findings "
        "WHERE node_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2",
    ).rows  # fmt: skip
    assert rows_in(lake, "busy_nodes") == expected
    assert "proven" in [one["kind"] for one in rows_in(lake, "kinds")]
    assert "break 'node_id < 0' (warn)" in first.err
    again = kraftlake("build", "--lake", lake)
    assert again.complaints == ["build: nothing has changed since the last build"]
    judged = kraftlake("quality", "--lake", lake, "--json")
    told = {one["meaning"]: one["success"] for one in judged.rows
            if one["table"] == "own.busy_nodes"}  # fmt: skip
    assert (told["findings > 0"], told["node_id < 0"]) == (True, False)
    install(site, "nodes_of_mine", BUSY.replace("FACTOR = 1", "FACTOR = 3"), busy=":BUSY")
    assert kraftlake("build", "--lake", lake).code == 0
    found = rows_in(lake, "busy_nodes")
    assert found == [{**one, "findings": 3 * one["findings"]} for one in expected]


@pytest.mark.slow
def test_spark_s_tasks_make_the_same_rows(process: Kraftlake, lake: Path, tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    shutil.copytree(lake, other)
    install(site, "nodes_of_mine", BUSY, busy=":BUSY", kinds=":KINDS")
    paths = os.pathsep.join((str(site), str(REPOSITORY)))
    for place, engine in ((lake, "local"), (other, "spark")):
        ended = process("build", "--lake", place, "--engine", engine, PYTHONPATH=paths)
        assert ended.code == 0, ended.err
    for name in ("busy_nodes", "kinds"):
        assert rows_in(lake, name) == rows_in(other, name)
        assert rows_in(lake, name)


def test_a_package_that_breaks_its_contract_is_named_and_stops_no_other_table(
    kraftlake: Kraftlake, lake: Path, site: Path, tmp_path: Path
) -> None:
    own = tmp_path / "tables"
    own.mkdir()
    (own / "by_node.sql").write_text("-- keys: n\nSELECT DISTINCT 1 AS n FROM gold.findings\n")
    points = {
        "a-number": (":SEVEN", "is a int, no kraftlake.PackageTable"),
        "again": (":AGAIN", "by_node.sql defines own.by_node, too"),
        "ends": (":ENDS", "SystemExit: the end"),
        "gone": (":GONE", "AttributeError: "),
        "key": (":NO_KEY", "key 'rack' is no column"),
        "no-table": (":NO_TABLE", "its function gives a int, no pyarrow.Table"),
        "other": (":OTHER", "column findings is no int64"),
        "stopped": (":STOPPED", "rows break 'findings < 0' (stop)"),
        "text": (":ODD_TEXT", "no name, type and description"),
        "type": (":ODD_TYPE", "'interval': no type that a table of a lake has"),
    }
    named = {name: value for name, (value, _) in points.items()}
    install(site, "odd_tables", BUSY + BROKEN, busy=":BUSY", **named)
    install(site, "raises", RAISES, it=":IT")
    shutil.rmtree(lake / "gold" / "votes")
    ended = kraftlake("build", "--lake", lake, "--own", own)
    assert ended.code == 1
    told = ended.complaints[-1]
    assert "package raises (it): ImportError: no such library" in told
    for name, (_, reason) in points.items():
        assert f"package odd_tables ({name}): " in told
        assert reason in told.split(f"package odd_tables ({name}): ")[1].split("; package ")[0]
    assert {one.split()[0] for one in ended.lines} >= {
        "gold.votes",
        "own.by_node",
        "own.busy_nodes",
    }
    assert sorted(one.parent.name for one in lake.glob("own/*/_delta_log")) == [
        "busy_nodes", "by_node",
    ]  # fmt: skip
