"""What the lake's newest captures tell of files, read without Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.capture.known import KnownCaptures, known_column, seal_of
from pipelines.lake import Lake
from pipelines.lake.seal import OPEN, Seal
from replica.errors import UsageError
from replica.format.known_file import BatchPlace, KnownFile
from replica.model.keys import ReplicaId

NOON = datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)
ONE, OTHER = ReplicaId("cluster", 1, "disk-a"), ReplicaId("cluster", 1, "disk-b")
HASH = "aa" * 32
FILE = KnownFile(
    size_bytes=900,
    content_hash=HASH,
    sound_bytes=700,
    next_offset=12,
    record_count=12,
    chunk_hash="bb" * 32,
    headers_hash="cc" * 32,
    landmarks=(BatchPlace(0, 0, 200), BatchPlace(600, 10, 61)),
    places=(BatchPlace(0, 0, 200),),
)
LOG = f"__cluster_metadata-0/{0:020d}.log"
PLACES = pa.list_(
    pa.struct([(name, pa.int64()) for name in ("position", "base_offset", "size_bytes")])
)
KNOWN = pa.struct(
    [
        *((name, pa.int64()) for name in ("sound_bytes", "next_offset", "record_count")),
        *((name, pa.string()) for name in ("chunk_hash", "headers_hash")),
        *((name, PLACES) for name in ("landmarks", "places")),
    ]
)
FILES = pa.list_(
    pa.struct(
        [
            ("path", pa.string()),
            ("size_bytes", pa.int64()),
            ("sha256", pa.string()),
            ("known", KNOWN),
        ]
    )
)


def write(
    lake: Path,
    *rows: tuple[ReplicaId, str, datetime, KnownFile | None],
    seal: Seal = OPEN,
) -> None:
    """bronze.captures with a log for each row, and a deleted segment beside the last one."""
    captures = [
        {
            "capture_id": capture_id,
            "cluster_id": replica.cluster_id,
            "node_id": replica.node_id,
            "directory_id": replica.directory_id,
            "captured_at": at,
            "files": [
                _file(LOG, known, seal),
                *([_file(LOG + ".deleted", None, seal)] if last else []),
            ],
        }
        for last, (replica, capture_id, at, known) in zip(
            (row is rows[-1] for row in rows), rows, strict=True
        )
    ]
    schema = pa.schema(
        [
            ("capture_id", pa.string()),
            ("cluster_id", pa.string()),
            ("node_id", pa.int32()),
            ("directory_id", pa.string()),
            ("captured_at", pa.timestamp("us", "UTC")),
            ("files", FILES),
        ]
    )
    table = pa.Table.from_pylist(captures, schema)
    write_deltalake(str(lake / "bronze" / "captures"), table)


def _file(path: str, known: KnownFile | None, seal: Seal) -> dict[str, Any]:
    column = None if known is None else known_column(known, seal)
    return {"path": path, "size_bytes": 900, "sha256": seal.close(HASH), "known": column}


def test_the_newest_capture_of_each_replica_is_told(tmp_path: Path) -> None:
    newer = replace(FILE, sound_bytes=800)
    hour = timedelta(hours=1)
    write(
        tmp_path,
        (ONE, "newest", NOON + hour, newer),
        (ONE, "old", NOON, FILE),
        (OTHER, "other disk", NOON - hour, None),
    )
    known = KnownCaptures(Lake(tmp_path))
    one, other = known.of(ONE), known.of(OTHER)
    assert one is not None
    assert (one.capture_id, one.at, one.has_deleted) == ("newest", NOON + hour, False)
    assert one.files == {LOG: newer}
    assert other is not None
    assert (other.at, other.files, other.has_deleted) == (NOON - hour, {}, True)
    assert known.of(ReplicaId("cluster", 2, "disk-a")) is None


def test_a_lake_without_captures_tells_nothing(tmp_path: Path) -> None:
    assert KnownCaptures(Lake(tmp_path)).of(ONE) is None
    assert KnownCaptures(None).of(ONE) is None


def test_captures_whose_data_is_gone_are_an_error_that_names_them(tmp_path: Path) -> None:
    write(tmp_path, (ONE, "a", NOON, FILE))
    for file in (tmp_path / "bronze" / "captures").glob("*.parquet"):
        file.unlink()
    with pytest.raises(UsageError, match=rf"^{tmp_path}/bronze/captures can't be read"):
        KnownCaptures(Lake(tmp_path)).of(ONE)


@pytest.mark.parametrize("keeps_secrets", [True, False])
def test_a_lake_without_captures_is_sealed_unless_it_is_to_keep_secrets(
    tmp_path: Path, keeps_secrets: bool
) -> None:
    found = seal_of(Lake(tmp_path), b"key", keeps_secrets=keeps_secrets)
    assert found == (OPEN if keeps_secrets else Seal(b"key"))


@pytest.mark.parametrize("keeps_secrets", [True, False])
def test_a_lake_whose_hashes_are_plain_stays_as_it_is(tmp_path: Path, keeps_secrets: bool) -> None:
    write(tmp_path, (ONE, "a", NOON, FILE))
    assert seal_of(Lake(tmp_path), b"key", keeps_secrets=keeps_secrets) == OPEN


def test_a_sealed_lake_takes_its_own_key_and_no_secrets(tmp_path: Path) -> None:
    lake, seal = str(tmp_path), Seal(b"key")
    write(tmp_path, (ONE, "a", NOON, FILE), seal=seal)
    assert seal_of(Lake(lake), b"key", keeps_secrets=False) == seal
    one = KnownCaptures(Lake(lake), seal).of(ONE)
    assert one is not None
    assert one.files == {LOG: FILE}
    with pytest.raises(UsageError, match=f"^{lake}: hides secrets, and --keep-secrets"):
        seal_of(Lake(lake), b"key", keeps_secrets=True)
    with pytest.raises(UsageError, match=f"^{lake}/_redaction.key: not the key"):
        seal_of(Lake(lake), b"another", keeps_secrets=False)


def test_files_sealed_with_another_key_are_read_again(tmp_path: Path) -> None:
    write(tmp_path, (ONE, "a", NOON, FILE), seal=Seal(b"another"))
    one = KnownCaptures(Lake(tmp_path), Seal(b"key")).of(ONE)
    assert one is not None
    assert one.files == {}
