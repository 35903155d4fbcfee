"""What the leader of an epoch does: it appends, answers fetches, counts, changes the voters."""
