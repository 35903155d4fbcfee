"""The text of a fact about disks that lack what their voters had: which records, and since when."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replica.doctor.check.catalogue import groups

_VOTER = re.compile(r"voter \d+: ")


class _Words(NamedTuple):
    """The words about disks with a finding of one rule.

    one, several: what is wrong with one disk, and with several; "" where the findings say it.
    then: a sentence on what that means; "" where the findings say it.
    """

    one: str
    several: str
    then: str


_OLDER = _Words(
    "its disk is older than what the node did: ",
    "their disks are older than what the nodes did: ",
    "",
)
_WORDS: Mapping[str, _Words] = {
    groups.STALE_VOTER.id: _OLDER,
    groups.LEADER_LACKS_OWN_RECORDS.id: _OLDER,
    groups.REPLICA_WENT_BACK.id: _OLDER,
    groups.VOTER_DISK_EMPTY.id: _Words(
        "its disk was emptied, or is not the one on which it ran: ",
        "their disks were emptied, or are not those on which they ran: ",
        "A start with such a disk may lose committed data.",
    ),
    groups.VOTER_BEHIND.id: _Words(
        "",
        "",
        "The node was stopped or cut off, its disk was restored, or it was copied earlier.",
    ),
}
OLD_DISKS = frozenset(_WORDS)
"""The ids of the rules of which this module makes the texts."""


def old_disks_text(rule: str, place: str, messages: Sequence[str]) -> str:
    """The text about the nodes at `place`. messages: the message of each finding of the rule."""
    words = _WORDS[rule]
    if len(messages) == 1:
        told = f"{place}: {words.one}{_VOTER.sub('', messages[0], count=1)}."
    else:
        told = f"{place}: {words.several}{'; '.join(messages)}."
    return f"{told} {words.then}".rstrip()
