"""What a follower does: it fetches records and snapshots, and keeps its own entry among the voters
right."""
