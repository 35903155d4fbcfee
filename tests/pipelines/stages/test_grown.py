"""Captures of a quorum that are ingested and built one by one: the tables are those of one build of
all, though what has stayed is neither judged nor folded again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run as ingest
from pipelines import unchanged_logs
from pipelines.bronze import ingest as rounds
from pipelines.build import build
from pipelines.delta import Lake, compacting
from pipelines.lake.delta_rs import newest_versions
from pipelines.last_build import FILE_NAME
from pipelines.runners.local import LocalRunner
from pipelines.stages.grown_cluster import begin_of_runs
from pipelines.tables import quorum as quorum_tables
from pipelines.tables import silver
from pipelines.tables.gold import QUALITY_RESULTS
from pipelines.tables.of_a_lake import DERIVED
from replica.simulate.broken import BrokenInvariantError
from replica.simulate.metadata_records import change_leader, create_topic, no_op
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.pipelines.lake_rows import assert_same, rows

GROWN = "derive what has grown: 1 of grain cluster"


def captures(seed: int, count: int, folder: Path) -> Iterator[Path]:
    """Captures of a quorum whose followers lag, whose leaders fail and are cut off with records of
    their own, and some of whose files are damaged or missing; not always in the order of time."""
    dice = random.Random(seed)
    quorum = ScriptedQuorum(f"grown {seed}", Layout(voters=3, observers=1))
    leader = 1
    quorum.begin("orders", "payments")
    made = []
    with suppress(BrokenInvariantError):  # what the dice ask for can be impossible
        for number in range(count):
            leader = _go_on(quorum, leader, number, dice)
            made.append(quorum.capture())
            if dice.random() < 0.7:
                quorum.heal()
                quorum.run_ms(3_000)
    order = [*range(len(made))]
    if dice.random() < 0.5:
        late = dice.randrange(len(made))
        order.append(order.pop(late))
    for number in order:
        nodes = folder / f"{number:02d}"
        write_capture(made[number], str(nodes))
        if dice.random() < 0.15:
            _damage(nodes, dice)
        if dice.random() < 0.2:
            shutil.rmtree(nodes / str(dice.choice([*quorum.nodes])))
        yield nodes


def _go_on(quorum: ScriptedQuorum, leader: int, number: int, dice: random.Random) -> int:
    """What happens between two captures. Gives the leader."""
    what = dice.choice(["grow", "grow", "grow", "fork", "snapshot"])
    if what == "fork":
        quorum.cut([leader])
        quorum.append(leader, create_topic(f"lost-{number}", quorum.brokers))
        lost, leader = leader, leader % 3 + 1
        quorum.elect(leader)
        quorum.cut([lost])
    quorum.commit(leader, create_topic(f"topic-{number}", quorum.brokers), no_op())
    for _ in range(dice.randrange(4)):
        quorum.append(leader, change_leader("orders", 0, quorum.brokers[0], quorum.brokers))
    if what == "snapshot":
        quorum.snapshot(*dice.sample([*quorum.nodes], 2))
    return leader


def _damage(nodes: Path, dice: random.Random) -> None:
    log = dice.choice(sorted(nodes.glob("*/*/*.log")))
    content = bytearray(log.read_bytes())
    if content:
        content[dice.randrange(len(content))] ^= 0xFF
        log.write_bytes(content)


def built(lake: Path) -> list[str]:
    lines: list[str] = []
    with LocalRunner(at_once=1) as runner:
        build(Lake(lake), runner, lines.append)
    return lines


def built_anew(lake: Path, folder: Path) -> Path:
    shutil.copytree(lake, folder)
    (folder / FILE_NAME).unlink()
    for layer in ("silver", "gold"):
        shutil.rmtree(folder / layer)
    assert GROWN not in "".join(built(folder))
    return folder


def judged(lake: Path) -> list[tuple[object, ...]]:
    """How the tables fared in the newest run."""
    name = QUALITY_RESULTS.name
    found = rows(
        lake,
        f"SELECT table_name, meaning, evaluated_rows, unexpected_rows, sample_keys FROM {name} "
        f"WHERE at = (SELECT max(at) FROM {name}) ORDER BY table_name, meaning",
    )
    return [tuple(vars(one).values()) for one in found]


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged_logs, "LEAST_RECORDS", 0)
    monkeypatch.setattr(rounds, "_ROUNDS_TO_COMPACT", 4)
    monkeypatch.setattr(compacting, "_LEAST_FILES", 3)


def check(seed: int, count: int, tmp_path: Path) -> int:
    """Gives how many builds derived only what has grown."""
    lake, grown = tmp_path / "lake", 0
    nodes = [*captures(seed, count, tmp_path / "captures")]
    for number, capture in enumerate(nodes):
        assert ingest(IngestOptions([str(capture)], Lake(lake))) in (0, 1)
        is_grown = any(GROWN in line for line in built(lake))
        grown += is_grown
        if is_grown or number == len(nodes) - 1:
            anew = built_anew(lake, tmp_path / f"anew {number}")
            assert_same(lake, anew)
            assert judged(lake) == judged(anew)
            shutil.rmtree(anew)
    return grown


@pytest.mark.slow
@pytest.mark.usefixtures("any_size")
def test_captures_built_one_by_one_give_the_tables_of_one_build_of_all(tmp_path: Path) -> None:
    assert check(3, 4, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("seed", range(100, 108))
def test_any_captures_built_one_by_one_give_the_tables_of_one_build_of_all(
    seed: int, tmp_path: Path
) -> None:
    check(seed, 10, tmp_path)


def test_what_has_stayed_ends_where_no_run_goes_on() -> None:
    spans = [(0, 4), (5, 9), (8, 11), (12, 12)]
    kept = pa.table({"base_offset": [b for b, _ in spans], "last_offset": [x for _, x in spans]})
    assert [begin_of_runs(kept, at) for at in (4, 5, 9, 11, 12, 13)] == [0, 5, 5, 5, 12, 13]


@pytest.mark.usefixtures("any_size")
@pytest.mark.slow
def test_a_table_whose_rows_are_the_same_gets_no_commit(tmp_path: Path) -> None:
    quorum = ScriptedQuorum("same rows", Layout(voters=3, observers=1))
    quorum.begin("orders")
    lake, versions = tmp_path / "lake", []
    for number in range(2):
        write_capture(quorum.capture(), str(tmp_path / str(number)))
        assert ingest(IngestOptions([str(tmp_path / str(number))], Lake(lake))) == 0
        built(lake)
        versions.append(newest_versions(Lake(lake), [one.name for one in DERIVED]))
        quorum.commit(1, no_op())
    stayed_as_is = {name for name, version in versions[1].items() if versions[0][name] == version}
    assert {quorum_tables.VOTES.name, quorum_tables.ELECTIONS.name} <= stayed_as_is
    assert not {quorum_tables.REPLICA_STATUS.name, silver.COMMITTED_LOG.name} & stayed_as_is
