"""A lake in a real object store, filled and built as docs/how-to/object-stores.md says, holds what
the same lake on a disk holds, and is asked alike."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from jobs.cli.asking.sql_delta_rs import rows
from pipelines.capture.spool import PLACE_VARIABLE
from pipelines.lake import Lake
from pipelines.lake.claims import FOLDER as CLAIMS
from pipelines.lake.redaction import FILE_NAME as KEY
from pipelines.lake.tables import tables_of
from pipelines.spark.s3a_jars import S3A
from pipelines.tables.bronze import BRONZE
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER
from tests.kraftlake_process import REPOSITORY, kraftlake
from tests.object_stores.s3_server import S3Server

# Not `spark`: nearly all of it is in processes of its own, which run beside the tests of that mark.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not S3A.jars, reason="tests.object_stores.s3a_closure has not written them"),
]

CLUSTER = "kafka-3.7.2-static"
LAKE, CAPTURES = "s3://bucket/lake", "s3://bucket/captures"
PAGE = REPOSITORY / "docs" / "how-to" / "object-stores.md"
WITHIN_S = 900
"""For one command: each of Delta's commits asks the store some ten times."""
OF_THE_INGEST = ("ingest_seq", "round_name", "seen_in_round", "has_own_time")
"""Columns that say how a capture came in: in which order, below which folder, and whether a
manifest told when it was made."""


def commands() -> list[list[str]]:
    """What the page says to type."""
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return [shlex.split(line)[1:] for line in block.splitlines()]


def run(*words: str) -> str:
    """What a command prints."""
    ended = kraftlake(*words, within_s=WITHIN_S)
    assert ended.returncode == 0, (words, ended.stderr)
    return ended.stdout


@pytest.fixture(scope="module")
def bucket(server: S3Server) -> Iterator[Path]:
    """Where the store keeps the bucket of LAKE; everybody here is its user."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.variables.items():
            patch.setenv(name, value)
        yield server.make_bucket("bucket")


@pytest.fixture(scope="module")
def said(
    bucket: Path, data: Path, built_lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, str]:
    """What each of the page's commands printed, by its name. Its captures are followed by those
    of the same nodes at later moments. The lake has the key of `built_lake`: capture ids and
    fingerprints depend on it."""
    (bucket / "lake").mkdir()
    shutil.copy(built_lake / KEY, bucket / "lake")
    folder = tmp_path_factory.mktemp("page")
    printed = {}
    for words in commands():
        # processes run in the repository
        given = [str(data / CLUSTER / "live" / w[6:]) if w[:6] == "nodes/" else w for w in words]
        given = [str(folder / w) if w.endswith(".html") else w for w in given]
        printed[words[0]] = run(*given)
        if words[0] == "capture":
            for moment in ("split", "final"):
                run("capture", str(data / CLUSTER / moment), "-o", f"{CAPTURES}/{moment}")
    printed["page"] = (folder / "incident.html").read_text(encoding="utf-8")
    return printed


def contents(lake: str, contract: Contract, cluster: str, places: Mapping[str, str]) -> list[str]:
    """The cluster's rows as sorted text. places: what differs between lakes -> what stands for
    it."""
    names = [f'"{name}"' for name in contract.column_names if name not in OF_THE_INGEST]
    query = f"SELECT {', '.join(names)} FROM {contract.name} WHERE cluster_id = '{cluster}'"
    found = []
    for row in rows(Lake(lake), query):
        text = json.dumps(list(row), default=str)
        for here, same in places.items():
            text = text.replace(here, same)
        found.append(text)
    return sorted(found)


def moments(lake: str, cluster: str) -> dict[str, str]:
    """The times of the lake's captures, which are of its ingests -> their order."""
    query = f"SELECT DISTINCT captured_at FROM bronze.captures WHERE cluster_id = '{cluster}'"
    times = sorted(str(row[0]) for row in rows(Lake(lake), query))
    return {time: f"time {number}" for number, time in enumerate(times)}


def test_a_lake_in_a_store_holds_what_a_local_one_holds(
    said: Mapping[str, str], built_lake: Path, data: Path
) -> None:
    query = "SELECT DISTINCT cluster_id FROM bronze.captures"
    ((cluster,),) = rows(Lake(LAKE), query)
    local = str(built_lake)
    remote_places = moments(LAKE, cluster) | {f"{CAPTURES}/": "", "/node-": "/"}
    local_places = moments(local, cluster) | {f"{data / CLUSTER}/": ""}
    compared = 0
    for contract in (*BRONZE, *SILVER, *GOLD):
        if "cluster_id" in contract.column_names:
            here = contents(LAKE, contract, cluster, remote_places)
            assert here == contents(local, contract, cluster, local_places), contract.name
            compared += len(here)
    assert compared > 5000
    assert set(tables_of(Lake(LAKE))) == set(tables_of(Lake(local)))


def test_a_lake_in_an_object_store_answers_as_a_local_one(said: Mapping[str, str]) -> None:
    assert "Lr3U" not in said["sql"]
    (leads,) = said["sql"].splitlines()[2:]
    assert leads.split()[1:4] == ["8", "3", "750"]  # epoch, leader, from which offset on
    assert said["state"].count("partition") > 10
    assert "<html" in said["page"]
    assert "gold.findings" in said["lake"]
    assert "gold.findings" in said["maintain"]
    query = "select count(*) as n from bronze.log_records"
    by_spark = run("sql", "--lake", LAKE, "--engine", "spark", "--json", query)
    assert json.loads(by_spark) == json.loads(run("sql", "--lake", LAKE, "--json", query))


def test_a_lake_in_a_store_has_the_same_small_files_as_a_local_one(
    said: Mapping[str, str], bucket: Path, built_lake: Path
) -> None:
    root = bucket / "lake"
    assert (root / "_schema_version").read_text() == (built_lake / "_schema_version").read_text()
    assert (root / KEY).read_bytes() == (built_lake / KEY).read_bytes()
    assert not [path for path in (root / CLAIMS).glob("*") if path.is_file()]
    pages = {path.name for path in (root / "_quality").iterdir()}
    assert pages == {path.name for path in (built_lake / "_quality").iterdir()}


def test_a_lake_in_an_object_store_ingests_nothing_twice_and_continues_a_stream(
    said: Mapping[str, str],
    bucket: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = "s3://bucket/copy"
    shutil.copytree(bucket / "lake", bucket / "copy")
    again = run("ingest", "--lake", lake, "--json", CAPTURES)
    assert {json.loads(line)["rows"] for line in again.splitlines()} == {0}
    node = data / "kafka-4.1.1-dynamic" / "live" / "1"
    monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path))
    streamed = run("ingest", "--lake", lake, "--json", "--available-now", str(node))
    rows = {row["table"]: row["rows"] for row in map(json.loads, streamed.splitlines())}
    assert rows["bronze.captures"] == 1
    assert rows["bronze.log_records"] > 100
    run("forget", "--lake", lake, "--cluster", cluster_of(lake, node), "--yes")
    count = "select count(*) as n from bronze.log_records"
    assert run("sql", "--lake", lake, count) == run("sql", "--lake", LAKE, count)


def cluster_of(lake: str, node: Path) -> str:
    text = (node / "meta.properties").read_text()
    (cluster,) = re.findall(r"^cluster\.id=(.*)$", text, re.M)
    return str(cluster)
