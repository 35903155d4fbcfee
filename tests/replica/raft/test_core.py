"""Who changes the core's state, and what it counts of its peers."""

import ast
from pathlib import Path

import replica.raft
from replica.model.keys import NO_NODE
from replica.raft.messages import VoteRequest
from replica.raft.mistakes import MOST_OFFENCES, Mistake, Offence
from tests.replica.raft.host import Host, config, key

PACKAGE = Path(replica.raft.__file__).parent
PARTS = {"core.py", "view.py", "epoch_bounds.py", "outbox.py", "work.py"}


def assigned(path):
    """The targets of assignments to attributes of `core`, or of its parts."""
    for node in ast.walk(ast.parse(path.read_text())):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets if isinstance(node, ast.Assign | ast.AugAssign) else ():
            if isinstance(target, ast.Attribute) and ast.unparse(target).startswith("core."):
                yield f"{path.name}: {ast.unparse(target)}"


def test_only_the_core_and_its_parts_change_its_attributes():
    handlers = [path for path in PACKAGE.rglob("*.py") if path.name not in PARTS]
    assert len(handlers) > 15
    assert [found for path in handlers for found in assigned(path)] == []


def test_a_handler_that_changes_the_core_would_be_found(tmp_path):
    (tmp_path / "handler.py").write_text("core.log = 1\ncore.outbox.effects.commit += 2\nlog = 3\n")
    found = list(assigned(tmp_path / "handler.py"))
    assert found == ["handler.py: core.log", "handler.py: core.outbox.effects.commit"]


def test_offences_are_counted_with_their_senders_up_to_a_bound():
    host = Host(config(1, 1, 2, 3))
    senders = range(100, 100 + MOST_OFFENCES + 5)
    for sender in [*senders, 100]:
        host.ask(VoteRequest(epoch=1, candidate=key(sender), last_epoch=5, end_offset=1))
    counts = host.raft.illegal_messages
    assert len(counts) == MOST_OFFENCES + 1
    assert counts[Offence(Mistake.VOTE_NUMBERS, 100, "VoteRequest")] == 2
    assert counts[Offence(Mistake.VOTE_NUMBERS, NO_NODE, "VoteRequest")] == 5
