"""What a replica has heard of leaders: by their answers to its own fetches, and from others."""

from __future__ import annotations

from collections.abc import Callable


def _tell_nobody(seconds: float) -> None:
    """Where nobody measures."""


class Heard:
    """Times are seconds of a clock that never goes back.

    answered_at: when a leader last answered a fetch of this replica without an error, None before
    the first answer. epoch: of that leader, -1 before. described_at: when somebody else last showed
    that the quorum has a leader, such as an answer to DescribeQuorum. leader_changes: how often the
    leader that answers was one of a newer epoch than before; epochs_passed: how many epochs these
    changes took, of which only the last one of each had a leader that answered. on_change: told of
    each change how long no leader had answered, in seconds.
    """

    def __init__(self) -> None:
        self.answered_at: float | None = None
        self.described_at: float | None = None
        self.epoch = -1
        self.leader_changes = 0
        self.epochs_passed = 0
        self.on_change: Callable[[float], None] = _tell_nobody

    def answered(self, epoch: int, at_s: float) -> None:
        """The leader of this epoch has answered a fetch."""
        if epoch < self.epoch:
            return  # an answer that was long on its way
        if self.answered_at is not None and epoch > self.epoch:
            self.leader_changes += 1
            self.epochs_passed += epoch - self.epoch
            self.on_change(at_s - self.answered_at)
        self.epoch, self.answered_at = epoch, at_s

    def described(self, at_s: float) -> None:
        """Somebody has shown that the quorum has a leader."""
        self.described_at = at_s
