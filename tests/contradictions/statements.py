"""The statements of the commands about a simulated cluster, each compared with the truth."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from replica.doctor.check.catalogue import groups
from replica.doctor.timeline.elections import Election
from tests.contradictions.answers import Answers


class Outcome(Enum):
    """The result of comparing a statement with the truth."""

    RIGHT = "right"
    UNKNOWN = "unknown"
    """The command says that it doesn't know."""
    WRONG = "wrong"
    HIDDEN = "hidden"
    """The statement is untrue, and no file could show it: a disk was replaced by an older copy of
    itself, and nothing else shows what the disk held."""


class Statement(NamedTuple):
    """A statement. by: the command or table that states it. what: for a wrong statement, what is
    wrong. count: the number of equal statements that it stands for."""

    by: str
    outcome: Outcome
    what: str = ""
    count: int = 1


def right(by: str, count: int = 1) -> Statement:
    return Statement(by, Outcome.RIGHT, "", count)


def unknown(by: str, count: int = 1) -> Statement:
    return Statement(by, Outcome.UNKNOWN, "", count)


def wrong(by: str, what: str) -> Statement:
    return Statement(by, Outcome.WRONG, what)


def held(by: str, *, is_true: bool, what: str) -> Statement:
    """A statement that is right or wrong. what: what is wrong."""
    return right(by) if is_true else wrong(by, what)


def seen(answers: Answers, statement: Statement) -> Statement:
    """The statement. A wrong one becomes hidden where the files can't show that a disk was
    replaced."""
    if statement.outcome is Outcome.WRONG and not is_shown(answers):
        return statement._replace(outcome=Outcome.HIDDEN)
    return statement


def is_shown(answers: Answers) -> bool:
    """Whether the files show every replaced disk. A disk that is an older copy shows only if
    another file has a vote or an election of its node in a newer epoch than the disk knows."""
    node_id = answers.given.went_back
    if node_id is None or groups.REPLICA_WENT_BACK.id in answers.between:
        return True
    of_node = next(log for log in answers.group.logs if log.key.node_id == node_id)
    newest = max(
        (one.won.epoch for one in answers.elections if _took_part(one, node_id)), default=0
    )
    return newest > (of_node.known_epoch or 0)


def _took_part(election: Election, node_id: int) -> bool:
    return node_id in (election.won.leader, *election.won.granting)
