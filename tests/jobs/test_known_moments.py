"""A moment that no capture tells about is an error that names the end; nothing is guessed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.output import time_text
from tests.jobs.conftest import Kraftlake
from tests.pipelines.report.small_lake import CLUSTER, Rows, at, held, replica, together, write_lake

OTHER = "cluster-B"
CAPTURED = at(100)
BUILT_END = 10


def batch(offset: int, count: int, seconds: float, **more: Any) -> Rows:
    """A batch of records, each a second after the one before it, on the agreed branch; all three
    replicas hold it."""
    found: Rows = {"bronze.log_batches": [], "bronze.log_records": [], "silver.committed_log": []}
    for node in (1, 2, 3):
        rows = held(node, offset, 1, (1, 1))
        (one,), (record,) = rows["bronze.log_batches"], rows["bronze.log_records"]
        times = {"base_timestamp": at(seconds), "max_timestamp": at(seconds + count - 1)}
        found["bronze.log_batches"].append(
            {**one, "last_offset": offset + count - 1, "record_count": count, **times, **more}
        )
        found["bronze.log_records"] += [
            {**record, "offset": offset + n, "timestamp": at(seconds + n), **more}
            for n in range(count)
        ]
    crc = found["bronze.log_batches"][0]["crc"]
    found["silver.committed_log"] = [
        {"offset": offset + n, "leader_epoch": 1, "crc": crc, "commitment": "proven", **more}
        for n in range(count)
    ]
    return found


def topic(name: str, since: int, seconds: float, **more: Any) -> dict[str, Any]:
    """A version of gold.metadata_history."""
    value = json.dumps({"name": name, "topicId": name}, separators=(",", ":"), sort_keys=True)
    return {
        **{"entity": "topic", "key": name, "name": name, "value": value, "leader_epoch": 1},
        **{"valid_from_offset": since, "record_offset": since},
        "valid_from": at(seconds),
        **more,
    }


def status(node: int, captured_at: datetime, agreed_end: int, **more: Any) -> dict[str, Any]:
    """A row of gold.replica_status."""
    return {
        **replica(node),
        **{"capture_group": f"g{captured_at}", "capture_id": f"{node}-{captured_at}"},
        **{"captured_at": captured_at, "is_latest": True, "last_append_time": at(14)},
        **{"log_end_offset": agreed_end, "agreed_end_offset": agreed_end, **more},
    }


def history(*rows: dict[str, Any]) -> Rows:
    return {"gold.metadata_history": list(rows)}


def replica_status(*rows: dict[str, Any]) -> Rows:
    return {"gold.replica_status": list(rows)}


def known(start: int, end: int, **more: Any) -> Rows:
    """The end offsets, from `start` to `end`, at which the state is known."""
    return {"gold.state_ranges": [{"from_offset": start, "to_offset": end, **more}]}


def one_cluster() -> Rows:
    """Offsets 0 to 9: one batch at each full ten seconds from the beginning."""
    return together(
        batch(0, 5, 0),
        batch(5, 5, 10),
        history(topic("a", 0, 0), topic("b", 7, 12)),
        replica_status(*(status(node, CAPTURED, BUILT_END) for node in (1, 2, 3))),
        known(0, BUILT_END),
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lake(tmp_path_factory.mktemp("lake"), one_cluster())


@pytest.fixture(scope="module")
def two_clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The other's log ends at 5, begins at 50 s, and was captured at 200 s."""
    other = together(
        batch(0, 5, 50, cluster_id=OTHER),
        history(topic("c", 1, 51, cluster_id=OTHER)),
        replica_status(status(1, at(200), 5, cluster_id=OTHER, last_append_time=at(54))),
        known(0, 5, cluster_id=OTHER),
    )
    return write_lake(tmp_path_factory.mktemp("lake"), together(one_cluster(), other))


ENGINES = [
    "delta-rs",
    # test_sql_views holds Spark's answers to those of delta-rs, at an offset and at a time
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow]),
]
TOPICS = "select topic from gold.topics_at order by topic"


def topics(kraftlake: Kraftlake, lake: Path, *options: str) -> list[str]:
    ended = kraftlake("sql", "--lake", lake, "--json", *options, TOPICS)
    assert ended.code == 0, ended.err
    return [row["topic"] for row in ended.rows]


def of_state(kraftlake: Kraftlake, lake: Path, *options: str) -> list[str]:
    ended = kraftlake("state", "--lake", lake, "--json", *options)
    assert ended.code == 0, ended.err
    return [row["key"] for row in ended.rows]


def ms(moment: datetime) -> str:
    return str(int(moment.timestamp() * 1000))


BEHIND_THE_CAPTURE = CAPTURED + timedelta(days=30)
LATE = (
    f"--at-time {time_text(BEHIND_THE_CAPTURE)}: the newest capture in the built tables is of "
    f"{time_text(CAPTURED)}; its log goes up to offset 9, {time_text(at(14))}"
)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--at-time", ms(BEHIND_THE_CAPTURE), LATE),
        ("--at-offset", "99999", "--at-offset 99999: the log end offset is 10"),
        ("--at-offset", "11", "--at-offset 11: the log end offset is 10"),
    ],
)
def test_a_moment_behind_the_newest_capture_is_an_error_that_names_the_end(
    kraftlake: Kraftlake, lake: Path, option: str, value: str, said: str
) -> None:
    ended = kraftlake("state", "--lake", lake, option, value)
    assert (ended.code, ended.error) == (2, said)
    ended = kraftlake("state", "--lake", lake, "--diff", "1", value)
    assert (ended.code, ended.error) == (2, said.replace(option, "--diff"))
    for engine in ("delta-rs", "spark"):  # refused before either is asked
        ended = kraftlake("sql", "--lake", lake, option, value, "--engine", engine, TOPICS)
        assert (ended.code, ended.error) == (2, said)


@pytest.mark.parametrize("moment", [CAPTURED, CAPTURED - timedelta(seconds=1), at(19)])
def test_a_time_up_to_that_of_the_capture_is_known(
    kraftlake: Kraftlake, lake: Path, moment: datetime
) -> None:
    assert of_state(kraftlake, lake, "--at-time", ms(moment)) == ["a", "b"]
    assert topics(kraftlake, lake, "--at-time", ms(moment)) == ["a", "b"]
    late = ms(CAPTURED + timedelta(milliseconds=1))
    assert kraftlake("state", "--lake", lake, "--at-time", late).code == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_moment_that_is_known_is_answered_alike_by_state_and_views(
    kraftlake: Kraftlake, lake: Path, engine: str
) -> None:
    by = ("--engine", engine)
    moments: tuple[tuple[tuple[str, ...], list[str]], ...] = (
        (("--at-offset", "7"), ["a"]),
        (("--at-offset", "8"), ["a", "b"]),
        (("--at-offset", "10"), ["a", "b"]),
        (("--at-time", ms(at(11))), ["a"]),
        (("--at-time", ms(at(12))), ["a", "b"]),
        ((), ["a", "b"]),
    )
    for moment, expected in moments:
        assert of_state(kraftlake, lake, *moment) == expected, moment
        assert topics(kraftlake, lake, *moment, *by) == expected, moment


def test_a_capture_that_was_not_built_yet_makes_nothing_known(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    later = {**replica(1), "captured_at": at(500), "log_end_offset": 40}
    write_lake(tmp_path, together(one_cluster(), {"bronze.captures": [later]}))
    ended = kraftlake("state", "--lake", tmp_path, "--at-time", ms(at(400)))
    assert ended.code == 2
    assert f"the newest capture in the built tables is of {time_text(CAPTURED)}" in ended.error


def test_a_late_capture_of_a_replica_that_lags_makes_nothing_known(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    lagging = replica_status(status(3, at(500), 5))
    write_lake(tmp_path, together(one_cluster(), lagging))
    ended = kraftlake("sql", "--lake", tmp_path, "--at-time", ms(at(400)), TOPICS)
    assert ended.code == 2
    assert f"is of {time_text(CAPTURED)}; its log goes up to offset 9" in ended.error


def test_records_that_are_newer_than_the_capture_s_clock_are_known(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    behind = replica_status(status(1, at(-1000), BUILT_END))
    rows = {**one_cluster(), **behind}
    write_lake(tmp_path, rows)
    assert of_state(kraftlake, tmp_path, "--at-time", ms(at(14))) == ["a", "b"]
    assert kraftlake("state", "--lake", tmp_path, "--at-time", ms(at(400))).code == 2


def test_a_moment_below_the_log_start_is_an_error_in_the_views_too(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    from_snapshot = {"record_offset": None, "valid_from": None}
    rows = together(
        batch(5, 5, 10),
        history(topic("a", 4, 0, **from_snapshot), topic("b", 7, 12)),
        replica_status(status(1, CAPTURED, BUILT_END)),
        known(5, BUILT_END),
    )
    write_lake(tmp_path, rows)
    assert topics(kraftlake, tmp_path, "--at-offset", "5") == ["a"]
    for command in (["state"], ["sql", TOPICS]):
        ended = kraftlake(*command, "--lake", tmp_path, "--at-offset", "4")
        assert ended.code == 2
        assert ended.error.startswith(
            "the state up to offset 3: the lake holds neither the whole log"
        )
        ended = kraftlake(*command, "--lake", tmp_path, "--at-time", ms(at(3)))
        assert ended.code == 2
        assert ended.error.endswith(f"the log begins at {time_text(at(10))}")


def test_a_whole_log_before_its_first_entity_has_an_empty_state(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    rows = together(
        batch(0, 5, 0),
        history(topic("a", 3, 3)),
        replica_status(status(1, CAPTURED, 5)),
        known(0, 5),
    )
    write_lake(tmp_path, rows)
    for moment in (("--at-offset", "2"), ("--at-time", ms(at(1)))):
        assert of_state(kraftlake, tmp_path, *moment) == []
        assert topics(kraftlake, tmp_path, *moment) == []


def test_of_several_clusters_the_one_whose_log_ends_before_the_moment_is_named(
    kraftlake: Kraftlake, two_clusters: Path
) -> None:
    ended = kraftlake("sql", "--lake", two_clusters, "--at-offset", "8", TOPICS)
    assert (ended.code, ended.error) == (
        2,
        f"--at-offset 8: the log end offset is 5 in cluster {OTHER}; --cluster C asks the views "
        "about one cluster",
    )
    assert topics(kraftlake, two_clusters, "--at-offset", "5") == ["a", "c"]
    assert topics(kraftlake, two_clusters, "--at-offset", "8", "--cluster", CLUSTER) == ["a", "b"]
    assert topics(kraftlake, two_clusters, "--cluster", OTHER) == ["c"]


def test_a_cluster_is_empty_before_its_whole_log_begins(
    kraftlake: Kraftlake, two_clusters: Path
) -> None:
    assert topics(kraftlake, two_clusters, "--at-time", ms(at(20))) == ["a", "b"]
    assert topics(kraftlake, two_clusters, "--at-time", ms(at(60))) == ["a", "b", "c"]


def test_a_cluster_for_a_query_without_a_view_and_one_that_nobody_knows_are_errors(
    kraftlake: Kraftlake, lake: Path
) -> None:
    ended = kraftlake("sql", "--lake", lake, "--cluster", CLUSTER, "select 1")
    assert ended.code == 2
    assert ended.error.startswith("--at-offset, --at-time and --cluster are for the views, and the")
    ended = kraftlake("sql", "--lake", lake, "--cluster", "nobody", TOPICS)
    assert (ended.code, ended.error) == (2, f"--cluster nobody: the lake has {CLUSTER}")
