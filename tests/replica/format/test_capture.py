"""capture.json, and the ids of captures and groups."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cli.moments import capture_moment_of
from replica.errors import CorruptDataError, DataError, UnsupportedDataError, UsageError
from replica.format.capture import (
    CaptureInfo,
    capture_id,
    capture_time,
    decode,
    encode,
    group_id,
    parse_time,
)
from replica.format.directory import DirectoryFile
from replica.format.file_names import classify
from replica.model.keys import ReplicaId

REPLICA = ReplicaId("cluster", 1, "dir")


def found(path: str, size: int = 3, digest: str = "ab") -> DirectoryFile:
    return DirectoryFile(path, classify(path.rsplit("/", 1)[-1]), size, digest)


_ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5))])


@given(st.datetimes(datetime(1970, 1, 2), datetime(2261, 12, 30), timezones=_ZONES))  # noqa: DTZ001
def test_capture_json_keeps_its_time_to_the_millisecond(moment: datetime) -> None:
    kept = decode(encode(CaptureInfo(moment))).captured_at
    assert kept == moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert kept.tzinfo is UTC


def test_capture_json_says_of_a_fragment_that_it_is_one() -> None:
    moment = datetime(2026, 11, 21, 5, tzinfo=UTC)
    assert decode(encode(CaptureInfo(moment, is_fragment=True))).is_fragment
    assert b"is_fragment" not in encode(CaptureInfo(moment))


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_data_error(data: bytes) -> None:
    with pytest.raises(DataError):
        decode(data)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"version": 1}',
        '{"version": 1, "captured_at": 5}',
        '{"version": 1, "captured_at": "yesterday"}',
        '{"version": 1, "captured_at": "0001-01-01T00:00:00+14:00"}',
        '{"version": 1, "captured_at": "9999999999999999999"}',
        '{"version": 1, "captured_at": "²"}',
        '{"version": 1, "captured_at": "2026-11-21T05:00:00Z", "is_fragment": 1}',
        "[" * 100_000,
        "1" * 5000,
    ],
    ids=lambda text: text[:40],
)
def test_capture_json_without_a_time_or_with_another_kind_of_flag_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptDataError):
        decode(text.encode())


@pytest.mark.parametrize("version", ["2", "null", "true", '"1"', "1.0"])
def test_another_version_is_unsupported(version: str) -> None:
    text = f'{{"version": {version}, "captured_at": "2026-11-21T05:00:00Z"}}'
    with pytest.raises(UnsupportedDataError):
        decode(text.encode())


def test_an_error_shows_the_beginning_of_a_long_value_only() -> None:
    with pytest.raises(CorruptDataError) as caught:
        parse_time("x\n" * 10_000)
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T05:00:00.250Z", datetime(2026, 11, 21, 5, 0, 0, 250_000, UTC)),
        ("2026-11-21T05:00:00", datetime(2026, 11, 21, 5, tzinfo=UTC)),
        ("2026-11-21T05:00:00+02:00", datetime(2026, 11, 21, 3, tzinfo=UTC)),
        ("1500", datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)),
    ],
)
def test_a_time_is_iso_8601_or_a_number_of_ms(text: str, expected: datetime) -> None:
    assert parse_time(text) == expected
    assert parse_time(text).tzinfo is UTC


FILES = [found("__cluster_metadata-0/quorum-state"), found("meta.properties", 9, "cd")]


def test_a_capture_id_does_not_depend_on_the_order_or_the_folder_of_its_files() -> None:
    elsewhere = [found("meta.properties", 9, "cd"), found("copy-of-it/quorum-state")]
    assert capture_id(REPLICA, elsewhere) == capture_id(REPLICA, FILES)
    assert len(capture_id(REPLICA, FILES)) == 32


@pytest.mark.parametrize(
    "other",
    [
        [*FILES, found("bootstrap.checkpoint")],
        [FILES[0], found("meta.properties", 8, "cd")],
        [FILES[0], found("meta.properties", 9, "ce")],
        [found("quorum-state"), FILES[1]],
        [found("__cluster_metadata-0/leader-epoch-checkpoint"), FILES[1]],
        [found("__cluster_metadata-0/meta.properties", 9, "cd"), FILES[0]],
    ],
)
def test_any_difference_in_the_files_is_another_capture(other: list[DirectoryFile]) -> None:
    assert capture_id(REPLICA, other) != capture_id(REPLICA, FILES)


@pytest.mark.parametrize(
    "other",
    [ReplicaId("Cluster", 1, "dir"), ReplicaId("cluster", 2, "dir"), ReplicaId("cluster", 1)],
)
def test_another_replica_is_another_capture(other: ReplicaId) -> None:
    assert capture_id(other, FILES) != capture_id(REPLICA, FILES)


def test_a_folder_whose_name_is_not_utf8_has_a_capture_id() -> None:
    assert capture_id(REPLICA, [found("\udcff/quorum-state"), FILES[1]]) == capture_id(
        REPLICA, FILES
    )


def test_a_group_id_depends_on_the_set_of_captures_alone() -> None:
    assert group_id("c", ["a", "b"]) == group_id("c", ["b", "a", "b"])
    assert group_id("c", ["a"]) != group_id("c", ["a", "b"])
    assert group_id("c", ["a"]) != group_id("d", ["a"])


@pytest.mark.parametrize(
    "text",
    ["9999-12-31T00:00Z", "2262-01-01", "1969-12-31T23:59:59Z", "0001-01-01", "9223372036854"],
)
def test_a_time_that_a_lake_s_files_can_t_hold_is_refused(text: str) -> None:
    with pytest.raises(CorruptDataError, match="lies outside of the years 1970 to 2261"):
        capture_time(text)
    with pytest.raises(CorruptDataError, match="1970 to 2261"):
        decode(json.dumps({"version": 1, "captured_at": text}).encode())


@pytest.mark.parametrize("text", ["1970-01-01", "2261-12-31T23:59:59.999Z", "0"])
def test_the_first_and_the_last_time_of_a_lake_are_accepted(text: str) -> None:
    assert capture_time(text).year in (1970, 2261)


def test_a_time_given_for_captures_must_lie_in_the_same_years() -> None:
    assert capture_moment_of("--captured-at", "2026-11-21T05:00Z") is not None
    with pytest.raises(UsageError, match=r"--captured-at 9999-12-31: .* the years 1970 to 2261"):
        capture_moment_of("--captured-at", "9999-12-31")
