"""What a running node tells whoever runs it: a line for people, the same facts for machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Fields = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Notice:
    """event: its kind, in lower case with hyphens, which stays the same between releases. text: one
    line. fields: the facts in it as values; their names are none of `time`, `event`, `message`."""

    event: str
    text: str
    fields: Fields = field(default_factory=dict)


Report = Callable[[Notice], None]
"""Takes a notice; called within the node's loop, so it must not wait."""
