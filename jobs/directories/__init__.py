"""Commands on directories of nodes: dump, diff, check, timeline, explain, recover, rehearse,
restore, capture, prune, redact."""
