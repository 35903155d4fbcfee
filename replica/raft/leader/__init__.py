"""What a leader does: it appends, answers fetches, computes the high watermark, and changes the
voters."""
