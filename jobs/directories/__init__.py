"""Commands that examine directories of nodes: dump, diff, check, explain, recover, capture."""
