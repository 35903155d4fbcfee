"""Commands on directories of nodes.

- dump: `dump`, `dump_files` (which files), `selection` (which records).
- check: `check`, `check_inputs`, `check_families`, `check_text`, `check_rows`, `broker_defaults`,
  `partition_folders` (--partitions), `starting_nodes` and `check_starts` (--config: whether nodes
  start). All commands with a verdict share `verdict_text`; `several_verdicts` is for several
  clusters, `judged_clusters` for commands that print the verdict before another answer. explain:
  `explain`.
- diff: `diff`. what-happened: `what_happened`, `incident` (its events), `story` (the few
  events that stand first), `folded_events` (routine events in one line), `incident_page`
  (--html). timeline: `timeline`; `given_rounds` serves `kraftlake history`, too.
- recover: `recover`, `recover_steps` (the order of the steps), `recover_first_steps` (they look for
  whole disks), `recover_quorum` (steps for the voters), `recover_fixed_steps` (steps that are the
  same for each quorum), `recover_second_logs` (a node with two logs), `recover_stand_ins`
  (directories for lost voters), `recover_brokers`, `recover_histories` (logs with two histories),
  `recover_names` (hosts, paths), `recover_text`, `recover_not_read` (cases without a plan),
  `recover_rehearsed`.
  rehearse: `rehearse`, `rehearsed`, `played_start`, `rehearse_text`. restore: `restore`.
- capture and redact: `capture`, `archive_to_send` (-o NAME.tar.gz). prune: `prune`.
- `discovering` finds what the user's paths name; `notices` says below an answer what could not be
  read; `offsets_text` has the words for offsets that several commands share.
"""
