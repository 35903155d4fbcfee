"""A scenario as a file: a written scenario is read back unchanged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replica.doctor.rehearsal.captured import CapturedNode, CapturedQuorum
from replica.doctor.rehearsal.scenario_file import scenario_in, toml_of
from replica.doctor.rehearsal.step import Scenario, ScenarioStep
from replica.history.commitment import classify
from replica.history.log import ReplicaLog
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter, voter_set

NODES = (1, 2, 3, 11)
KEYS = {node_id: ReplicaKey(node_id, f"directory{node_id}") for node_id in NODES}
LOGS = {node_id: ReplicaLog(key, 0, ()) for node_id, key in KEYS.items()}
QUORUM = CapturedQuorum(
    cluster_id="cluster",
    nodes={node_id: CapturedNode(KEYS[node_id], {}, LOGS[node_id]) for node_id in NODES},
    voters=voter_set(Voter(KEYS[node_id]) for node_id in (1, 2, 3)),
    is_static=False,
    commitment=classify(list(LOGS.values())),
    by_logs=classify(list(LOGS.values())),
    newest_timestamp=0,
)

MOST_STEPS = 4
ids = st.sampled_from(NODES)
nodes = st.lists(ids, unique=True)
links = st.tuples(ids, ids).filter(lambda link: link[0] != link[1])


@st.composite
def steps(draw: st.DrawFn) -> ScenarioStep:
    """All steps that a file can hold."""
    dead = draw(nodes)
    others = nodes.map(lambda found: tuple(each for each in found if each not in dead))
    return ScenarioStep(
        heal=draw(st.booleans()),
        cut=tuple(draw(st.lists(links))),
        dead=tuple(dead),
        empty=draw(others),
        start=draw(st.none() | others),
        remove_voter=draw(st.none() | ids),
        add_voter=draw(st.none() | ids),
        wait_ms=draw(st.none() | st.integers(1, 3_600_000 // MOST_STEPS)),
    )


@given(st.lists(steps(), min_size=1, max_size=MOST_STEPS))
def test_the_steps_of_a_file_are_those_that_were_written(written: list[ScenarioStep]) -> None:
    text = "\n\n".join(map(toml_of, written))
    assert scenario_in(text, "scenario.toml", QUORUM) == Scenario(tuple(written))
