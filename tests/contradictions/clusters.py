"""The clusters whose answers are compared: recorded clusters, the simulator's named scenarios, and
its seeds. Each seed also gives a cluster that has lost disks, and a cluster with a voter whose disk
is an older copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from random import Random

from replica.format.file_names import METADATA_FOLDER
from replica.simulate.node_files import Files
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from tests.contradictions.truth import Truth, captured_run

DATA = Path(__file__).parents[1] / "data"
RECORDED = ("kafka-3.7.2-static", "kafka-4.1.1-dynamic", "kafka-4.4.0-dynamic")
ROUNDS = ("live", "split", "final")


@dataclass(frozen=True)
class Given:
    """The directories of one cluster that a person has. looks: the files of each node, by the
    capture's name, the oldest first. truth: None where no simulator knows it. is_whole: whether
    every disk is there and unchanged."""

    name: str
    cluster_id: str
    looks: Mapping[str, Mapping[int, Files]]
    truth: Truth | None = None
    is_whole: bool = True
    went_back: int | None = None

    @property
    def newest(self) -> Mapping[int, Files]:
        return list(self.looks.values())[-1]


@cache
def recorded(name: str) -> Given:
    """A recorded cluster. name: CLUSTER/ROUND; it has the captures up to this round."""
    cluster, _, newest = name.partition("/")
    rounds = ROUNDS[: ROUNDS.index(newest) + 1]
    looks = {f"{n}-{one}": _on_disk(DATA / cluster / one) for n, one in enumerate(rounds)}
    files = next(iter(looks["0-live"].values()))
    cluster_id = files["meta.properties"].decode().partition("cluster.id=")[2].split()[0]
    return Given(name.replace("/", "-"), cluster_id, looks)


@cache
def scenario(name: str) -> Given:
    capture = SCENARIOS_BY_NAME[name].capture()
    return Given(name, capture.cluster_id, {"0-told": capture.files})


def seed(number: int) -> Given:
    run = captured_run(number)
    first, second = run.captures
    looks = {"0-first": first.files, "1-second": second.files}
    is_whole = len(second.files) == run.truth.nodes
    return Given(f"seed-{number}", second.cluster_id, looks, run.truth, is_whole)


def seed_with_lost_disks(whole: Given, number: int) -> Given:
    """The newest capture of a seed, without one or more of its nodes."""
    draws = Random(f"lost disks of {number}")
    nodes = sorted(whole.newest)
    left = sorted(draws.sample(nodes, draws.randrange(1, len(nodes))))
    looks = {"1-second": {node_id: whole.newest[node_id] for node_id in left}}
    name = f"{whole.name}-left-{'-'.join(map(str, left))}"
    return Given(name, whole.cluster_id, looks, whole.truth, is_whole=False)


def seed_with_old_disk(whole: Given, number: int) -> Given | None:
    """The newest capture of a seed, with one voter's disk as it was at the first capture, as after
    a restore from a backup. None where that disk hasn't changed, was replaced, or doesn't exist."""
    draws = Random(f"old disk of {number}")
    first = whole.looks["0-first"]
    node_id = draws.choice(sorted(first))
    old, new = first[node_id], whole.newest.get(node_id)
    if new is None or old == new or old["meta.properties"] != new["meta.properties"]:
        return None
    looks = {"1-second": {**whole.newest, node_id: old}}
    name = f"{whole.name}-old-{node_id}"
    return Given(name, whole.cluster_id, looks, whole.truth, False, node_id)


def seed_that_went_back(whole: Given, number: int) -> Given | None:
    """All captures of a seed, and a third one with the old disk."""
    old = seed_with_old_disk(whole, number)
    if old is None:
        return None
    looks = {**whole.looks, "2-third": old.newest}
    return replace(old, name=f"{whole.name}-back-{old.went_back}", looks=looks)


def named(name: str) -> Given:
    """The cluster with this name: a scenario's name, CLUSTER/ROUND of a recorded cluster, or
    seed-N, seed-N-left, seed-N-old or seed-N-back."""
    if "/" in name:
        return recorded(name)
    if not name.startswith("seed-"):
        return scenario(name)
    _, number, *kind = name.split("-")
    whole = _seed(int(number))
    kinds = {
        "left": seed_with_lost_disks, "old": seed_with_old_disk, "back": seed_that_went_back
    }  # fmt: skip
    return (kinds[kind[0]](whole, int(number)) if kind else None) or whole


_seed = lru_cache(maxsize=16)(seed)


def _on_disk(folder: Path) -> dict[int, Files]:
    return {
        int(node.name): dict(_files(node)) for node in sorted(folder.iterdir()) if node.is_dir()
    }


def _files(node: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(node.rglob("*")):
        if path.is_file() and path.parent.name in (METADATA_FOLDER, node.name):
            yield str(path.relative_to(node)), path.read_bytes()
