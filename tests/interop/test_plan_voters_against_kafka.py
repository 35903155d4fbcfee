"""`kraftlake plan` before voters and levels change in a real quorum, and what Kafka then does. The
cases are rows of PREFLIGHT.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.asked_plan import planned
from tests.interop.controllers import Quorum, made, started
from tests.interop.kafka_jars import NEWEST
from tests.interop.result_page import PREFLIGHT, hold
from tests.waiting import until

pytestmark = pytest.mark.slow


def held(
    quorum: Quorum,
    change: tuple[object, ...],
    case: str,
    do: Callable[[], bool | str],
    *,
    is_live: bool = False,
) -> str:
    """The plan's answer first, then the change; both agree, and are in the table. do: whether Kafka
    took it, or what came of it."""
    answer = planned(quorum.source(is_live=is_live), *change)["answer"]
    done = do()
    did = done if isinstance(done, str) else "done" if done else "refused"
    is_told = answer in ("safe", "nothing-to-do")
    assert is_told == (did == "done"), (change, answer, did, quorum.said[-1:])
    asked = "`-b`" if is_live else "directory"
    hold(PREFLIGHT, (f"`{change[0]}`", case, quorum.nodes[1].version), (asked, answer, did))
    return str(answer)


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quorum]:
    """Three voters of the newest release at metadata.version 4.1-IV1."""
    quorum = made(tmp_path_factory.mktemp("plan"), "--release-version", "4.1", is_static=False)
    try:
        started(quorum, 1, 2, 3)
        yield quorum
    finally:
        quorum.kill()


def test_levels_are_refused_by_kafka_where_they_are_told_to_be(dynamic: Quorum) -> None:
    def case(release: str, like: str, *, is_live: bool = False) -> str:
        change = ("--upgrade", release)
        return held(dynamic, change, like, lambda: dynamic.upgrade(release), is_live=is_live)

    assert case("4.0", "from 4.1-IV1 down to 4.0") == "unsafe"
    older = dynamic.observer(5, "4.1.2")
    until(lambda: is_safe(dynamic, "4.2"), "voters are not registered")
    started(dynamic, 5)
    until(lambda: not is_safe(dynamic, "4.2"), "observer 5 is not registered")
    assert case("4.2", "4.2 beside a controller of 4.1.2") == "unsafe"
    older.kill()
    assert case("4.2", "4.2 after that controller was killed") == "unsafe"
    dynamic.node(5, NEWEST)
    started(dynamic, 5)
    until(lambda: is_safe(dynamic, "4.2"), "observer 5 is not registered anew")
    assert case("4.2", "4.2 with that controller upgraded", is_live=True) == "safe"
    assert case("4.4", "4.4", is_live=True) == "safe"
    assert case("4.3", "from 4.4 down to 4.3") == "unsafe"
    dynamic.nodes[5].kill()


def is_safe(quorum: Quorum, release: str) -> bool:
    answer = planned(quorum.source(is_live=False), "--upgrade", release)
    return bool(answer["answer"] == "safe")


def test_voters_are_added_and_removed_by_kafka_where_it_is_told_to_be_safe(
    dynamic: Quorum,
) -> None:
    def add(node_id: int, like: str, *, is_live: bool = False) -> str:
        change = ("--add-voter", node_id)
        return held(dynamic, change, like, lambda: dynamic.add(node_id), is_live=is_live)

    def remove(node_id: int, like: str, *, is_live: bool = False) -> str:
        change = ("--remove-voter", node_id)
        return held(dynamic, change, like, lambda: dynamic.remove(node_id), is_live=is_live)

    assert add(2, "a voter") == "unsafe"
    dynamic.observer(4)
    assert add(4, "a controller that was never started") == "unknown"
    started(dynamic, 4)
    until(lambda: planned(dynamic.nodes[1].log_dir, "--add-voter", 4)["answer"] == "safe",
          "4 is not registered")  # fmt: skip
    assert add(4, "a controller that observes", is_live=True) == "safe"
    assert remove(9, "a node that is no voter") == "unsafe"
    assert remove(4, "one of four") == "safe"
    leader = dynamic.leader()
    assert remove(leader, "one of three, the leader") == "safe"
    assert add(leader, "the removed leader, again", is_live=True) == "safe"
    assert remove(3, "one of three", is_live=True) == "safe"
    assert remove(2, "one of two") == "safe"
    assert remove(1, "the last one") == "unsafe"
    assert add(2, "a second voter") == "safe"


def test_static_voters_are_refused_changes_until_all_of_them_have_come(tmp_path: Path) -> None:
    quorum = made(tmp_path, is_static=True)

    def case(like: str, *, is_live: bool = False) -> str:
        return held(quorum, ("--to-dynamic",), like, quorum.to_dynamic, is_live=is_live)

    try:
        started(quorum, 1, 2)
        assert case("three voters, one never started") == "unsafe"
        remove = ("--remove-voter", 2)
        assert held(quorum, remove, "a static voter", lambda: quorum.remove(2)) == "unsafe"
        started(quorum, 3)
        until(lambda: planned(quorum.nodes[1].log_dir, "--to-dynamic")["answer"] == "safe",
              "3 is not registered")  # fmt: skip
        assert case("three voters that all run", is_live=True) == "safe"
        assert case("dynamic already") == "nothing-to-do"
    finally:
        quorum.kill()


@pytest.mark.parametrize(
    ("versions", "release", "is_safe", "levels"),
    [
        (("3.9.2",), "3.8", False, (("3.9", "safe"), ("4.0", "unsafe"))),
        (("4.1.2",), "4.0", True, (("4.1", "safe"), ("4.2", "unsafe"))),
        (("4.3.1",), "4.3", True, ()),
        ((NEWEST, NEWEST, "3.9.2"), "3.9", False, (("4.0", "unsafe"),)),
    ],
)
def test_static_voters_of_each_release_become_dynamic_and_are_upgraded_as_told(
    tmp_path: Path,
    versions: tuple[str, ...],
    release: str,
    is_safe: bool,
    levels: tuple[tuple[str, str], ...],
) -> None:
    quorum = made(tmp_path, "--release-version", release, versions=versions, is_static=True)
    like = "one voter" if len(versions) == 1 else f"three voters, one of them of {versions[-1]}"
    try:
        started(quorum, *(range(1, len(versions)) or (1,)))
        started(quorum, *range(2, len(versions) + 1)[-1:])  # the last doesn't lead
        ready = {"safe", "unsafe"}
        until(lambda: planned(quorum.nodes[1].log_dir, "--upgrade", "4.4")["answer"] in ready, "")
        if is_safe:
            until(lambda: planned(quorum.nodes[1].log_dir, "--to-dynamic")["answer"] == "safe", "")
        answer = held(quorum, ("--to-dynamic",), like, quorum.to_dynamic)
        assert answer == ("safe" if is_safe else "unsafe")
        for level, expected in levels:
            change, case = ("--upgrade", level), f"from {release} to {level}, {like}"
            found = held(quorum, change, case, lambda: quorum.upgrade(level))  # noqa: B023
            assert found == expected
    finally:
        quorum.kill()


@pytest.mark.parametrize(
    ("version", "release", "levels"),
    [
        ("4.1.2", "4.1", (("3.9", "unsafe"), ("4.0", "safe"))),
        (NEWEST, "4.4", (("4.3", "unsafe"),)),
        ("3.9.2", "3.9", (("3.8", "safe"), ("3.7", "safe"))),
    ],
)
def test_levels_are_lowered_by_kafka_where_they_are_told_to_be_and_by_no_force_elsewhere(
    tmp_path: Path, version: str, release: str, levels: tuple[tuple[str, str], ...]
) -> None:
    quorum = made(tmp_path, "--release-version", release, versions=(version,), is_static=True)
    try:
        started(quorum, 1)
        same = ("--downgrade", release)
        until(lambda: planned(quorum.nodes[1].log_dir, *same)["answer"] == "nothing-to-do", "")
        for level, expected in levels:
            change, case = ("--downgrade", level), f"from {release} to {level}, one voter"
            found = held(quorum, change, case, lambda: quorum.downgrade(level))  # noqa: B023
            assert found == expected
            assert expected == "safe" or not quorum.downgrade(level, "--unsafe")
    finally:
        quorum.kill()
