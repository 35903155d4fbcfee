"""What a replica loses by a truncation, counted by what is known of its records."""

import pytest

from replica.history.commitment import Losses, classify, divergence_columns, losses
from tests.replica.history.pairs import diverge
from tests.replica.history.test_commitment import replica


def test_losses_count_the_truncated_tail_by_commitment():
    """The shape of the recorded split: nothing committed is lost, all is superseded."""
    ghost = replica(2, 1, 5, 5, 5)
    logs = [replica(1, 1, 5, 6, 6), replica(3, 1, 5, 6, 6), ghost]
    assert losses(diverge(logs[0], ghost), classify(logs)) == Losses(0, 0, 2)
    unknown = [logs[0], ghost]
    assert losses(diverge(logs[0], ghost), classify(unknown)) == Losses(0, 2, 0)
    assert losses(diverge(logs[0], logs[1]), classify(logs)) is None


@pytest.mark.parametrize(
    ("lost", "told"),
    [(Losses(1, 2, 3), [1, 2, 3]), (Losses(0, 0, 2), [0, 0, 2]), (None, [None] * 3)],
)
def test_the_columns_of_a_divergence_count_losses_where_they_are_known(lost, told):
    row = divergence_columns(diverge(replica(1, 1, 5, 6, 6), replica(2, 1, 5, 5, 5)), lost)
    assert [row[f"{each}_lost"] for each in ("committed", "unproven", "superseded")] == told
    assert (row["relation"], row["divergence_offset"]) == ("diverged", 2)
    assert (row["truncating_node"], row["truncation_offset"], row["records_lost"]) == (2, 2, 2)


def test_losses_name_committed_records_where_the_winner_never_had_them():
    """An unclean recovery: epoch 7 was started from an empty disk."""
    victim = replica(1, 1, 1, 1, snapshots=[(2, 1)])
    usurper = replica(2, 7, 7)
    found = losses(diverge(victim, usurper), classify([victim, usurper]))
    assert found == Losses(committed=2, unproven=1, superseded=0)
