"""What a program needs that embeds the core: its public names, the page about them, the order of
effects, and the errors of a host that breaks the rules."""

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest

import replica.raft
from replica.model.epochs import OffsetAndEpoch
from replica.raft import Effects, HostError, inputs
from replica.raft.messages import FetchRequest, FetchResponse
from replica.raft.mistakes import Mistake
from replica.raft.transitions import ROLES, TRANSITIONS
from tests.replica.raft.host import Host, config, elect
from tests.replica.raft.test_high_watermark import follower

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "a-host-in-sixty-lines.md"


def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_package_has_ten_names_and_the_page_explains_each():
    names = replica.raft.__all__
    assert len(names) == 10
    first_cells = "".join(re.findall(r"^\| (`.*?) \|", page(), re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first_cells)) >= set(names)
    for name in names:
        assert f"`{name}`" in replica.raft.__doc__


def test_the_host_has_sixty_lines():
    host = re.search(r"^```python\n(.*?)^```", page(), re.MULTILINE | re.DOTALL)[1]
    assert len([line for line in host.splitlines() if line.strip()]) <= 60


def drawing():
    """TRANSITIONS as a state diagram of Mermaid; an arrow names all causes of its change."""
    causes = {}
    for of in ROLES:
        for (role, cause), following in TRANSITIONS.items():
            for to in following if role is of else ():
                words = cause.name.lower().replace("_", " ")
                causes.setdefault((of.__name__, to.__name__), []).append(words)
    lines = [f"    {of} --> {to}: {', '.join(why)}" for (of, to), why in causes.items()]
    return "\n".join(["stateDiagram-v2", "    [*] --> Unattached", *lines]) + "\n"


def test_the_drawing_of_the_roles_is_that_of_the_table():
    shown = re.search(r"^```mermaid\n(.*?)^```", page(), re.MULTILINE | re.DOTALL)
    if os.environ.get("REWRITE_EXAMPLES"):
        PAGE.write_text(page()[: shown.start(1)] + drawing() + page()[shown.end(1) :])
    else:
        assert shown[1] == drawing()


def test_each_difference_from_kafka_names_a_test_that_exists():
    rows = re.findall(r"`(tests/\S+)::(test_\w+)` \|$", page(), re.MULTILINE)
    assert len(rows) == page().partition("## Where it differs")[2].count("\n| ") - 1
    for path, name in rows:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_effects_come_in_the_order_of_their_fields_without_those_that_ask_for_nothing():
    names = [each.name for each in fields(Effects)]
    asked = {name: 0 if name in ("truncate_to", "log_start", "commit") else ["x"] for name in names}
    assert list(Effects(**asked).in_order()) == list(asked.items())
    assert list(Effects().in_order()) == []
    assert list(Effects(commit=0, sends=["x"]).in_order()) == [("commit", 0), ("sends", ["x"])]


def test_every_mistake_is_found_somewhere():
    code = "".join(each.read_text() for each in (ROOT / "replica" / "raft").rglob("*.py"))
    assert [each for each in Mistake if f"Mistake.{each.name}" not in code] == []


def leader():
    host = Host(config(1, 1))
    elect(host)
    return host


@pytest.mark.parametrize("end", [3, -1])
def test_a_log_that_is_cut_at_another_place_is_the_host_s_mistake(end):
    host = follower(end=3)
    send = host.take(FetchRequest)[-1]
    told = FetchResponse(epoch=1, leader_id=2, diverging=OffsetAndEpoch(2, 1), high_watermark=0)
    effects = host.raft.step(inputs.Response(2, send.correlation_id, told), host.now)
    assert effects.truncate_to == 2
    with pytest.raises(HostError, match="was to be cut at offset 2"):
        host.raft.step(inputs.Truncated(end), host.now)
    assert host.raft.step(inputs.Truncated(2), host.now).sends


@pytest.mark.parametrize(
    ("event", "after_ms"),
    [
        (inputs.Tick(), -1),
        (inputs.Truncated(0), 0),
        (inputs.Flushed(1000), 0),
        (inputs.Append(1, ()), 0),
    ],
)
def test_a_mistake_of_the_host_is_an_error_and_changes_nothing(event, after_ms):
    host = leader()
    before = host.raft.role, host.raft.log, host.raft.next_deadline()
    with pytest.raises(HostError):
        host.raft.step(event, host.now + after_ms)
    assert (host.raft.role, host.raft.log, host.raft.next_deadline()) == before
    host.propose(b"a")
    assert host.raft.high_watermark == host.disk.log_end


def test_a_bootstrap_server_with_the_id_of_nobody_is_the_host_s_mistake():
    with pytest.raises(HostError, match="below -1"):
        config(1, 1, bootstrap_ids=(-2, -1))
