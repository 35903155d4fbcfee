"""`kraftlake check` on three controllers that were formatted and never started, and what real Kafka
then makes of them. The cases are rows of FIRST_ELECTIONS.md."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from replica.message.primitives import uuid_text
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports
from tests.interop.result_page import FIRST_ELECTIONS, hold
from tests.kraftlake_process import kraftlake

CLUSTER, SCRAM = "Lr3UIdBxT-GFPYE5uprmrg", "SCRAM-SHA-256=[name=alice,password=secret]"
NODES = (1, 2, 3)
_ENOUGH_S, _POLL_S = 40.0, 0.5


@dataclass(frozen=True)
class Case:
    """How the nodes are formatted. static: named by controller.quorum.voters. initial: what format
    says of the voters on each node: `all`, `alone` or `none`. scram: the nodes whose format has a
    credential. started: the nodes that are started."""

    name: str
    static: bool = False
    initial: tuple[str, str, str] = ("all", "all", "all")
    scram: tuple[int, ...] = ()
    started: tuple[int, ...] = NODES


CASES = (
    Case("static voters, no credential", static=True),
    Case("static voters, the credential on each", static=True, scram=NODES),
    Case("static voters, the credential on node 1 alone", static=True, scram=(1,), started=(2, 3)),
    Case("initial controllers on each"),
    Case("each is standalone", initial=("alone", "alone", "alone")),
    Case("none has initial controllers", initial=("none", "none", "none")),
    Case("node 1 is standalone, the others have none", initial=("alone", "none", "none")),
)
ABOUT_FORMATTING = frozenset(
    {"bootstrap-records-differ", "formatted-without-voters", "initial-voters-differ",
     "voter-sets-differ", "cluster-ids-differ"}
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_formatted_nodes_do_what_check_says_of_them(case: Case, tmp_path: Path) -> None:
    class_path_or_skip(NEWEST)
    nodes = _formatted(case, tmp_path)
    ran = kraftlake("check", "--json", *(str(one.log_dir) for one in nodes.values()))
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    said = {row["rule"] for row in rows if row["kind"] == "finding"} & ABOUT_FORMATTING
    formatting = {row["formatting"] for row in rows if row["kind"] == "formatted"}
    with _running([nodes[number] for number in case.started]):
        leaders, has_scram = _become(nodes, case)
    did = f"{('no leader', 'one leader')[leaders] if leaders < 2 else f'{leaders} leaders'}"
    if case.scram:
        did += ", the credential is there" if has_scram else ", the credential is lost"
    told = f"{', '.join(sorted(formatting))}; {', '.join(sorted(said)) or 'no finding'}"
    hold(FIRST_ELECTIONS, (case.name,), (told, did))
    names_voters = case.static or formatting != {"no-voters"}  # a static quorum: its settings do
    assert (did == "no leader") != names_voters
    assert ("bootstrap-records-differ" in said) == ("the credential is lost" in did)
    assert (leaders > 1) == ("initial-voters-differ" in said)


def _formatted(case: Case, folder: Path) -> dict[int, Controller]:
    ports = dict(zip(NODES, free_ports(len(NODES)), strict=True))
    nodes = {
        number: Controller(folder / str(number), number, ports, is_static=case.static)
        for number in NODES
    }
    ids = {number: uuid_text(f"directory-{number:06}".encode()) for number in NODES}
    everybody = ",".join(f"{one}@127.0.0.1:{ports[one]}:{ids[one]}" for one in NODES)
    options = {
        "all": ("--initial-controllers", everybody),
        "alone": ("--standalone",),
        "none": ("--no-initial-controllers",),
    }
    for number, node in nodes.items():
        scram = ("--add-scram", SCRAM) if number in case.scram else ()
        initial = () if case.static else options[case.initial[number - 1]]
        node.format(CLUSTER, *initial, *scram)
    return nodes


@contextmanager
def _running(nodes: list[Controller]) -> Iterator[None]:
    try:
        for node in nodes:
            node.start()
        yield
    finally:
        for node in nodes:
            node.kill()


def _become(nodes: dict[int, Controller], case: Case) -> tuple[int, bool]:
    """(how many nodes lead, whether the credential is in the metadata), once that holds still."""
    expected = sum(one == "alone" for one in case.initial) or int("all" in case.initial)
    deadline = time.monotonic() + _ENOUGH_S
    while True:
        leading = {number for number in case.started if _leads(nodes[number], number)}
        if len(leading) >= max(expected, 1) or time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    time.sleep(2.0)  # what a new leader writes first
    found = [_entities(nodes[number], "scram") for number in leading]
    return len(leading), any(found)


def _leads(node: Controller, number: int) -> bool:
    try:
        state = json.loads((node.partition / "quorum-state").read_text())
    except (OSError, ValueError):
        return False
    return bool(state.get("leaderId") == number)


def _entities(node: Controller, kind: str) -> list[str]:
    return kraftlake("state", "--entity", kind, "--json", str(node.log_dir)).stdout.splitlines()
