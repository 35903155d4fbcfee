"""An observer of a quorum of others, which records its log: `kraftlake replica observe`.

- `discovery`: from a few addresses to the cluster's id, its voters, and where they listen.
- `conflict`, `guard`: no fetch goes out under an id that is somebody else's: a leader would take it
  for that voter's, and for committed what no majority holds.
- `directory`: whose recording a directory holds. `progress`: what is told meanwhile.
- `recorder`: all of it around a node.
"""
