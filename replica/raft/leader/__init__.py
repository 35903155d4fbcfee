"""What a leader does: it appends, answers fetches, counts what is committed, changes the voters."""
