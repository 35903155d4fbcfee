"""Commands that ask a lake, and three of them directories too: sql, plan, history, state."""
