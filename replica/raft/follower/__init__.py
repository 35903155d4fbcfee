"""What a follower does: it fetches records and snapshots, and keeps its entry in the voter set
right."""
