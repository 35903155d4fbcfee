"""`kraftlake redact`, `capture --redacted`: copies that show no secret and give equal findings."""

from __future__ import annotations

import json
import os
import tarfile
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from replica.format.file_names import METADATA_FOLDER
from replica.format.index import decode_offset_index
from replica.format.segment import scan
from tests.jobs.conftest import Kraftlake
from tests.secret_log import SECRET, write_node

QUICK = ("kafka-3.7.2-static/split", "kafka-4.1.1-dynamic/live", "kafka-4.4.0-dynamic/final")
RECORDED = [
    pytest.param(recorded, marks=() if recorded in QUICK else pytest.mark.slow)
    for cluster in ("kafka-3.7.2-static", "kafka-4.1.1-dynamic", "kafka-4.4.0-dynamic")
    for capture in ("live", "split", "final")
    if (recorded := f"{cluster}/{capture}")
]


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def places(kraftlake: Kraftlake, folder: Path) -> list[tuple[Any, ...]]:
    """Of each finding which rule it is of, in which node's file, and at which offset."""
    told = (json.loads(line) for line in kraftlake("check", "--json", folder).lines)
    return sorted(
        (
            row["rule"],
            row["severity"],
            row["file"].removeprefix(str(folder)).replace("node-", ""),
            str(row["offset"]),
            str(row["epoch"]),
        )
        for row in told
        if "rule" in row
    )


def leaves(value: Any) -> Iterator[str]:
    """The texts of a decoded record, in their order."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    elif isinstance(value, str):
        yield value


def secrets_in(kraftlake: Kraftlake, source: Path) -> set[bytes]:
    """All that `dump` hides, as it is in the files, but for what it shows in another field, and
    what is shorter than 8 bytes and so may be anywhere by chance."""
    shown = kraftlake("dump", "--json", "--keep-secrets", source).rows
    hidden = kraftlake("dump", "--json", source).rows
    found: set[str] = set()
    for open_row, row in zip(shown, hidden, strict=True):
        pairs = zip(leaves(open_row.get("data")), leaves(row.get("data")), strict=True)
        found |= {text for text, other in pairs if text != other}
    found -= {text for row in hidden for text in leaves(row.get("data"))}
    return {one for text in found for one in forms(text) if len(one) >= 8}


def forms(text: str) -> Iterator[bytes]:
    """A value as text, and as the bytes that it stands for in base64."""
    yield text.encode()
    with suppress(ValueError):
        yield b64decode(text, validate=True)


@pytest.mark.parametrize("recorded", RECORDED)
def test_a_copy_of_every_recorded_cluster_shows_no_secret_and_gives_equal_findings(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, recorded: str
) -> None:
    copy, source = tmp_path / "copy", data / recorded
    names = ("--names",) if recorded.endswith("split") else ()
    assert kraftlake("redact", *names, source, "-o", copy).code == 0
    assert places(kraftlake, copy) == places(kraftlake, source)
    assert set(files_below(copy)) - {"capture.json"} == {
        f"node-{path}" for path in files_below(source)
    }
    assert_no_secret_of(kraftlake, source, copy)


def assert_no_secret_of(kraftlake: Kraftlake, source: Path, copy: Path) -> None:
    secrets = secrets_in(kraftlake, source)
    before, after = (b"".join(files_below(folder).values()) for folder in (source, copy))
    assert sum(secret in before for secret in secrets) >= 3, "the search finds what is there"
    assert [secret for secret in secrets if secret in after] == []


def test_a_copy_of_a_folder_with_all_record_types_is_found_by_check_and_shows_no_secret(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    """The folder has no quorum-state and another name than Kafka gives to a metadata log."""
    copy, source = tmp_path / "copy", data / "generated-all-types"
    kraftlake("redact", source, "-o", copy)
    of_copy, of_source = (
        [(rule, severity, *rest) for rule, severity, _, *rest in places(kraftlake, folder)]
        for folder in (copy, source)
    )
    assert of_copy == of_source != []
    assert_no_secret_of(kraftlake, source, copy)


def test_a_copy_of_recorded_logs_shows_no_name(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    source = data / "kafka-4.4.0-dynamic" / "final"
    kraftlake("redact", "--names", source, "-o", tmp_path / "copy")
    names = {
        row["data"]["name"]
        for row in kraftlake("dump", "--json", "--type", "TOPIC_RECORD", source).rows
        if not row["data"]["name"].startswith("__")
    }
    assert names, "the recorded cluster has topics"
    content = b"".join(files_below(tmp_path / "copy").values())
    for text in names:
        assert text.encode() not in content


def test_a_log_with_a_secret_in_every_place_shows_none(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    node = write_node(tmp_path / "nodes" / "1")
    (node / "quorum.properties").write_text(
        f"controller.quorum.voters=1@a:9093\nssl.keystore.password={SECRET}\n"
    )
    (node / METADATA_FOLDER / "quorum-state").write_text(f"broken {SECRET}")
    assert kraftlake("redact", node, "-o", tmp_path / "copy").code == 1, "there is damage"
    for path, content in files_below(tmp_path / "copy").items():
        assert SECRET.encode() not in content, path
    kept = (tmp_path / "copy/node-1/quorum.properties").read_text()
    assert kept == "controller.quorum.voters=1@a:9093\n"
    assert places(kraftlake, tmp_path / "copy") == places(kraftlake, node.parent)


def test_equal_secrets_are_equal_over_the_nodes_of_a_copy_and_over_copies_of_one_key(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    for number in (1, 2):
        write_node(tmp_path / "nodes" / str(number), number)
    (tmp_path / "key").write_bytes(b"k" * 32)
    for copy in ("a", "b"):
        options = "--redact-key", tmp_path / "key"
        kraftlake("redact", *options, tmp_path / "nodes", "-o", tmp_path / copy)
    kraftlake("redact", tmp_path / "nodes", "-o", tmp_path / "other")
    log = f"{METADATA_FOLDER}/{0:020d}.log"
    first = (tmp_path / "a/node-1" / log).read_bytes()
    assert first == (tmp_path / "a/node-2" / log).read_bytes()
    assert first == (tmp_path / "b/node-1" / log).read_bytes()
    assert first != (tmp_path / "other/node-1" / log).read_bytes()


def test_an_index_points_at_the_batches_of_the_new_log(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    source = data / "kafka-4.4.0-dynamic" / "final"
    kraftlake("redact", "--names", source, "-o", tmp_path / "copy")
    entries = 0
    for path in (tmp_path / "copy").rglob("*.index"):
        batches = scan(path.with_suffix(".log").read_bytes()).batches
        starts = {batch.position for batch in batches}
        for entry in decode_offset_index(path.read_bytes()).entries:
            assert entry.position in starts
            entries += 1
    assert entries, "the recorded cluster has indexes"


def test_a_copy_of_a_capture_has_the_time_of_the_capture(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    kraftlake("capture", data / "kafka-3.7.2-static/live", "-o", tmp_path / "capture")
    kraftlake("redact", tmp_path / "capture", "-o", tmp_path / "copy")
    times = [
        json.loads((tmp_path / one / "capture.json").read_text())["captured_at"]
        for one in ("capture", "copy")
    ]
    assert times[0] == times[1]


def test_captures_of_two_times_are_refused(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    for name in ("a", "b"):
        kraftlake("capture", data / "kafka-3.7.2-static/live/1", "-o", tmp_path / "c" / name)
        shown = tmp_path / "c" / name / "capture.json"
        moved = json.loads(shown.read_text())
        moved["captured_at"] = f"2026-11-2{ord(name) - ord('a')}T05:00:00.000Z"
        shown.write_text(json.dumps(moved))
    ended = kraftlake("redact", tmp_path / "c", "-o", tmp_path / "copy")
    assert ended.code == 2
    assert "one capture at a time" in ended.error
    assert not (tmp_path / "copy").exists()


def test_a_folder_that_is_not_empty_is_refused(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    ended = kraftlake("redact", data / "kafka-3.7.2-static/live", "-o", tmp_path / "full")
    assert ended.code == 2
    assert "not empty" in ended.error


def test_a_capture_can_be_redacted_as_it_is_taken(tmp_path: Path, kraftlake: Kraftlake) -> None:
    node = write_node(tmp_path / "1")
    before = files_below(node)
    kraftlake("capture", "--redacted", node, "-o", tmp_path / "capture")
    assert SECRET.encode() not in b"".join(files_below(tmp_path / "capture").values())
    assert files_below(node) == before
    refused = kraftlake("capture", "--names", node, "-o", tmp_path / "other")
    assert refused.error == "--names goes with --redacted"


@pytest.mark.parametrize("names", [(), ("--names",)])
def test_one_archive_holds_the_copies_and_the_last_lines_say_what_is_readable_in_it(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, names: tuple[str, ...]
) -> None:
    source, archive = data / QUICK[0], tmp_path / "for-the-vendor.tar.gz"
    ended = kraftlake("redact", *names, source, "-o", archive)
    assert ended.code == 0
    *_, readable, last = ended.lines
    assert "hosts, racks, IP addresses" in readable
    assert ("--names" in readable) is not bool(names)
    assert last == f"next: kraftlake check {archive}"
    assert os.listdir(tmp_path) == [archive.name]
    assert archive.stat().st_mode & 0o777 == 0o600
    told = [json.loads(line) for line in kraftlake("check", "--json", archive).lines]
    whole = [json.loads(line) for line in kraftlake("check", "--json", source).lines]
    rules = [[row["rule"] for row in rows if "rule" in row] for rows in (told, whole)]
    assert sorted(rules[0]) == sorted(rules[1])
    with tarfile.open(archive) as packed:
        members = packed.getmembers()
        packed.extractall(tmp_path / "unpacked", filter="data")
    assert {(one.uid, one.uname, one.mtime) for one in members} == {(0, "", 0)}
    assert_no_secret_of(kraftlake, source, tmp_path / "unpacked")


def test_an_archive_that_is_there_or_can_t_be_made_is_refused(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    source, archive = data / QUICK[0], tmp_path / "sent.tar.gz"
    archive.write_bytes(b"mine")
    ended = kraftlake("redact", source, "-o", archive)
    assert (ended.code, archive.read_bytes()) == (2, b"mine")
    assert "is there already" in ended.err
    ended = kraftlake("redact", source, "-o", tmp_path / "nowhere" / "sent.tar.gz")
    assert ended.code != 0
    assert "nowhere" in ended.err
    assert os.listdir(tmp_path) == ["sent.tar.gz"]


def test_the_short_ending_is_an_archive_too_and_another_kind_of_archive_is_refused(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    """A folder named as an archive looks as if it could be sent."""
    archive = tmp_path / "sent.tgz"
    ended = kraftlake("redact", data / QUICK[0], "-o", archive)
    assert (ended.code, tarfile.is_tarfile(archive)) == (0, True)
    assert all("bytes copied without secrets" in one for one in ended.complaints)
    for name in ("sent.zip", "sent.tar.xz"):
        refused = kraftlake("redact", data / QUICK[0], "-o", tmp_path / name)
        assert (
            refused.error == f"-o {tmp_path / name}: name the archive NAME.tar.gz, or name a folder"
        )
    assert os.listdir(tmp_path) == ["sent.tgz"]
