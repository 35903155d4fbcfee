"""Commands on directories of nodes.

- dump: `dump`, `dump_files` (which files), `selection` (which records).
- check: `check`, `check_inputs`, `check_families`, `check_text`, `check_rows`, `broker_defaults`,
  `partition_folders` (--partitions), `starting_nodes` and `check_starts` (--config: whether nodes
  start); `verdict_text` serves all commands that give a verdict, `several_verdicts` those with
  several clusters, `judged_clusters` those that go on with an answer of their own. explain:
  `explain`.
- diff: `diff`. what-happened: `what_happened`, `incident` (its events), `story` (the few
  that stand first), `folded_events` (routine events in one line), `incident_page` (--html). timeline: `timeline`; `given_rounds`
  serves `kraftlake history`, too.
- recover: `recover`, `recover_steps`, `recover_first_steps` (they look for whole disks),
  `recover_quorum` (a step each), `recover_fixed_steps`
  (with those about nodes that are brokers, too), `recover_second_logs`, `recover_stand_ins`,
  `recover_brokers`, `recover_histories` (two of them), `recover_names` (hosts, paths),
  `recover_text`, `recover_not_read` (no plan before a file is read), `recover_rehearsed`.
  rehearse: `rehearse`, `rehearsed`, `played_start`, `rehearse_text`. restore: `restore`.
- capture and redact: `capture`, `archive_to_send` (-o NAME.tar.gz). prune: `prune`.
- `discovering` finds what the user's paths name; `notices` says below an answer what could not be
  read; `offsets_text` has the words for offsets that several commands share.
"""
