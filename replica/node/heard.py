"""What a replica knows about leaders, from their answers to its fetches and from other nodes."""

from __future__ import annotations

from collections.abc import Callable


class Heard:
    """When leaders answered this replica. All times are in seconds of a clock that never goes back.

    answered_at: the time at which a leader last answered a fetch of this replica without an error;
        None before the first answer.
    epoch: that leader's epoch; -1 before the first answer.
    described_at: the time at which another node last showed that the quorum has a leader, for
        example by DescribeQuorum; None if no node has shown this yet.
    leader_changes: the number of answers whose leader had a newer epoch than the previous answer.
    epochs_passed: the sum of the rises of the epoch at these changes. A rise of more than 1 means
        that no leader of the epochs between answered this replica.
    on_change: a function that is called for each change with the seconds during which no leader had
        answered.
    """

    def __init__(self) -> None:
        self.answered_at: float | None = None
        self.described_at: float | None = None
        self.epoch = -1
        self.leader_changes = 0
        self.epochs_passed = 0
        self.on_change: Callable[[float], None] = lambda seconds: None

    def answered(self, epoch: int, at_s: float) -> None:
        """Note that the leader of this epoch has answered a fetch."""
        if epoch < self.epoch:
            return  # this answer was delayed: a leader of a newer epoch has answered since
        if self.answered_at is not None and epoch > self.epoch:
            self.leader_changes += 1
            self.epochs_passed += epoch - self.epoch
            self.on_change(at_s - self.answered_at)
        self.epoch, self.answered_at = epoch, at_s

    def described(self, at_s: float) -> None:
        """Note that another node has shown that the quorum has a leader."""
        self.described_at = at_s
