"""Kafka's MetadataBatchLoader and image writer as a process (ImageDriver.java)."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pipelines.spark.java import find_java
from replica.metadata.codec import decode, encode
from replica.metadata.image.image import Image
from replica.metadata.image.replay import Replay
from replica.metadata.image.settings import METADATA_VERSION
from replica.metadata.record import MetadataRecord
from tests.interop.kafka_jars import NEWEST, class_path
from tests.replica.metadata.image.sequences import Commit

_DRIVER = Path(__file__).with_name("ImageDriver.java")
_INT = struct.Struct(">i")


@dataclass(frozen=True)
class Published:
    """An image that Kafka published.

    last_offset: of the last record that it contains.
    failed: whether applying the delta threw, so that the image is the one before.
    image: read back from records that hold everything; None where Kafka fails to write it (a
        security protocol that doesn't exist).
    own: the records by the image's own features; None where image is None, where it has no
        metadata.version, or where its records can't hold everything (ELR in an old
        PARTITION_RECORD).
    """

    last_offset: int
    failed: bool
    image: Image | None
    own: tuple[MetadataRecord, ...] | None


@dataclass(frozen=True)
class KafkaReplay:
    """The result of a replay. refused: offsets of the records whose replay threw."""

    refused: frozenset[int]
    images: tuple[Published, ...]


class ImageDriver:
    """A context manager around the JVM. `replay` runs one sequence. version: Kafka's."""

    def __init__(self, version: str = NEWEST) -> None:
        self.version = version
        self._process = subprocess.Popen(
            [str(find_java().executable), "-Xmx512m", "-cp", class_path(version), str(_DRIVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # slf4j has no binding, and prints that
        )

    def __enter__(self) -> ImageDriver:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def replay(self, commits: Seq[Commit]) -> KafkaReplay:
        """Kafka's result for the commits; offsets count from 0."""
        out, answer = self._process.stdin, self._process.stdout
        assert out is not None
        assert answer is not None
        out.write(_framed(commits))
        out.flush()
        refused = frozenset(_int(answer) for _ in range(_int(answer)))
        return KafkaReplay(refused, tuple(_published(answer) for _ in range(_int(answer))))


def _framed(commits: Seq[Commit]) -> bytes:
    parts = [_INT.pack(len(commits))]
    for commit in commits:
        parts.append(_INT.pack(len(commit)))
        for batch in commit:
            parts.append(_INT.pack(len(batch)))
            for record in batch:
                value = encode(record)
                parts += (_INT.pack(len(value)), value)
    return b"".join(parts)


def _published(answer: IO[bytes]) -> Published:
    last_offset, failed, version = _int(answer), _int(answer), _int(answer)
    full = _records(answer)
    image = None if full is None else _image(full, version)
    return Published(last_offset, bool(failed), image, _records(answer))


def _image(records: tuple[MetadataRecord, ...], metadata_version: int) -> Image:
    """The image of the records, except the metadata.version in whose terms they are."""
    replay = Replay()
    for index, record in enumerate(records):
        if record.type == "FEATURE_LEVEL_RECORD" and record.fields["name"] == METADATA_VERSION:
            record = record.with_fields({"featureLevel": metadata_version})
            if not metadata_version:
                continue
        refusal = replay.apply(index, record)
        assert refusal is None, (refusal, record)
    return replay.image()


def _records(answer: IO[bytes]) -> tuple[MetadataRecord, ...] | None:
    count = _int(answer)
    if count < 0:
        return None
    records = [decode(_exactly(answer, _int(answer))) for _ in range(count)]
    assert all(isinstance(record, MetadataRecord) for record in records)
    return tuple(record for record in records if isinstance(record, MetadataRecord))


def _int(answer: IO[bytes]) -> int:
    return int(_INT.unpack(_exactly(answer, _INT.size))[0])


def _exactly(answer: IO[bytes], size: int) -> bytes:
    data = answer.read(size)
    assert len(data) == size, "the driver died"
    return data
