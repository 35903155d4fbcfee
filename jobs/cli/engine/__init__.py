"""Commands that run replicas, simulate them, or read from running replicas.

- replica: `replica_format`, `replica_run`, `replica_observe`, `replica_describe`, `replica_append`,
  `replica_scram`. simulate: `simulate`, `scenarios`. consume: `consume`.
- `connecting`: --bootstrap and --command-config. `live_state`: a running quorum's state, for
  `kraftlake plan`. `notices` prints a node's notices; `large_logs` loads compiled code.
"""
