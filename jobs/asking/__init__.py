"""Commands that ask a lake: sql and state."""
