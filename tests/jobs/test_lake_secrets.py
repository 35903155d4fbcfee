"""Nothing in a redacted lake, nor in what is made of it, lets a guess of a secret be checked."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run
from pipelines.lake import Lake
from pipelines.lake.seal import is_sealed
from replica.format.capture import capture_id
from replica.format.content_hash import hash_chain
from replica.format.directory import read_directory
from replica.format.file_names import METADATA_FOLDER
from replica.format.known_file import headers_hash
from replica.format.segment import scan
from tests.jobs.conftest import Kraftlake
from tests.secret_log import batch, config, plain, write_node

pytestmark = pytest.mark.spark

PASSWORD = "changeit117"  # noqa: S105 - nobody's
T1, T2, T3 = (f"2026-11-21T0{hour}:00Z" for hour in (1, 2, 3))
LOG = f"{METADATA_FOLDER}/{0:020d}.log"


def log(password: str, batches: int = 6) -> bytes:
    """A log that holds the password in the batch at offset 1."""
    values = [config("ssl.keystore.password", password), *(plain(f"t{n}") for n in range(2, 99))]
    held = [plain("first"), *values][:batches]
    return b"".join(batch(offset, [value]) for offset, value in enumerate(held))


def tells(node: Path) -> set[str]:
    """What anybody can compute of a node's directory with the right password in it."""
    found: set[str] = set()
    for path in sorted(node.rglob("*")):
        if not path.is_file() or path.suffix not in (".log", ".checkpoint"):
            continue
        content = path.read_bytes()
        found |= {hashlib.sha256(content).hexdigest(), hash_chain(content).digest}
        batches = scan(content).batches
        headers = [content[one.position :][:61] for one in batches]
        for end in range(1, len(batches) + 1):
            found |= {headers_hash(headers[:end]), hashlib.sha256(headers[end - 1]).hexdigest()}
        for one in batches:
            if PASSWORD.encode() in content[one.position :][: one.header.size_bytes]:
                found |= {str(one.header.crc), f"{one.header.crc:08x}"}
    directory = read_directory(str(node / METADATA_FOLDER))
    assert directory.replica is not None
    return {*found, capture_id(directory.replica, directory.files)}


def table_texts(lake: Path) -> Iterator[str]:
    """Every row of every table, and Delta's own logs."""
    for folder in sorted(lake.glob("*/*/_delta_log")):
        yield from (path.read_text() for path in sorted(folder.glob("*.json")))
        table = DeltaTable(str(folder.parent))
        for file in table.file_uris():
            yield from map(repr, parquet.read_table(file).to_pylist())


def other_texts(lake: Path) -> Iterator[str]:
    """The small files beside the tables, the key apart."""
    for path in sorted(lake.rglob("*")):
        if path.is_file() and path.suffix not in (".parquet", ".crc") and path.suffix != ".key":
            yield path.read_bytes().decode("latin-1")


def query(lake: Path, table: str, sql: str) -> list[tuple[Any, ...]]:
    found: Any = (
        QueryBuilder()
        .register("t", DeltaTable(str(lake / table.replace(".", "/"))))
        .execute(sql)
        .read_all()
    )
    return list(zip(*(found.column(name).to_pylist() for name in found.column_names), strict=True))


def words(texts: Iterator[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"[0-9a-f]+|\d+", text)}


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two nodes that hold the password, and their lake, into which they came twice:
    the log of the first had grown meanwhile."""
    folder = tmp_path_factory.mktemp("secrets")
    nodes = [write_node(folder / str(n), n, log(PASSWORD)) for n in (1, 2)]
    paths, lake = [str(node) for node in nodes], str(folder / "lake")
    assert run(IngestOptions(paths, Lake(lake), captured_at=T1)) == 0
    (nodes[0] / LOG).write_bytes(log(PASSWORD, 9))
    assert run(IngestOptions(paths, Lake(lake), captured_at=T2)) == 0
    return folder


@pytest.fixture
def lake(begun: Path, tmp_path: Path) -> Path:
    """The test's own copy, with the nodes beside it."""
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake"


def all_tells(folder: Path) -> set[str]:
    """Of both nodes, also as the first was before it grew."""
    grown = tells(folder / "1") | tells(folder / "2")
    (folder / "1" / LOG).write_bytes(log(PASSWORD))
    found = {tell for tell in grown | tells(folder / "1") if len(tell) > 7}
    assert len(found) > 20
    return found


def test_no_crc_hash_or_id_in_bronze_checks_a_guess(lake: Path, tmp_path: Path) -> None:
    held = all_tells(tmp_path)
    for texts in (list(table_texts(lake)), list(other_texts(lake))):
        assert len(texts) > 5
        assert not words(iter(texts)) & held
        assert not any(PASSWORD in text for text in texts)


@pytest.mark.slow
def test_nothing_derived_from_a_lake_confirms_a_guess_of_a_secret(
    lake: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    assert kraftlake("build", "--lake", lake).code == 0
    page = tmp_path / "report.html"
    assert kraftlake("report", "--lake", lake, "-o", page).code == 0
    printed = [
        kraftlake(*command.split(), "--lake", lake)
        for command in ("state --json", "lake --json", f"publish --to {tmp_path / 'feed'}")
    ]
    assert [ended.code for ended in printed] == [0, 0, 0]
    feed = (path.read_text() for path in (tmp_path / "feed").rglob("*") if path.is_file())
    shown = [page.read_text(), *(ended.out + ended.err for ended in printed), *feed]
    held = all_tells(tmp_path)
    for texts in (list(table_texts(lake)), list(other_texts(lake)), shown):
        assert not words(iter(texts)) & held
        assert not any(PASSWORD in text for text in texts)


def test_equal_batches_and_files_are_equal_over_nodes_and_captures(lake: Path) -> None:
    crcs = query(lake, "bronze.log_batches", "SELECT base_offset, node_id, crc, last_seen FROM t")
    by_offset: dict[int, list[int]] = {}
    for base_offset, _, crc, last_seen in crcs:
        by_offset.setdefault(base_offset, []).append(crc)
        assert last_seen is None
    assert {base: len(found) for base, found in by_offset.items()} == {
        **dict.fromkeys(range(6), 2),
        **dict.fromkeys(range(6, 9), 1),
    }
    assert all(len(set(found)) == 1 for found in by_offset.values())
    whole = scan(log(PASSWORD, 9)).batches
    own = {base: [one.header.crc] for base, one in enumerate(whole)}
    assert {base: found[:1] for base, found in by_offset.items() if base != 1} == {
        base: crc for base, crc in own.items() if base != 1
    }
    records = query(lake, "bronze.log_records", "SELECT base_offset, node_id, crc FROM t")
    assert sorted(records) == sorted(row[:3] for row in crcs)
    hashes = query(lake, "bronze.snapshots", "SELECT DISTINCT content_sha256 FROM t")
    assert [is_sealed(text) for (text,) in hashes] == [True]
    files = query(lake, "bronze.captures", "SELECT files FROM t")
    assert all(is_sealed(file["sha256"]) for (found,) in files for file in found)


def test_the_same_captures_again_are_known(
    lake: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    for options in ((), ("--verify",)):
        again = kraftlake(
            "ingest",
            "--json",
            "--captured-at",
            T3,
            "--lake",
            lake,
            *options,
            tmp_path / "1",
            tmp_path / "2",
        )
        assert again.code == 0
        assert {row["rows"] for row in again.rows} == {0}


def test_a_batch_that_rots_stays_the_one_that_the_lake_knows(
    lake: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    path = tmp_path / "2" / LOG
    content = bytearray(path.read_bytes())
    for one in scan(content).batches[1:3]:
        content[one.position + 61 : one.position + 64] = b"\xff\xff\xff"
    path.write_bytes(content)
    ended = kraftlake("ingest", "--lake", lake, "--captured-at", T3, tmp_path / "2", "--verify")
    assert ended.code == 1
    rows = query(
        lake,
        "bronze.log_batches",
        "SELECT base_offset, crc_valid, last_seen, truncated_at FROM t WHERE node_id = 2",
    )
    assert sorted(rows) == [(base, True, None, None) for base in range(6)]


def test_a_lake_that_hides_secrets_refuses_to_keep_them_and_vice_versa(
    spark: SparkSession, lake: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    node = tmp_path / "1"
    kept = kraftlake("ingest", "--lake", lake, "--keep-secrets", node)
    assert (kept.code, "hides secrets" in kept.error) == (2, True)
    other = tmp_path / "other"
    for options in (("--captured-at", T1, "--keep-secrets"), ("--captured-at", T2)):
        ended = kraftlake("ingest", "--lake", other, *options, node)
        assert ended.code == 0
        assert ("guesses of secrets can be checked" in ended.err) == (len(options) == 2)
    crcs = query(other, "bronze.log_batches", "SELECT base_offset, crc FROM t")
    own = scan(log(PASSWORD, 9)).batches
    assert sorted(crcs) == [(one.header.base_offset, one.header.crc) for one in own]


def test_another_key_than_the_lakes_is_refused(
    lake: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    (lake / "_redaction.key").write_bytes(b"another")
    ended = kraftlake("ingest", "--lake", lake, tmp_path / "1")
    assert ended.code == 2
    assert ended.error.startswith(f"{lake}/_redaction.key: not the key that the lake was made with")
    (lake / "_redaction.key").unlink()
    assert kraftlake("ingest", "--lake", lake, tmp_path / "1").code == 2
    assert not (lake / "_redaction.key").exists()
