"""An observer records the log of another quorum: `kraftlake replica observe`.

- `discovery`: from a few addresses to the cluster's id, its voters, and where they listen.
- `guard`: it keeps the observer from fetching under another node's id. A leader would
  count such a fetch for the other node, and take for committed what no majority holds.
- `directory`: which replica's recording a directory holds.
- `progress`: what the operator is told meanwhile.
- `recorder`: a node with all of these.
"""
