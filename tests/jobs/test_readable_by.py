"""check --readable-by and plan --downgrade-binaries find what an older release can't read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

RULE = "unreadable-by-release"


@pytest.fixture
def final(recorded: Path) -> Path:
    return recorded / "kafka-4.4.0-dynamic" / "final"


def test_check_names_the_release_that_can_not_read_the_files(
    kraftlake: Kraftlake, final: Path
) -> None:
    ended = kraftlake("check", "--json", "--readable-by", "4.3", final)
    found = [row for row in ended.rows if row.get("rule") == RULE]
    assert ended.code == 1
    assert {row["family"] for row in found} == {"files"}
    assert {row["message"].partition(":")[0] for row in found} == {
        "metadata.version", "share.version"
    }  # fmt: skip
    (fact,) = (one for one in ended.verdicts[0]["facts"] if one["rules"] == [RULE])
    assert fact["level"] == "attention"


@pytest.mark.parametrize(("release", "is_kept"), [("4.1", True), ("4.3", True), ("4.4", False)])
def test_check_and_plan_say_alike_whether_kafka_lowers_the_level(
    kraftlake: Kraftlake, final: Path, release: str, is_kept: bool
) -> None:
    """Kafka goes back from 4.4-IV2 to no older release: 4.4-IV1 changed what records say."""
    node, refuses = final / "1", "Kafka refuses to lower it"
    (lowered,) = kraftlake("plan", "--json", "--downgrade", release, node).answers
    assert (lowered["answer"] == "unsafe") == is_kept
    found = kraftlake("check", "--json", "--readable-by", release, node).findings
    levels = [row for row in found if row["message"].startswith("metadata.version: ")]
    assert all(refuses in row["message"] for row in levels)
    assert bool(levels) == is_kept
    (run,) = kraftlake("plan", "--json", "--downgrade-binaries", release, node).answers
    of_level = [one for one in run["reasons"] if one["subject"] == "metadata.version"]
    assert [refuses in one["detail"] for one in of_level] == [True] * is_kept


def test_check_finds_nothing_for_the_release_that_wrote_the_files(
    kraftlake: Kraftlake, final: Path
) -> None:
    asked = kraftlake("check", "--json", "--readable-by", "4.4", final)
    assert asked.out == kraftlake("check", "--json", final).out


def test_plan_answers_for_all_nodes_and_names_its_runbook(
    kraftlake: Kraftlake, final: Path
) -> None:
    ended = kraftlake("plan", "--json", "--downgrade-binaries", "4.3", final)
    (row,) = (one for one in ended.rows if one["kind"] == "plan")
    assert (ended.code, row["answer"], row["runbook"]) == (1, "unsafe", "downgrade")
    assert [one["subject"] for one in row["reasons"]] == ["metadata.version", "share.version"]
    assert kraftlake("plan", "--downgrade-binaries", "4.4", final).code == 0


@pytest.mark.spark
@pytest.mark.parametrize("quorum", ["kafka-3.7.2-static", "kafka-4.1.1-dynamic"])
@pytest.mark.parametrize("release", ["3.7", "4.0", "4.1"])
def test_plan_answers_by_a_lake_as_by_the_directories_in_it(
    kraftlake: Kraftlake, recorded: Path, built_lake: Path, quorum: str, release: str
) -> None:
    final = recorded / quorum / "final"
    meta = (final / "1" / "meta.properties").read_text()
    cluster = meta.partition("cluster.id=")[2].split()[0]
    asked = ("plan", "--json", "--downgrade-binaries", release)
    (told,) = (one for one in kraftlake(*asked, final).rows if one["kind"] == "plan")
    ended = kraftlake(*asked, "--lake", built_lake, "--cluster", cluster)
    (held,) = (one for one in ended.rows if one["kind"] == "plan")
    judged = [one for one in told["reasons"] if one["subject"] != "bootstrap.checkpoint"]
    assert (held["answer"], held["reasons"]) == (told["answer"], judged)
    own = "bootstrap.checkpoint of each node has to be readable too: a lake doesn't hold this file"
    assert held["needs"] == [own, *told["needs"]]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("plan", "--downgrade-binaries", "4.3", "--lake", "lake", "--at-offset", "5"),
            "--downgrade-binaries judges what the nodes would read now",
        ),
        (("plan", "--downgrade-binaries", "5.0", "node"), "--downgrade-binaries 5.0: expected"),
        (("check", "--readable-by", "2.8", "node"), "--readable-by 2.8: expected one of 3.7"),
    ],
)
def test_wrong_options_are_told(
    kraftlake: Kraftlake, arguments: tuple[str, ...], told: str
) -> None:
    ended = kraftlake(*arguments)
    assert ended.code == 2
    assert told in ended.err
