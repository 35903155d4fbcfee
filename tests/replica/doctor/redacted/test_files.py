"""The files beside a log without secrets: of each stays what its format means, and nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from replica.doctor.redacted.files import RedactedFiles
from replica.doctor.redacted.record_redactor import RecordRedactor
from replica.format import index, meta_properties, quorum_state
from replica.format.byte_source import OpenFile, all_bytes
from replica.format.content_hash import CHUNK_BYTES, content_hash
from replica.format.file_names import classify
from replica.format.index import OffsetIndex, OffsetIndexEntry
from replica.format.reading import SMALL_BYTES, open_file, own_source
from replica.metadata.redact import Redactor
from tests.secret_log import SECRET, batch, config, plain


def files() -> RedactedFiles:
    return RedactedFiles(RecordRedactor(Redactor(b"a key of these tests")), own_source)


def test_meta_properties_keeps_who_the_replica_is_and_no_other_key_or_comment() -> None:
    known = "version=1\nnode.id=2\ncluster.id=Lr3UIdBxT-GFPYE5uprmrg\n"
    data = f"# {SECRET}\nssl.key.password={SECRET}\n{known}".encode()
    made = bytes(all_bytes(files().content("/node/meta.properties", data)))
    assert made.decode() == known
    assert meta_properties.decode(made).replica == meta_properties.decode(data).replica


@pytest.mark.parametrize("version", [0, 1])
def test_quorum_state_keeps_the_vote_and_no_other_key(version: int) -> None:
    state = quorum_state.new_state(
        version=version, leader_id=1, leader_epoch=7, current_voters=(1, 2)[: 2 - 2 * version]
    )
    sound = quorum_state.encode(state)
    path = "/node/__cluster_metadata-0/quorum-state"
    assert files().content(path, sound) == sound
    odd = json.dumps({**json.loads(sound), "note": SECRET}).encode()
    assert files().content(path, odd) == sound


@pytest.mark.parametrize(
    "name", ["leader-epoch-checkpoint", "partition.metadata", "00000000000000000000.timeindex"]
)
def test_the_small_files_of_a_recorded_directory_stay_as_kafka_wrote_them(
    data: Path, name: str
) -> None:
    for path in (data / "kafka-4.1.1-dynamic/final").glob(f"*/__cluster_metadata-0/{name}"):
        assert files().content(str(path), path.read_bytes()) == path.read_bytes()


def test_an_index_without_its_log_tells_no_sizes(tmp_path: Path) -> None:
    entries = (OffsetIndexEntry(10, 4711), OffsetIndexEntry(20, 815_000))
    path = tmp_path / "00000000000000000000.index"
    made = files().content(str(path), index.encode_offset_index(OffsetIndex(entries, 16)))
    assert index.decode_offset_index(bytes(all_bytes(made))) == OffsetIndex(
        (OffsetIndexEntry(10, 0), OffsetIndexEntry(20, 1)), 16
    )


def test_a_large_log_is_redacted_outside_of_memory_and_once_for_its_index_too(
    tmp_path: Path,
) -> None:
    first = batch(0, [plain("a"), config("ssl.key.password", SECRET)])
    second = batch(2, [plain("b")])
    log, reads = tmp_path / "00000000000000000000.log", []
    log.write_bytes(first + second)
    with log.open("ab") as file:
        file.truncate(SMALL_BYTES + 1)
    redacted = RedactedFiles(
        RecordRedactor(Redactor(b"key")), lambda *asked: reads.append(asked) or own_source(*asked)
    )
    entries = index.encode_offset_index(OffsetIndex((OffsetIndexEntry(2, len(first)),)))
    place = redacted.content(str(log.with_suffix(".index")), entries)
    with open_file(str(log), 2**31) as opened:
        made = redacted.content(str(log), opened)
    assert isinstance(made, OpenFile)
    content = all_bytes(made)
    assert SECRET.encode() not in content
    ((_, position),) = (
        (one.relative_offset, one.position)
        for one in index.decode_offset_index(bytes(all_bytes(place))).entries
    )
    assert content[position:].startswith(second)
    assert len(reads) == 1
    assert redacted.content(str(log), own_source(str(log), 2**31)) is made, "it wasn't made again"


def test_a_log_with_other_bytes_of_the_same_hash_is_redacted_anew() -> None:
    name = "00000000000000000000.log"
    chunk = batch(0, [plain("a")]).ljust(CHUNK_BYTES, b"\0")
    end = batch(1, [config("ssl.key.password", SECRET)])
    long, short = chunk + end, hashlib.sha256(chunk).digest() + end
    assert content_hash(classify(name), long) == content_hash(classify(name), short)
    redacted = files()
    assert redacted.content(f"/node/{name}", long) == files().content(f"/node/{name}", long)
    assert redacted.content(f"/node/{name}", short) == files().content(f"/node/{name}", short)
