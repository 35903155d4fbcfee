"""What all listeners of a node share: connections, memory, and turns."""

from __future__ import annotations

from replica.wire.connections import ListenerConnections
from replica.wire.limits import NodeLimits
from replica.wire.memory import Memory
from replica.wire.turns import Turns

_SHARE_OF_ROOM = 8
_LEAST_ROOM = 64 * 1024


class Shared:
    """requests: memory for clients that are known. unknown: memory for clients that have not
    authenticated. answers: memory for answers that are being sent."""

    def __init__(self, limits: NodeLimits) -> None:
        self.connections = ListenerConnections(limits)
        self.requests = Memory(limits.request_bytes)
        self.unknown = Memory(limits.unknown_bytes)
        self.answers = Memory(limits.answer_bytes, per_address=limits.answer_bytes)
        self.turns = Turns()

    def room_for_answer(self) -> int:
        """How many bytes the next answer should have at most. The more bytes are being sent, the
        fewer it gets, so that many clients that read at once all get something."""
        return max(_LEAST_ROOM, self.answers.left // _SHARE_OF_ROOM)
