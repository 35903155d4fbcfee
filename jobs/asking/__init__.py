"""Commands that ask a lake: sql, plan, history, state. All but sql can ask directories instead."""
