"""What a follower does: it fetches records and snapshots, and keeps its own entry in the voter set
up to date."""
