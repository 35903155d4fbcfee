"""Gold: a module for each table, named like the table.

- Quorum and logs: `leader_epoch_history` (of `known_epochs`), `divergence_points`, `truncations`,
  `replica_status`, `elections`, `votes`, `voter_beliefs`, `snapshot_validity`, `snapshot_cadence`,
  `log_growth`, `batch_sizes`, `retention_forecast`.
- The replay: `metadata_history`, `metadata_changes`, `state_ranges`, by `written_rows`.
- Judgements: `findings`, with `superseded_findings`, `membership` (findings between clusters) and
  `failure_exposure` with `health_rules`, `newest_states` and `unled` (whether files show that the
  quorum has no leader); `verdicts`, with `known_quorums`, `registered`, `other_disks` (what other
  directories of a round show of voters) and `verdict_rows`.
- `inputs`: the input of all these modules. `round_names`: the names of rounds of captures.
"""
